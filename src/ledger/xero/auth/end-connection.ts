/**
 * Ends an organisation's connection at Xero, with the tokens that all processes share. If Xero
 * rejects the token, the request is repeated once with a new one.
 */
import type { Dispatcher } from "undici";
import type { LedgerAnswer } from "../../port/failures.ts";
import type { AuthorisedConnection, LedgerAppSettings, TokenStore } from "../../port/oauth-app.ts";
import { createSharedTokenSource } from "./authorised-tokens.ts";

type Ended = LedgerAnswer<"ended" | "ended_before">;

/** Ends the connection by `endWith`, which sends the request with an access token. */
export async function endConnection(
  agent: Dispatcher,
  { settings, timeoutMs }: { readonly settings: LedgerAppSettings; readonly timeoutMs: number },
  { clientId }: AuthorisedConnection,
  store: TokenStore,
  endWith: (accessToken: string) => Promise<LedgerAnswer<true>>,
): Promise<Ended> {
  // Tokens of another app do not work with these credentials: Xero would call them invalid, and the
  // tokens would be deleted here.
  const app = settings.clientId === clientId ? settings : null;
  const source = createSharedTokenSource(agent, { app, tokens: store });
  const attempt = async (rejected: string | null): Promise<readonly [string, Ended]> => {
    const token = await source.token(rejected, AbortSignal.timeout(2 * timeoutMs));
    if (token.kind === "ok") {
      const answer = await endWith(token.value);
      return [token.value, answer.kind === "ok" ? { kind: "ok", value: "ended" } : answer];
    }
    // Only the refusal `invalid_grant` deletes the tokens.
    const isEnded = token.kind === "unauthorised" && (await store.read()) === null;
    return ["", isEnded ? { kind: "ok", value: "ended_before" } : token];
  };
  const [used, answer] = await attempt(null);
  const isStale = answer.kind === "unauthorised" && answer.why === "expired" && used !== "";
  return isStale ? (await attempt(used))[1] : answer;
}
