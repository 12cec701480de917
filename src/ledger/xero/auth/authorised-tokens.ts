/**
 * The access token of a connection by authorisation: all processes share it, and one of them at a time refreshes it. A refresh token
 * is good once: the newest is sealed and saved before its access token is used, or held here until it can be saved; and where the
 * answer of a refresh was lost, the one that is kept is shown again, which Xero takes for 30 minutes. Facts: facts-ledger section 1.10.
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Dispatcher } from "undici";
import { filledTextOf } from "../../port/exact-json.ts";
import type { LedgerAnswer, LedgerFailure } from "../../port/ledger.ts";
import { xeroDefaults } from "../wire/connection.ts";
import { askIdentity, freshMsOf, grantRefused, type IdentityAnswer, type IdentityClient, notSent } from "./identity.ts";
import { type StoredToken, oneFlight, type TokenSource } from "./tokens.ts";

/** The tokens of a connection as they stand. `freshMs`: how long the access token is still to be used. */
export interface SharedTokens {
  readonly generation: string;
  readonly accessToken: string;
  readonly freshMs: number;
}

/** The right to refresh, of one process at a time. `previous` is the refresh token before. */
export interface RefreshPermit {
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
export interface TokenStore {
  /** Null where the connection has none, or is disconnected. */
  read(): Promise<SharedTokens | null>;
  /** The turn to refresh tokens of this generation; null where another process has it, or they are refreshed already. */
  take(generation: string, leaseMs: number): Promise<RefreshPermit | null>;
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
  readonly keeper: TokenStore;
}

/** How long a turn lasts beyond its request: it has to be saved. */
const saveMs = 2_000;

/** Between two looks while another process refreshes: identity answers within a second or two. */
const lookEveryMs = 50;

/**
 * Between tries to save what a refresh brought: what is not saved is lost with this process. Longer troubles of the database are
 * outlasted by holding it.
 */
const savePausesMs = [50, 200, 800] as const;

/** New tokens that are not saved yet, with the turn that they were had in. `staleAt` is by `performance.now()`. */
interface Unsaved {
  readonly leaseId: string;
  readonly tokens: RenewedTokens;
  readonly staleAt: number;
  /** Why the last try to save them failed. */
  cause: string;
}

/** What a source works with. `unsaved` is null but between a refresh and its saving. */
interface Flight {
  readonly agent: Dispatcher;
  readonly authorisation: SharedAuthorisation;
  readonly timeoutMs: number;
  unsaved: Unsaved | null;
}

/** A token source over tokens that all processes share. Failures mean that the API call itself was not sent. */
export function createSharedTokenSource(
  agent: Dispatcher,
  authorisation: SharedAuthorisation,
  tokenTimeoutMs: number = xeroDefaults.tokenTimeoutMs,
): TokenSource {
  const flight: Flight = { agent, authorisation, timeoutMs: tokenTimeoutMs, unsaved: null };
  return oneFlight((rejected) =>
    obtain(flight, rejected).catch((error: unknown) => notSent(`the kept tokens could not be had: ${causeOf(error)}`)),
  );
}

async function obtain(flight: Flight, rejected: string | null): Promise<LedgerAnswer<StoredToken>> {
  const { authorisation, timeoutMs } = flight;
  const { app, keeper } = authorisation;
  const leaseMs = timeoutMs + saveMs;
  // One that has the turn is done by then or gone, and then it is ours.
  const end = performance.now() + leaseMs + timeoutMs;
  while (performance.now() < end) {
    await saveUnsaved(flight, []);
    if (flight.unsaved !== null) return held(flight.unsaved, rejected);
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
    const failure = await refresh(flight, app, turn);
    if (failure !== null) return failure;
  }
  if (flight.unsaved !== null) return held(flight.unsaved, rejected);
  return notSent("no token: another process has been refreshing it for too long");
}

/**
 * The token that could not be saved yet: good for this call, and the next one tries again to save it first. Where it was rejected there
 * is none: another refresh would lose its tokens as well.
 */
function held({ tokens, staleAt, cause }: Unsaved, rejected: string | null): LedgerAnswer<StoredToken> {
  const isGood = tokens.accessToken !== rejected && performance.now() < staleAt;
  if (isGood) return { kind: "ok", value: { value: tokens.accessToken, refreshAt: performance.now() } };
  return notSent(`no token: those of the last refresh cannot be saved: ${cause}`);
}

/**
 * Saves what a refresh brought and is not saved yet, in as many tries as there are pauses and one more; what cannot be saved is held on.
 * Where the turn was lost meanwhile there are other tokens, and these are no use.
 */
async function saveUnsaved(flight: Flight, pausesMs: readonly number[]): Promise<void> {
  const { unsaved } = flight;
  if (unsaved === null) return;
  const { leaseId, tokens, staleAt } = unsaved;
  for (const pauseMs of [0, ...pausesMs]) {
    if (pauseMs > 0) await wait(pauseMs);
    try {
      await flight.authorisation.keeper.save(leaseId, { ...tokens, freshMs: Math.max(0, staleAt - performance.now()) });
      flight.unsaved = null;
      return;
    } catch (error) {
      unsaved.cause = causeOf(error);
    }
  }
}

function causeOf(error: unknown): string {
  return error instanceof Error ? error.message : "unknown";
}

/**
 * Refreshes and saves. Null where there are other tokens now, saved or held, or another process has the turn: all is seen at the next
 * look.
 */
async function refresh(
  flight: Flight,
  app: IdentityClient,
  { leaseId, refreshToken, previous }: RefreshPermit,
): Promise<LedgerFailure | null> {
  const { agent, timeoutMs } = flight;
  const { keeper } = flight.authorisation;
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
  const freshMs = freshMsOf(answer.value);
  const tokens = { accessToken, refreshToken: renewed, used, freshMs };
  flight.unsaved = { leaseId, tokens, staleAt: performance.now() + freshMs, cause: "" };
  await saveUnsaved(flight, savePausesMs);
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
