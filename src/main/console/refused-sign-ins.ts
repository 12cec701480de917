/**
 * Limits the sign-ins of a client that the database refuses. Tokens and codes have 256 random bits,
 * so this only bounds what guessing costs.
 */
import { Refusal } from "../../domain/refusal.ts";

/** As many are looked up in each minute. */
const maxRefused = 20;

const minuteMs = 60_000;

/**
 * Returns a function that runs a look-up unless the client's last were refused: `rate_limited`.
 * Clients of trusted proxies have no address of their own, and are counted together.
 */
export function limitRefusals(): <T>(address: string | null, run: () => Promise<T>) => Promise<T> {
  let refused = new Map<string | null, number>();
  let endsMs = 0;
  return async (address, run) => {
    const nowMs = performance.now();
    if (nowMs >= endsMs) {
      refused = new Map();
      endsMs = nowMs + minuteMs;
    }
    const before = refused.get(address) ?? 0;
    if (before >= maxRefused) {
      const seconds = Math.ceil((endsMs - nowMs) / 1_000);
      const message = `Too many sign-ins were refused; retry in ${seconds} s`;
      throw new Refusal("rate_limited", message, null, seconds);
    }
    // Counted before it is carried out, so that many at once are not carried out either.
    refused.set(address, before + 1);
    const result = await run();
    refused.set(address, (refused.get(address) ?? 1) - 1);
    return result;
  };
}
