/**
 * The access token of a connection by authorisation: all processes share it, and one of them at a time refreshes it. A refresh token
 * is good once: the newest is sealed and saved before anybody uses its access token, and where the answer of a refresh was lost, the
 * one that is kept is shown again, which Xero takes for 30 minutes. Facts: facts-ledger section 1.10.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Dispatcher } from "undici";
import { filledTextOf } from "../exact-json.ts";
import type { LedgerAnswer, LedgerFailure } from "../port.ts";
import { xeroDefaults } from "./connection.ts";
import { askIdentity, freshMsOf, grantRefused, type IdentityAnswer, type IdentityClient, notSent } from "./identity.ts";
import { type KeptToken, oneFlight, type TokenSource } from "./tokens.ts";

/** The tokens of a connection as they stand. `freshMs`: how long the access token is still to be used. */
export interface SharedTokens {
  readonly generation: string;
  readonly accessToken: string;
  readonly freshMs: number;
}

/** The right to refresh, of one process at a time. `previous` is the refresh token before. */
export interface RefreshTurn {
  readonly leaseId: string;
  readonly refreshToken: string;
  readonly previous: string | null;
}

/** What a refresh brought. `used` is the refresh token that was shown for it. */
export interface RenewedTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly used: string;
  readonly freshMs: number;
}

/** Where a connection's tokens are kept for all processes. */
export interface TokenKeeper {
  /** Null where the connection has none, or is disconnected. */
  read(): Promise<SharedTokens | null>;
  /** The turn to refresh tokens of this generation; null where another process has it, or they are refreshed already. */
  take(generation: string, leaseMs: number): Promise<RefreshTurn | null>;
  /** False where the turn was lost meanwhile: nothing was saved. */
  save(leaseId: string, tokens: RenewedTokens): Promise<boolean>;
  /** Gives the turn back without new tokens. */
  release(leaseId: string): Promise<void>;
  /** The ledger takes the refresh token no more: the connection is disconnected, unless the turn was lost meanwhile. */
  disconnect(leaseId: string): Promise<void>;
}

/** A connection by authorisation: the app that a person consented to (null where its credentials are not here), and where the tokens are. */
export interface SharedAuthorisation {
  readonly app: IdentityClient | null;
  readonly keeper: TokenKeeper;
}

/** How long a turn lasts beyond its request: it has to be saved. */
const saveMs = 2_000;

/** Between two looks while another process refreshes: identity answers within a second or two. */
const lookEveryMs = 50;

/** A token source over tokens that all processes share. Failures mean that the API call itself was not sent. */
export function createSharedTokenSource(
  agent: Dispatcher,
  authorisation: SharedAuthorisation,
  tokenTimeoutMs: number = xeroDefaults.tokenTimeoutMs,
): TokenSource {
  return oneFlight((rejected) =>
    obtain(agent, authorisation, tokenTimeoutMs, rejected).catch((error: unknown) =>
      notSent(`the kept tokens could not be had: ${error instanceof Error ? error.message : "unknown"}`),
    ),
  );
}

async function obtain(
  agent: Dispatcher,
  authorisation: SharedAuthorisation,
  timeoutMs: number,
  rejected: string | null,
): Promise<LedgerAnswer<KeptToken>> {
  const { app, keeper } = authorisation;
  const leaseMs = timeoutMs + saveMs;
  // One that has the turn is done by then or gone, and then it is ours.
  const end = performance.now() + leaseMs + timeoutMs;
  while (performance.now() < end) {
    const tokens = await keeper.read();
    if (tokens === null) return disconnected();
    if (tokens.freshMs > 0 && tokens.accessToken !== rejected) {
      return { kind: "ok", value: { value: tokens.accessToken, refreshAt: performance.now() + tokens.freshMs } };
    }
    if (app === null) return withoutApp();
    const turn = await keeper.take(tokens.generation, leaseMs);
    if (turn === null) {
      await wait(lookEveryMs);
      continue;
    }
    const failure = await refresh(agent, app, keeper, turn, timeoutMs);
    if (failure !== null) return failure;
  }
  return notSent("no token: another process has been refreshing it for too long");
}

/** Refreshes and saves. Null where there are other tokens now, or another process has the turn: both are seen at the next look. */
async function refresh(
  agent: Dispatcher,
  app: IdentityClient,
  keeper: TokenKeeper,
  { leaseId, refreshToken, previous }: RefreshTurn,
  timeoutMs: number,
): Promise<LedgerFailure | null> {
  const signal = AbortSignal.timeout(timeoutMs);
  let used = refreshToken;
  const show = (token: string): Promise<IdentityAnswer> => {
    used = token;
    return askIdentity(agent, app, { grant_type: "refresh_token", refresh_token: token }, signal);
  };
  let answer = await show(refreshToken);
  // The answer to a repeat may have been overtaken by that to the first try: the ledger then knows only the one before.
  if (answer.kind === "invalid_grant" && previous !== null) answer = await show(previous);
  if (answer.kind === "invalid_grant") {
    await keeper.disconnect(leaseId);
    return grantRefused();
  }
  const renewed = answer.kind === "ok" ? filledTextOf(answer.value.refresh_token) : undefined;
  if (answer.kind !== "ok" || renewed === undefined) {
    await keeper.release(leaseId);
    return answer.kind === "ok" ? notSent("no token: the answer has no refresh token") : answer;
  }
  const accessToken = filledTextOf(answer.value.access_token) ?? "";
  await keeper.save(leaseId, { accessToken, refreshToken: renewed, used, freshMs: freshMsOf(answer.value) });
  return null;
}

function disconnected(): LedgerFailure {
  const message = "The connection is disconnected: an owner must authorise it again.";
  return { kind: "unauthorised", why: "disconnected", message };
}

function withoutApp(): LedgerFailure {
  const message = "XERO_CLIENT_ID and XERO_CLIENT_SECRET of the app that was authorised are not set for this process.";
  return { kind: "unauthorised", why: "expired", message };
}
