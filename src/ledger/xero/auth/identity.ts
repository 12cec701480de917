/**
 * Xero's identity service: one token request for every grant, and the meaning of its answers. No
 * secret, code or token ever appears in a failure.
 */
import type { Dispatcher } from "undici";
import { type ExactObject, filledTextOf, objectOf, readExactJson } from "../../port/exact-json.ts";
import { exchange, type HttpReply } from "../../port/http/exchange.ts";
import type { LedgerFailure } from "../../port/ledger.ts";
import type { LedgerAppSettings } from "../../port/oauth-app.ts";

/** The app's credentials and the identity endpoint. */
export type IdentityClient = Pick<LedgerAppSettings, "identityUrl" | "clientId" | "clientSecret">;

/**
 * The answer of the identity service. `invalid_grant`: the code or refresh token is no longer
 * valid, and no token was returned.
 */
export type IdentityAnswer =
  | { readonly kind: "ok"; readonly value: ExactObject }
  | { readonly kind: "invalid_grant" }
  | LedgerFailure;

// Xero's tokens last 30 minutes (XERO-12). An answer without a lifetime counts as five.
const defaultLifeSeconds = 300;

// Tokens are refreshed a minute early, so that no call starts with a token that expires on the way.
const refreshAheadMs = 60_000;

/**
 * Requests tokens. A failure means that no API call was sent. After `unavailable` the service may
 * have issued tokens all the same.
 */
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

/** Returns how long to use the access token of an answer, in milliseconds from now. */
export function freshMsOf(answer: ExactObject): number {
  const seconds = Number(filledTextOf(answer.expires_in) ?? defaultLifeSeconds);
  const lifeMs = (Number.isFinite(seconds) ? seconds : defaultLifeSeconds) * 1_000;
  // A token with a shorter life than the head start is used for half its life.
  return Math.max(lifeMs - refreshAheadMs, lifeMs / 2);
}

/** Returns the failure of a call whose grant the service refuses. */
export function grantRefused(): LedgerFailure {
  const message = "The ledger's identity service refused the credentials: invalid_grant";
  return { kind: "unauthorised", why: "disconnected", message };
}

/** Returns the failure of a call that ended before anything was sent to the API. */
export function notSent(cause: string): LedgerFailure {
  return { kind: "unavailable", outcome: "not_sent", cause };
}

function basicOf(clientId: string, clientSecret: string): string {
  return `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`;
}

function failureOfIdentity(reply: HttpReply): IdentityAnswer {
  if (reply.status === 429) {
    const seconds = Number(reply.headers["retry-after"]);
    return {
      kind: "rate_limited",
      scope: "app",
      retryAfterMs: seconds > 0 ? seconds * 1_000 : 60_000,
    };
  }
  if (reply.status < 400 || reply.status > 499)
    return notSent(`no token: identity answered ${reply.status}`);
  const text = filledTextOf(objectOf(readExactJson(reply.text))?.error) ?? "";
  // Only the standard's short codes are used. Other text may repeat what we sent.
  const code = /^[a-z_]{1,40}$/.test(text) ? text : `status ${reply.status}`;
  if (code === "invalid_grant") return { kind: "invalid_grant" };
  const why = code === "invalid_scope" ? "insufficient_scope" : "disconnected";
  return {
    kind: "unauthorised",
    why,
    message: `The ledger's identity service refused the credentials: ${code}`,
  };
}
