/**
 * The access token of a connection by consent. All processes share it, and one at a time refreshes
 * it (LEDGER-6). A refresh token works once: the new one is encrypted and saved before its access
 * token is used. If saving fails, it is held in memory until it can be saved. If the answer of a
 * refresh is lost, the stored token is sent again, which Xero accepts for 30 minutes (XERO-12).
 */
import { setTimeout as wait } from "node:timers/promises";
import type { Dispatcher } from "undici";
import { filledTextOf } from "../../port/exact-json.ts";
import type { LedgerAnswer, LedgerFailure } from "../../port/ledger.ts";
import type { SharedAuthorisation } from "../../port/ledger-kind.ts";
import type { RefreshPermit, RenewedTokens } from "../../port/oauth-app.ts";
import { tokenTimeoutMs } from "../wire/connection.ts";
import {
  askIdentity,
  freshMsOf,
  grantRefused,
  type IdentityAnswer,
  type IdentityClient,
  notSent,
} from "./identity.ts";
import { oneFlight, type StoredToken, type TokenSource } from "./tokens.ts";

/** How long a lease lasts beyond the request, so that the tokens can be saved. */
const saveMs = 2_000;

/**
 * The pause between reads while another process refreshes. Identity answers within a second or two.
 */
const readEveryMs = 50;

/**
 * The pauses between tries to save refreshed tokens, in milliseconds. Unsaved tokens are lost with
 * this process. They are held in memory during a longer database outage.
 */
const savePausesMs = [50, 200, 800] as const;

/**
 * New tokens that are not saved yet, with the lease of their refresh. `staleAt` is by
 * `performance.now()`.
 */
interface Unsaved {
  readonly leaseId: string;
  readonly tokens: RenewedTokens;
  readonly staleAt: number;
  /** Why the last try to save failed. */
  cause: string;
}

/** The state of one token source. `unsaved` is set only between a refresh and its save. */
interface Flight {
  readonly agent: Dispatcher;
  readonly authorisation: SharedAuthorisation;
  unsaved: Unsaved | null;
}

/**
 * Creates a token source over the shared tokens. A failure means that the API call itself was not
 * sent.
 */
export function createSharedTokenSource(
  agent: Dispatcher,
  authorisation: SharedAuthorisation,
): TokenSource {
  const flight: Flight = { agent, authorisation, unsaved: null };
  return oneFlight((rejected) =>
    obtain(flight, rejected).catch((error: unknown) =>
      notSent(`the stored tokens could not be read: ${causeOf(error)}`),
    ),
  );
}

async function obtain(flight: Flight, rejected: string | null): Promise<LedgerAnswer<StoredToken>> {
  const { authorisation } = flight;
  const { app, tokens: store } = authorisation;
  const leaseMs = tokenTimeoutMs + saveMs;
  // A process that holds the lease has finished or died by then, and this process can take it.
  const end = performance.now() + leaseMs + tokenTimeoutMs;
  while (performance.now() < end) {
    await saveUnsaved(flight, []);
    if (flight.unsaved !== null) return unsavedToken(flight.unsaved, rejected);
    const tokens = await store.read();
    if (tokens === null) return disconnected();
    if (tokens.freshMs > 0 && tokens.accessToken !== rejected) {
      return {
        kind: "ok",
        value: { value: tokens.accessToken, refreshAt: performance.now() + tokens.freshMs },
      };
    }
    if (app === null) return withoutApp();
    const permit = await store.take(tokens.generation, leaseMs);
    if (permit === null) {
      await wait(readEveryMs);
      continue;
    }
    const failure = await refresh(flight, app, permit);
    if (failure !== null) return failure;
  }
  if (flight.unsaved !== null) return unsavedToken(flight.unsaved, rejected);
  return notSent("no token: another process has been refreshing it for too long");
}

/**
 * Returns the token that is not saved yet. It is good for this call, and the next call tries to
 * save it first. If the ledger rejected it, there is none: another refresh would lose its tokens as
 * well.
 */
function unsavedToken(
  { tokens, staleAt, cause }: Unsaved,
  rejected: string | null,
): LedgerAnswer<StoredToken> {
  const isGood = tokens.accessToken !== rejected && performance.now() < staleAt;
  if (isGood)
    return { kind: "ok", value: { value: tokens.accessToken, refreshAt: performance.now() } };
  return notSent(`no token: those of the last refresh cannot be saved: ${cause}`);
}

/**
 * Saves the unsaved result of a refresh, with one try more than there are pauses. Tokens that
 * cannot be saved stay in memory. If the lease was lost, newer tokens exist and these are dropped.
 */
async function saveUnsaved(flight: Flight, pausesMs: readonly number[]): Promise<void> {
  const { unsaved } = flight;
  if (unsaved === null) return;
  const { leaseId, tokens, staleAt } = unsaved;
  for (const pauseMs of [0, ...pausesMs]) {
    if (pauseMs > 0) await wait(pauseMs);
    try {
      await flight.authorisation.tokens.save(leaseId, {
        ...tokens,
        freshMs: Math.max(0, staleAt - performance.now()),
      });
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
 * Refreshes and saves. Returns null if the next read decides: newer tokens exist, saved or held, or
 * another process has the lease.
 */
async function refresh(
  flight: Flight,
  app: IdentityClient,
  { leaseId, refreshToken, previous }: RefreshPermit,
): Promise<LedgerFailure | null> {
  const { agent } = flight;
  const store = flight.authorisation.tokens;
  const signal = AbortSignal.timeout(tokenTimeoutMs);
  let used = refreshToken;
  const show = (token: string): Promise<IdentityAnswer> => {
    used = token;
    return askIdentity(agent, app, { grant_type: "refresh_token", refresh_token: token }, signal);
  };
  let answer = await show(refreshToken);
  // The repeat's answer may come after the answer to the first try was superseded. The ledger then
  // knows only the previous token.
  if (answer.kind === "invalid_grant" && previous !== null) answer = await show(previous);
  if (answer.kind === "invalid_grant") {
    await store.disconnect(leaseId);
    return grantRefused();
  }
  const renewed = answer.kind === "ok" ? filledTextOf(answer.value.refresh_token) : undefined;
  if (answer.kind !== "ok" || renewed === undefined) {
    await store.release(leaseId);
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
  const message =
    "XERO_CLIENT_ID and XERO_CLIENT_SECRET of the authorised app are not set for this process.";
  return { kind: "unauthorised", why: "expired", message };
}
