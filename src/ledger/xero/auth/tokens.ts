/**
 * The access token of a custom connection: fetched once for all waiting calls, kept until shortly before it expires.
 */
import type { Dispatcher } from "undici";
import { filledTextOf } from "../../port/exact-json.ts";
import type { LedgerAnswer } from "../../port/ledger.ts";
import type { XeroConnection, XeroOptions } from "../wire/connection.ts";
import { xeroDefaults } from "../wire/connection.ts";
import { askIdentity, freshMsOf, grantRefused, notSent } from "./identity.ts";

/** Where calls get their token. `rejected` is the token that Xero just refused, so that another one is fetched. */
export interface TokenSource {
  token(rejected: string | null, signal: AbortSignal): Promise<LedgerAnswer<string>>;
  /** The ledger did not let this token in: the next call asks for the one of then, which may come from another consent. */
  forget(token: string): void;
}

/** An access token, and until when by `performance.now()` it is to be used. */
export interface StoredToken {
  readonly value: string;
  readonly refreshAt: number;
}

/** A token source for one connection. Failures mean that the API call itself was not sent. */
export function createTokenSource(agent: Dispatcher, connection: XeroConnection, options: XeroOptions): TokenSource {
  return oneFlight(() => fetchToken(agent, connection, options));
}

/**
 * Keeps the token that `renew` gives, and lets one renewal serve all calls that wait. `renew` gives another token than the
 * rejected one, and never rejects.
 */
export function oneFlight(renew: (rejected: string | null) => Promise<LedgerAnswer<StoredToken>>): TokenSource {
  let kept: StoredToken | null = null;
  let flight: { readonly rejected: string | null; readonly answer: Promise<LedgerAnswer<StoredToken>> } | null = null;

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
      const own = flight ?? fly(rejected);
      let answer = await beforeDeadline(own.answer, signal);
      // A flight that set out before this token was rejected may come back with it.
      if (answer.kind === "ok" && answer.value.value === rejected && own.rejected !== rejected) {
        answer = await beforeDeadline((flight ?? fly(rejected)).answer, signal);
      }
      return answer.kind === "ok" ? { kind: "ok", value: answer.value.value } : answer;
    },
    forget(token) {
      if (kept?.value === token) kept = null;
    },
  };
}

async function fetchToken(
  agent: Dispatcher,
  connection: XeroConnection,
  options: XeroOptions,
): Promise<LedgerAnswer<StoredToken>> {
  const scope = options.scopes ?? xeroDefaults.scopes;
  const signal = AbortSignal.timeout(options.tokenTimeoutMs ?? xeroDefaults.tokenTimeoutMs);
  const answer = await askIdentity(agent, connection, { grant_type: "client_credentials", scope }, signal);
  if (answer.kind === "invalid_grant") return grantRefused();
  if (answer.kind !== "ok") return answer;
  const value = filledTextOf(answer.value.access_token) ?? "";
  return { kind: "ok", value: { value, refreshAt: performance.now() + freshMsOf(answer.value) } };
}

// The flight serves all waiting calls, so one call's deadline leaves it flying.
async function beforeDeadline<T>(flight: Promise<LedgerAnswer<T>>, signal: AbortSignal): Promise<LedgerAnswer<T>> {
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
