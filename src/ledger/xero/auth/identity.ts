/**
 * Xero's identity service: one request for tokens, by any grant, and what its answers mean. No secret, code or token ever gets
 * into a failure. Facts: facts-ledger section 1.10.
 */
import type { Dispatcher } from "undici";
import { type ExactObject, filledTextOf, objectOf, readExactJson } from "../../port/exact-json.ts";
import type { LedgerFailure } from "../../port/ledger.ts";
import { exchange, type HttpReply } from "../wire/exchange.ts";

/** Who asks, and where. */
export interface IdentityClient {
  readonly identityUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** `invalid_grant`: what was shown (a code or a refresh token) is good for nothing any more, and nothing was given. */
export type IdentityAnswer =
  | { readonly kind: "ok"; readonly value: ExactObject }
  | { readonly kind: "invalid_grant" }
  | LedgerFailure;

// Xero's tokens last 30 minutes; an answer that does not say is taken to last five.
const defaultLifeSeconds = 300;

// Fetched anew a minute early, so that no call sets out with a token that dies on the way.
const refreshAheadMs = 60_000;

/** Asks for tokens. A failure means that no API call was sent; where it is `unavailable`, the service may have given some all the same. */
export async function askIdentity(
  agent: Dispatcher,
  { identityUrl, clientId, clientSecret }: IdentityClient,
  form: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<IdentityAnswer> {
  const reply = await exchange(
    agent,
    {
      method: "POST",
      url: identityUrl,
      headers: {
        authorization: basicOf(clientId, clientSecret),
        "content-type": "application/x-www-form-urlencoded",
        accept: "application/json",
      },
      body: new URLSearchParams(form).toString(),
    },
    signal,
  );
  if (reply.kind === "silent") return notSent(`no token: ${reply.cause}`);
  if (reply.status !== 200) return failureOfIdentity(reply);
  const value = objectOf(readExactJson(reply.text));
  if (value === undefined || filledTextOf(value.access_token) === undefined) {
    return notSent("no token: the answer cannot be read");
  }
  return { kind: "ok", value };
}

/** How long the access token of an answer is to be used, in milliseconds from now. */
export function freshMsOf(answer: ExactObject): number {
  const seconds = Number(filledTextOf(answer.expires_in) ?? defaultLifeSeconds);
  const lifeMs = (Number.isFinite(seconds) ? seconds : defaultLifeSeconds) * 1_000;
  // A token that lives shorter than the head start is still good for half its life.
  return Math.max(lifeMs - refreshAheadMs, lifeMs / 2);
}

/** The failure of a call whose grant the service does not take. */
export function grantRefused(): LedgerFailure {
  const message = "The ledger's identity service refused the credentials: invalid_grant";
  return { kind: "unauthorised", why: "disconnected", message };
}

/** A failure before anything was sent to the API. */
export function notSent(cause: string): LedgerFailure {
  return { kind: "unavailable", outcome: "not_sent", cause };
}

function basicOf(clientId: string, clientSecret: string): string {
  return `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`;
}

function failureOfIdentity(reply: HttpReply): IdentityAnswer {
  if (reply.status === 429) {
    const seconds = Number(reply.headers["retry-after"]);
    return { kind: "rate_limited", scope: "app", retryAfterMs: seconds > 0 ? seconds * 1_000 : 60_000 };
  }
  if (reply.status < 400 || reply.status > 499) return notSent(`no token: identity answered ${reply.status}`);
  const told = filledTextOf(objectOf(readExactJson(reply.text))?.error) ?? "";
  // Only the short words of the standard: whatever else stands there may repeat what we sent.
  const code = /^[a-z_]{1,40}$/.test(told) ? told : `status ${reply.status}`;
  if (code === "invalid_grant") return { kind: "invalid_grant" };
  const why = code === "invalid_scope" ? "insufficient_scope" : "disconnected";
  return { kind: "unauthorised", why, message: `The ledger's identity service refused the credentials: ${code}` };
}
