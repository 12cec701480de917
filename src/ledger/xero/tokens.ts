/**
 * The access token of a custom connection: fetched once for all waiting calls, kept until shortly before it expires.
 */
import type { Dispatcher } from "undici";
import { filledTextOf, objectOf, readExactJson } from "../exact-json.ts";
import type { LedgerAnswer, LedgerFailure } from "../port.ts";
import type { XeroConnection, XeroOptions } from "./connection.ts";
import { xeroDefaults } from "./connection.ts";
import { exchange, type HttpReply } from "./exchange.ts";

/** Where calls get their token. `rejected` is the token that Xero just refused, so that another one is fetched. */
export interface TokenSource {
  token(rejected: string | null, signal: AbortSignal): Promise<LedgerAnswer<string>>;
}

interface KeptToken {
  readonly value: string;
  readonly refreshAt: number;
}

// Fetched anew a minute early, so that no call sets out with a token that dies on the way.
const refreshAheadMs = 60_000;

// Xero's tokens last 30 minutes; an answer that does not say is taken to last five.
const defaultLifeSeconds = 300;

/** A token source for one connection. Failures mean that the API call itself was not sent. */
export function createTokenSource(agent: Dispatcher, connection: XeroConnection, options: XeroOptions): TokenSource {
  let kept: KeptToken | null = null;
  let flight: Promise<LedgerAnswer<KeptToken>> | null = null;

  const renew = async () => {
    const answer = await fetchToken(agent, connection, options);
    kept = answer.kind === "ok" ? answer.value : null;
    return answer;
  };

  return {
    async token(rejected, signal) {
      if (kept && kept.value !== rejected && performance.now() < kept.refreshAt)
        return { kind: "ok", value: kept.value };
      flight ??= renew().finally(() => {
        flight = null;
      });
      const answer = await beforeDeadline(flight, signal);
      return answer.kind === "ok" ? { kind: "ok", value: answer.value.value } : answer;
    },
  };
}

async function fetchToken(
  agent: Dispatcher,
  connection: XeroConnection,
  options: XeroOptions,
): Promise<LedgerAnswer<KeptToken>> {
  const scope = options.scopes ?? xeroDefaults.scopes;
  const credentials = Buffer.from(`${connection.clientId}:${connection.clientSecret}`).toString("base64");
  const reply = await exchange(
    agent,
    {
      method: "POST",
      url: connection.identityUrl,
      headers: {
        authorization: `Basic ${credentials}`,
        "content-type": "application/x-www-form-urlencoded",
        accept: "application/json",
      },
      body: new URLSearchParams({ grant_type: "client_credentials", scope }).toString(),
    },
    AbortSignal.timeout(options.tokenTimeoutMs ?? xeroDefaults.tokenTimeoutMs),
  );
  if (reply.kind === "silent") return notSent(`no token: ${reply.cause}`);
  if (reply.status !== 200) return failureOfIdentity(reply);
  const body = objectOf(readExactJson(reply.text));
  const value = filledTextOf(body?.access_token);
  if (value === undefined) return notSent("no token: the answer cannot be read");
  const seconds = Number(filledTextOf(body?.expires_in) ?? defaultLifeSeconds);
  const lifeMs = (Number.isFinite(seconds) ? seconds : defaultLifeSeconds) * 1_000;
  // A token that lives shorter than the head start is still good for half its life.
  return { kind: "ok", value: { value, refreshAt: performance.now() + Math.max(lifeMs - refreshAheadMs, lifeMs / 2) } };
}

function failureOfIdentity(reply: HttpReply): LedgerFailure {
  if (reply.status === 429) {
    const seconds = Number(reply.headers["retry-after"]);
    return { kind: "rate_limited", scope: "app", retryAfterMs: seconds > 0 ? seconds * 1_000 : 60_000 };
  }
  if (reply.status < 400 || reply.status > 499) return notSent(`no token: identity answered ${reply.status}`);
  const code = filledTextOf(objectOf(readExactJson(reply.text))?.error) ?? `status ${reply.status}`;
  const why = code === "invalid_scope" ? "insufficient_scope" : "disconnected";
  return { kind: "unauthorised", why, message: `The ledger's identity service refused the credentials: ${code}` };
}

function notSent(cause: string): LedgerFailure {
  return { kind: "unavailable", outcome: "not_sent", cause };
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
