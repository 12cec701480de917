/**
 * The access token of a custom connection: requested once for all waiting calls, cached until
 * shortly before it expires.
 */
import type { Dispatcher } from "undici";
import { filledTextOf } from "../../port/exact-json.ts";
import type { LedgerAnswer } from "../../port/ledger.ts";
import { tokenTimeoutMs, type XeroConnection, xeroScopes } from "../wire/connection.ts";
import { askIdentity, freshMsOf, grantRefused, notSent } from "./identity.ts";

/**
 * The source of a call's token. `rejected` is the token that Xero just refused, so that another one
 * is requested.
 */
export interface TokenSource {
  token(rejected: string | null, signal: AbortSignal): Promise<LedgerAnswer<string>>;
  /**
   * Drops a token that the ledger refused. The next call reads the current one, which may come from
   * another consent.
   */
  drop(token: string): void;
}

/** An access token, and the time by `performance.now()` until which to use it. */
export interface StoredToken {
  readonly value: string;
  readonly refreshAt: number;
}

/**
 * Creates a token source for one connection. A failure means that the API call itself was not sent.
 */
export function createTokenSource(agent: Dispatcher, connection: XeroConnection): TokenSource {
  return oneFlight(() => fetchToken(agent, connection));
}

/**
 * Caches the token of `renew`. One renewal serves all waiting calls. `renew` must return another
 * token than the rejected one, and must never reject.
 */
export function oneFlight(
  renew: (rejected: string | null) => Promise<LedgerAnswer<StoredToken>>,
): TokenSource {
  let kept: StoredToken | null = null;
  let flight: {
    readonly rejected: string | null;
    readonly answer: Promise<LedgerAnswer<StoredToken>>;
  } | null = null;

  const fly = (rejected: string | null) => {
    const answer = renew(rejected).then((renewed) => {
      kept = renewed.kind === "ok" ? renewed.value : null;
      flight = null;
      return renewed;
    });
    flight = { rejected, answer };
    return flight;
  };

  return {
    async token(rejected, signal) {
      if (kept && kept.value !== rejected && performance.now() < kept.refreshAt) {
        return { kind: "ok", value: kept.value };
      }
      const renewal = flight ?? fly(rejected);
      let answer = await beforeDeadline(renewal.answer, signal);
      // A renewal that started before this token was rejected may return it.
      if (
        answer.kind === "ok" &&
        answer.value.value === rejected &&
        renewal.rejected !== rejected
      ) {
        answer = await beforeDeadline((flight ?? fly(rejected)).answer, signal);
      }
      return answer.kind === "ok" ? { kind: "ok", value: answer.value.value } : answer;
    },
    drop(token) {
      if (kept?.value === token) kept = null;
    },
  };
}

async function fetchToken(
  agent: Dispatcher,
  connection: XeroConnection,
): Promise<LedgerAnswer<StoredToken>> {
  const form = { grant_type: "client_credentials", scope: xeroScopes };
  const signal = AbortSignal.timeout(tokenTimeoutMs);
  const answer = await askIdentity(agent, connection, form, signal);
  if (answer.kind === "invalid_grant") return grantRefused();
  if (answer.kind !== "ok") return answer;
  const value = filledTextOf(answer.value.access_token) ?? "";
  return { kind: "ok", value: { value, refreshAt: performance.now() + freshMsOf(answer.value) } };
}

// The renewal serves all waiting calls, so one call's deadline does not stop it.
async function beforeDeadline<T>(
  flight: Promise<LedgerAnswer<T>>,
  signal: AbortSignal,
): Promise<LedgerAnswer<T>> {
  if (signal.aborted) return notSent("the deadline had passed");
  const { promise, resolve } = Promise.withResolvers<LedgerAnswer<T>>();
  const giveUp = () => resolve(notSent("no token before the deadline"));
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    return await Promise.race([flight, promise]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
