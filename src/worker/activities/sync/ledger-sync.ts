/**
 * What the mirror does: starts the workflows of organisations whose ledger is to be looked at, and looks, hint by hint and page by page,
 * at what people changed there. Nobody waits for it: its calls leave some of the budget to those for whom somebody does. Issue 8 "Mirror".
 */
import type {
  CreditAllocationInput,
  DuePage,
  DuePageInput,
  LedgerMirrorInput,
  WorkRound,
} from "../../../../workflows/contract.ts";
import { isMerged } from "../../../domain/customers/sync-contact.ts";
import type { Ledger, LedgerContact, LedgerFailure } from "../../../ledger/port/ledger.ts";
import type { LedgerConnection } from "../../../store/ledger-connection/connections.ts";
import { joinFollowed, nothingFollowed } from "../../../store/ledger-jobs/observed-state.ts";
import type { MirrorKind } from "../../../store/ledger-jobs/pending-notifications.ts";
import type { MirrorState, SweepPage } from "../../../store/ledger-sync/incremental-sync.ts";
import type { Mirroring, MirrorScope } from "../../../store/ledger-sync/sync-store.ts";
import { connectionPause, limitReason, retryDelayMs } from "../posting/ledger-call.ts";
import { followSeen, isForAll, type Looked, type Looking, lookAtHints, reasonOf } from "./read-notifications.ts";

/** What the mirror needs. */
export interface MirrorParts {
  readonly mirroring: Mirroring;
  readonly openLedger: (organisationId: string, connection: LedgerConnection) => Ledger;
  /** How long one call to the ledger may take. */
  readonly callDeadlineMs: number;
  /** Starts or wakes the organisation's mirror; false where Temporal was not reached. */
  readonly startMirror: (organisationId: string) => Promise<boolean>;
  /** Something of the ledger cannot be followed: these, by its ids where it told them, and why. */
  readonly onUnfollowed: (
    organisationId: string,
    what: { readonly kind: MirrorKind; readonly ids: readonly string[]; readonly reason: string },
  ) => void;
  /** Starts putting held credit on invoices that were approved there. */
  readonly startAllocation: (input: CreditAllocationInput) => Promise<boolean>;
}

/** The activities of the mirror's workflows. */
export interface MirrorActivities {
  startMirrors(input: DuePageInput): Promise<DuePage>;
  mirrorRound(input: LedgerMirrorInput): Promise<WorkRound>;
}

/** Organisations on a page: started within seconds, so that the activity stays short. */
const pageSize = 500;

/** Starts under way at once. */
const startsAtOnce = 16;

/** The longest that all looks wait because some failed: what can be looked at is here within about a minute all the same. */
const longestForAllMs = 60_000;

/** How long a round goes on with further calls: short against what its workflow and a worker's end wait for. */
const roundMs = 1_000;

/** The activities over these parts. Each round re-reads the database, so a repetition finds only what is left. */
export function createMirror(parts: MirrorParts): MirrorActivities {
  return {
    startMirrors: ({ after }) => startMirrors(parts, after),
    mirrorRound: ({ organisationId }) => mirrorRound(parts, organisationId),
  };
}

async function startMirrors({ mirroring, startMirror }: MirrorParts, after: string | null): Promise<DuePage> {
  const page = await mirroring.find(after, pageSize);
  const waiting = page.values();
  let started = 0;
  const starter = async (): Promise<void> => {
    for (const organisationId of waiting) if (await startMirror(organisationId)) started += 1;
  };
  await Promise.all(Array.from({ length: startsAtOnce }, starter));
  return { found: page.length, started, next: page.length < pageSize ? null : (page.at(-1) ?? null) };
}

/** What a round has done so far. */
interface Counts {
  looked: number;
  changed: number;
  unfollowed: number;
}

async function mirrorRound(parts: MirrorParts, organisationId: string): Promise<WorkRound> {
  const endMs = performance.now() + roundMs;
  const scope = parts.mirroring.open(organisationId);
  const counts: Counts = { looked: 0, changed: 0, unfollowed: 0 };
  const call = { deadlineMs: parts.callDeadlineMs, operationKeys: [], isBackground: true };
  for (;;) {
    const state = await scope.look();
    if (state.waitMs > 0) return waiting(`waits: ${state.reason ?? "the ledger cannot be asked"}`, state.waitMs);
    const connected = await scope.connection();
    if (connected === null) return settled("no ledger is connected");
    if (connected.pausedMs > 0) return waiting(`paused: ${connected.pausedReason ?? "for now"}`, connected.pausedMs);
    const ledger = parts.openLedger(organisationId, connected.connection);
    const step = await lookOnce(parts, organisationId, { scope, ledger, call });
    if (step === null) return atRest(state, counts);
    counts.looked += step.looked;
    counts.changed += step.followed.changed;
    counts.unfollowed += step.unfollowed.length;
    await Promise.all(
      step.followed.credited.map((subscriptionId) => parts.startAllocation({ organisationId, subscriptionId })),
    );
    if (step.failure !== null) return failed(scope, state, step.failure, step.of);
    if (state.reason !== null) await scope.putOff(null);
    if (performance.now() >= endMs) return waiting(described(counts), 0);
  }
}

/** What a look was at in the end: hints, one that calls failed for before, or a page of the sweep. */
type LookedAt = "hints" | "lone_hint" | "page";

/** A look, and at what. */
type Look = Looked & { readonly of: LookedAt };

/**
 * Hints first, because somebody may be looking at the document; null where nothing is to be looked at. Hints that fail keep no sweep
 * that is due from being made.
 */
async function lookOnce(parts: MirrorParts, organisationId: string, looking: Looking): Promise<Look | null> {
  const hints = await looking.scope.takeHints();
  const of = hints?.isAlone ? "lone_hint" : "hints";
  const byHints = hints === null ? null : ({ ...(await lookAtHints(looking, hints)), of } as const);
  if (hints !== null && byHints !== null && byHints.unfollowed.length > 0) {
    const reasons = [...new Set(byHints.unfollowed.map(({ reason }) => reason))];
    const ids = byHints.unfollowed.map(({ ledgerId }) => ledgerId);
    parts.onUnfollowed(organisationId, { kind: hints.kind, ids, reason: reasons.join("; ") });
  }
  if (byHints !== null && (byHints.failure === null || isForAll(byHints.failure))) return byHints;
  const page = await looking.scope.takeSweep();
  if (page === null) return byHints;
  const bySweep = await lookAtPage(parts, organisationId, looking, page);
  if (byHints === null) return bySweep;
  return { ...bySweep, ...countsOf([byHints, bySweep]), unfollowed: byHints.unfollowed };
}

function countsOf(looks: readonly Looked[]): Pick<Looked, "looked" | "followed"> {
  return {
    looked: looks.reduce((sum, { looked }) => sum + looked, 0),
    followed: joinFollowed(looks.map(({ followed }) => followed)),
  };
}

async function lookAtPage(
  parts: MirrorParts,
  organisationId: string,
  { scope, ledger, call }: Looking,
  page: SweepPage,
): Promise<Look> {
  const { kind, since, cursor, takenAt } = page;
  const answer = await ledger.listChanges(call, { kind, since, ...(cursor === null ? {} : { cursor }) });
  const none = { looked: 0, followed: nothingFollowed, unfollowed: [], failure: null, of: "page" } as const;
  if (answer.kind !== "ok") return { ...none, failure: answer };
  const { changes, unread, ...next } = answer.value;
  const ids = unread.filter((id) => id !== null);
  if (ids.length < unread.length) {
    const reason = `${unread.length - ids.length} of a page cannot be read and have no id`;
    parts.onUnfollowed(organisationId, { kind, ids: [], reason });
  }
  // Contacts that were merged are looked at by their hints, with where they went; hints of what is not ours are dropped.
  const merged = kind === "contacts" ? (changes as readonly LedgerContact[]).filter(isMerged) : [];
  const others = changes.filter(({ id }) => !merged.some((contact) => contact.id === id));
  const followed = await followSeen(scope, kind, others, takenAt);
  await scope.leaveHints(kind, [
    ...[...followed.again, ...followed.unfit, ...ids].map((ledgerId) => ({ ledgerId, changedAt: null })),
    ...merged.map(({ id, updatedAt }) => ({ ledgerId: id, changedAt: updatedAt })),
  ]);
  await scope.endPage(page, { ...next, changed: followed.changed });
  return { ...none, looked: changes.length, followed };
}

/**
 * What failed is not looked at for a while: a page of the sweep later each time, and hints each on its own; all the rest waits for a
 * moment, or longer where all fails. One that failed before and was alone puts off nothing else that comes
 * meanwhile. A limit of the ledger's own pauses all calls of the connection.
 */
async function failed(
  scope: MirrorScope,
  { failures }: MirrorState,
  failure: LedgerFailure,
  of: LookedAt,
): Promise<WorkRound> {
  const pause = connectionPause([failure]);
  if (pause !== null) {
    await scope.pause(pause.pauseMs, pause.reason);
    return waiting(`paused: ${pause.reason}`, pause.pauseMs);
  }
  if (failure.kind === "rate_limited") {
    const reason = limitReason(failure);
    await scope.putOff({ delayMs: failure.retryAfterMs, reason, isFailure: false });
    return waiting(`waits: ${reason}`, failure.retryAfterMs);
  }
  const reason = reasonOf(failure);
  const retryMs = retryDelayMs(failures + 1);
  const delayMs = Math.min(retryMs, longestForAllMs);
  if (of === "page") await scope.failSweep(retryMs);
  await scope.putOff({ delayMs: of === "lone_hint" ? 0 : delayMs, reason, isFailure: true });
  return waiting(`waits: ${reason}`, delayMs);
}

function atRest({ nextInMs }: MirrorState, counts: Counts): WorkRound {
  const detail = described(counts);
  return nextInMs === null ? settled(detail) : waiting(`${detail}; something is to be looked at again`, nextInMs);
}

function described({ looked, changed, unfollowed }: Counts): string {
  const told = `looked at ${looked} in the ledger, ${changed} changed here`;
  return unfollowed === 0 ? told : `${told}, ${unfollowed} cannot be followed`;
}

function settled(detail: string): WorkRound {
  return { state: "settled", outcome: "done", detail, nextInMs: null };
}

function waiting(detail: string, nextInMs: number): WorkRound {
  return { state: "waiting", outcome: null, detail, nextInMs };
}
