/**
 * Our app as Xero knows it (ADMIN-4). It builds the consent address, exchanges a code for tokens,
 * lists the organisations that tokens reach, and ends a connection.
 */
import { createHash } from "node:crypto";
import type { Dispatcher } from "undici";
import { filledTextOf, objectOf, objectsOf, readExactJson } from "../../port/exact-json.ts";
import { refused } from "../../port/failures.ts";
import {
  createAgent,
  exchange,
  type HttpReply,
  type OutgoingRequest,
} from "../../port/http/exchange.ts";
import type { LedgerAnswer, LedgerFailure } from "../../port/ledger.ts";
import type {
  AuthorisedConnection,
  AuthorisedTenant,
  AuthorisedTokens,
  LedgerAppSettings,
  LedgerOAuthApp,
  ReachedTenants,
  TokenStore,
} from "../../port/oauth-app.ts";
import { xeroScopes } from "../wire/connection.ts";
import { failureOfReply } from "../wire/failure.ts";
import { createSharedTokenSource } from "./authorised-tokens.ts";
import { askIdentity, freshMsOf, notSent } from "./identity.ts";

/** Xero's production addresses. */
export const xeroAddresses = {
  baseUrl: "https://api.xero.com/api.xro/2.0",
  identityUrl: "https://identity.xero.com/connect/token",
  authoriseUrl: "https://login.xero.com/identity/connect/authorize",
  connectionsUrl: "https://api.xero.com/connections",
} as const;

/**
 * Returns the same addresses at one server that has all of them, such as the demo ledger. `origin`
 * has no path.
 */
export function addressesAt(origin: string): {
  readonly [Name in keyof typeof xeroAddresses]: string;
} {
  return {
    baseUrl: `${origin}/api.xro/2.0`,
    identityUrl: `${origin}/connect/token`,
    authoriseUrl: `${origin}/identity/connect/authorize`,
    connectionsUrl: `${origin}/connections`,
  };
}

/** Creates the app with a separate connection pool. `timeoutMs` limits each request. */
export function createXeroApp(settings: LedgerAppSettings, timeoutMs: number): LedgerOAuthApp {
  const agent = createAgent({});
  return {
    consentUrl: ({ state, verifier, redirectUrl }) => {
      const query = new URLSearchParams({
        response_type: "code",
        client_id: settings.clientId,
        redirect_uri: redirectUrl,
        scope: `offline_access ${xeroScopes}`,
        state,
        code_challenge: createHash("sha256").update(verifier).digest("base64url"),
        code_challenge_method: "S256",
      });
      return `${settings.authoriseUrl}?${query}`;
    },
    exchange: (consent) => exchangeCode(agent, settings, consent, timeoutMs),
    tenants: (accessToken) => reachedTenants(agent, settings, accessToken, timeoutMs),
    end: (connection, tokens) => endConnection(agent, settings, timeoutMs, connection, tokens),
    close: () => agent.close(),
  };
}

async function exchangeCode(
  agent: Dispatcher,
  settings: LedgerAppSettings,
  { code, verifier, redirectUrl }: Parameters<LedgerOAuthApp["exchange"]>[0],
  timeoutMs: number,
): Promise<LedgerAnswer<AuthorisedTokens>> {
  const grant = {
    grant_type: "authorization_code",
    code,
    redirect_uri: redirectUrl,
    code_verifier: verifier,
  };
  const answer = await askIdentity(agent, settings, grant, AbortSignal.timeout(timeoutMs));
  if (answer.kind === "invalid_grant") {
    return refused("validation", "The ledger does not take the code of this consent.");
  }
  if (answer.kind !== "ok") return answer;
  const accessToken = filledTextOf(answer.value.access_token);
  const refreshToken = filledTextOf(answer.value.refresh_token);
  if (accessToken === undefined || refreshToken === undefined) {
    return refused("validation", "The ledger gave no refresh token (offline_access).");
  }
  return { kind: "ok", value: { accessToken, refreshToken, freshMs: freshMsOf(answer.value) } };
}

async function reachedTenants(
  agent: Dispatcher,
  settings: LedgerAppSettings,
  accessToken: string,
  timeoutMs: number,
): Promise<LedgerAnswer<ReachedTenants>> {
  const list = async (
    query: string,
    areOfConsent: boolean,
  ): Promise<LedgerAnswer<ReachedTenants>> => {
    const answer = await listTenants(agent, settings, query, accessToken, timeoutMs);
    return answer.kind === "ok"
      ? { kind: "ok", value: { tenants: answer.value, areOfConsent } }
      : answer;
  };
  const event = consentOf(accessToken);
  if (event === null) return list("", false);
  const consented = await list(`?${new URLSearchParams({ authEventId: event })}`, true);
  return consented.kind === "ok" && consented.value.tenants.length === 0
    ? list("", false)
    : consented;
}

async function listTenants(
  agent: Dispatcher,
  settings: LedgerAppSettings,
  query: string,
  accessToken: string,
  timeoutMs: number,
): Promise<LedgerAnswer<readonly AuthorisedTenant[]>> {
  const reply = await ask(
    agent,
    "GET",
    `${settings.connectionsUrl}${query}`,
    accessToken,
    timeoutMs,
  );
  if (reply.kind !== "replied") return reply;
  if (reply.status !== 200) return failureOfReply(reply, false);
  const list = readExactJson(reply.text);
  if (!Array.isArray(list)) return notSent("the ledger's list of organisations cannot be read");
  const value = objectsOf(list).flatMap((entry): AuthorisedTenant[] => {
    const [connectionId, tenantId, name] = [entry.id, entry.tenantId, entry.tenantName].map(
      filledTextOf,
    );
    const isOrganisation = (filledTextOf(entry.tenantType) ?? "ORGANISATION") === "ORGANISATION";
    if (!isOrganisation || connectionId === undefined || tenantId === undefined) return [];
    return [{ connectionId, tenantId, name: name ?? tenantId }];
  });
  return { kind: "ok", value };
}

/**
 * Ends an organisation's connection at Xero, with the tokens that all processes share. If Xero
 * rejects the token, the request is repeated once with a new one.
 */
async function endConnection(
  agent: Dispatcher,
  settings: LedgerAppSettings,
  timeoutMs: number,
  { clientId, ledgerConnection }: AuthorisedConnection,
  store: TokenStore,
): Promise<Ended> {
  // Tokens of another app do not work with these credentials: Xero would call them invalid, and the
  // tokens would be deleted here.
  const app = settings.clientId === clientId ? settings : null;
  const source = createSharedTokenSource(agent, { app, tokens: store });
  const url = `${settings.connectionsUrl}/${encodeURIComponent(ledgerConnection)}`;
  const attempt = async (rejected: string | null): Promise<readonly [string, Ended]> => {
    const token = await source.token(rejected, AbortSignal.timeout(2 * timeoutMs));
    if (token.kind === "ok") {
      const reply = await ask(agent, "DELETE", url, token.value, timeoutMs);
      if (reply.kind !== "replied") return [token.value, reply];
      const isEnded = reply.status === 404 || (reply.status >= 200 && reply.status <= 299);
      const answer = isEnded ? ok("ended") : failureOfReply(reply, true);
      return [token.value, answer];
    }
    // Only the refusal `invalid_grant` deletes the tokens.
    const isEnded = token.kind === "unauthorised" && (await store.read()) === null;
    return ["", isEnded ? ok("ended_before") : token];
  };
  const [used, answer] = await attempt(null);
  const isStale = answer.kind === "unauthorised" && answer.why === "expired" && used !== "";
  return isStale ? (await attempt(used))[1] : answer;
}

type Ended = LedgerAnswer<"ended" | "ended_before">;

function ok(value: "ended" | "ended_before"): Ended {
  return { kind: "ok", value };
}

/** Returns the consent event of an access token, a JWT at Xero. Null if the token names none. */
function consentOf(accessToken: string): string | null {
  const payload = Buffer.from(accessToken.split(".")[1] ?? "", "base64url").toString("utf8");
  return filledTextOf(objectOf(readExactJson(payload))?.authentication_event_id) ?? null;
}

async function ask(
  agent: Dispatcher,
  method: OutgoingRequest["method"],
  url: string,
  accessToken: string,
  timeoutMs: number,
): Promise<HttpReply | LedgerFailure> {
  const headers = { authorization: `Bearer ${accessToken}`, accept: "application/json" };
  const reply = await exchange(
    agent,
    { method, url, headers, body: null },
    AbortSignal.timeout(timeoutMs),
  );
  return reply.kind === "replied" ? reply : notSent(reply.cause);
}
