/**
 * The activities of the ledger sync (LEDGER-4). They start the workflows of organisations with
 * something to read, and read by notification and by page what people changed in the ledger. No
 * caller waits for these calls, so they leave some of the budget to callers who do (POSTING-6).
 */
import type {
  CreditAllocationInput,
  DuePage,
  DuePageInput,
  OrganisationInput,
  WorkBatch,
} from "../../../../workflows/contract.ts";
import { isMerged } from "../../../domain/customers/sync-contact.ts";
import type { Ledger, LedgerContact, LedgerFailure } from "../../../ledger/port/ledger.ts";
import type { LedgerConnection } from "../../../store/ledger-connection/connections.ts";
import type { SyncPage, SyncState } from "../../../store/ledger-sync/incremental-sync.ts";
import { joinSyncResults, nothingSynced } from "../../../store/ledger-sync/observed-state.ts";
import type { SyncKind } from "../../../store/ledger-sync/pending-notifications.ts";
import type { LedgerSync, LedgerSyncTenant } from "../../../store/ledger-sync/sync-store.ts";
import { connectionPause, reasonOf, retryDelayMs } from "../posting/ledger-call.ts";
import { pageSize, startPage } from "../start-page.ts";
import {
  isConnectionFailure,
  type LedgerReader,
  type ReadResult,
  readNotifications,
  syncObserved,
} from "./read-notifications.ts";

/** The dependencies of the ledger sync. */
interface LedgerSyncDependencies {
  readonly ledgerSync: LedgerSync;
  readonly openLedger: (organisationId: string, connection: LedgerConnection) => Ledger;
  /** How long one call to the ledger may take. */
  readonly callDeadlineMs: number;
  /** Starts or wakes the organisation's sync workflow. False if Temporal was not reached. */
  readonly startLedgerSync: (organisationId: string) => Promise<boolean>;
  /**
   * Called for objects of the ledger that cannot be synced, with their ids if the ledger named
   * them, and the reason (LEDGER-5).
   */
  readonly onSkipped: (
    organisationId: string,
    what: { readonly kind: SyncKind; readonly ids: readonly string[]; readonly reason: string },
  ) => void;
  /** Starts the allocation of held credit to invoices that were approved in the ledger. */
  readonly startAllocation: (input: CreditAllocationInput) => Promise<boolean>;
}

/**
 * The longest that all reads wait because some failed. An object that can be read is still synced
 * within about a minute.
 */
const maxPauseOfAllMs = 60_000;

/**
 * How long a batch continues with further calls. It is shorter than the timeout of its workflow and
 * the grace of a stopping worker.
 */
const batchMs = 1_000;

/**
 * Creates the activities over these dependencies. Each batch reads the database again, so a retry
 * finds only what is left.
 */
export function createLedgerSyncActivities(parts: LedgerSyncDependencies) {
  return {
    startDueSyncs: async ({ after }: DuePageInput): Promise<DuePage> =>
      startPage(await parts.ledgerSync.find(after, pageSize), parts.startLedgerSync),
    syncBatch: ({ organisationId }: OrganisationInput): Promise<WorkBatch> =>
      syncBatch(parts, organisationId),
  };
}

/** The activities of the sync workflows. */
export type LedgerSyncActivities = ReturnType<typeof createLedgerSyncActivities>;

/** The counts of a batch so far. */
interface Counts {
  read: number;
  changed: number;
  skipped: number;
}

async function syncBatch(
  parts: LedgerSyncDependencies,
  organisationId: string,
): Promise<WorkBatch> {
  const endMs = performance.now() + batchMs;
  const store = parts.ledgerSync.open(organisationId);
  const counts: Counts = { read: 0, changed: 0, skipped: 0 };
  const call = { deadlineMs: parts.callDeadlineMs, jobKeys: [], isBackground: true };
  for (;;) {
    const state = await store.state();
    if (state.waitMs > 0)
      return waiting(`waits: ${state.reason ?? "the ledger cannot be called"}`, state.waitMs);
    const connected = await store.connection();
    if (connected === null) return over("no ledger is connected");
    if (connected.pausedMs > 0)
      return waiting(`paused: ${connected.pausedReason ?? "for now"}`, connected.pausedMs);
    const ledger = parts.openLedger(organisationId, connected.connection);
    const step = await readNext(parts, organisationId, { store, ledger, call });
    if (step === null) {
      await store.reissueLateRemovals();
      return atRest(state, counts);
    }
    counts.read += step.read;
    counts.changed += step.synced.changed;
    counts.skipped += step.skipped.length;
    await Promise.all(
      step.synced.credited.map((subscriptionId) =>
        parts.startAllocation({ organisationId, subscriptionId }),
      ),
    );
    if (step.failure !== null) return failed(store, state, step.failure, step.of);
    if (state.reason !== null) await store.reschedule(null);
    if (performance.now() >= endMs) return waiting(described(counts), 0);
  }
}

/**
 * What a step read last: notifications, a single one that failed before, or a page of the
 * incremental sync.
 */
type ReadKind = "notifications" | "lone_notification" | "page";

/** The result of a read, and its kind. */
type ReadStep = ReadResult & { readonly of: ReadKind };

/**
 * Reads notifications first, because a person may be viewing the document. Returns null if there is
 * nothing to read. Failing notifications do not stop an incremental sync that is due.
 */
async function readNext(
  parts: LedgerSyncDependencies,
  organisationId: string,
  reader: LedgerReader,
): Promise<ReadStep | null> {
  const notifications = await reader.store.claimNotifications();
  const of = notifications?.isAlone ? "lone_notification" : "notifications";
  const byNotifications =
    notifications === null
      ? null
      : ({ ...(await readNotifications(reader, notifications)), of } as const);
  if (notifications !== null && byNotifications !== null && byNotifications.skipped.length > 0) {
    const reasons = [...new Set(byNotifications.skipped.map(({ reason }) => reason))];
    const ids = byNotifications.skipped.map(({ ledgerId }) => ledgerId);
    parts.onSkipped(organisationId, { kind: notifications.kind, ids, reason: reasons.join("; ") });
  }
  if (
    byNotifications !== null &&
    (byNotifications.failure === null || isConnectionFailure(byNotifications.failure))
  )
    return byNotifications;
  const forgetsDrafts = reader.ledger.traits.removal === "forgets_drafts";
  const page = await reader.store.claimSyncPage(forgetsDrafts);
  if (page === null) return byNotifications;
  const byIncrementalSync = await readPage(parts, organisationId, reader, page);
  if (byNotifications === null) return byIncrementalSync;
  return {
    ...byIncrementalSync,
    ...countsOf([byNotifications, byIncrementalSync]),
    skipped: byNotifications.skipped,
  };
}

function countsOf(results: readonly ReadResult[]): Pick<ReadResult, "read" | "synced"> {
  return {
    read: results.reduce((sum, { read }) => sum + read, 0),
    synced: joinSyncResults(results.map(({ synced }) => synced)),
  };
}

async function readPage(
  parts: LedgerSyncDependencies,
  organisationId: string,
  { store, ledger, call }: LedgerReader,
  page: SyncPage,
): Promise<ReadStep> {
  const { kind, since, cursor, takenAt } = page;
  const answer = await ledger.listChanges(call, {
    kind,
    since,
    ...(cursor === null ? {} : { cursor }),
  });
  const none = {
    read: 0,
    synced: nothingSynced,
    skipped: [],
    failure: null,
    of: "page",
  } as const;
  if (answer.kind !== "ok") return { ...none, failure: answer };
  const { changes, unread, ...next } = answer.value;
  const ids = unread.filter((id) => id !== null);
  if (ids.length < unread.length) {
    const reason = `${unread.length - ids.length} of a page cannot be read and have no id`;
    parts.onSkipped(organisationId, { kind, ids: [], reason });
  }
  // Merged contacts are read by their notifications, together with the contacts that replaced them.
  // Notifications of unknown contacts are dropped.
  const merged = kind === "contacts" ? (changes as readonly LedgerContact[]).filter(isMerged) : [];
  const others = changes.filter(({ id }) => !merged.some((contact) => contact.id === id));
  const synced = await syncObserved(store, kind, others, takenAt);
  await store.saveNotifications(kind, [
    ...[...synced.again, ...synced.unfit, ...ids].map((ledgerId) => ({
      ledgerId,
      changedAt: null,
    })),
    ...merged.map(({ id, updatedAt }) => ({ ledgerId: id, changedAt: updatedAt })),
  ]);
  await store.endPage(page, { ...next, changed: synced.changed });
  return { ...none, read: changes.length, synced };
}

/**
 * Reschedules after a failure. A failed page of the incremental sync waits longer each time, and
 * failed notifications are retried singly. All other reads wait for a moment, or longer if all
 * fail. A single notification that failed again delays nothing else. A rate limit of the ledger
 * pauses all calls of the connection.
 */
async function failed(
  store: LedgerSyncTenant,
  { failures }: SyncState,
  failure: LedgerFailure,
  of: ReadKind,
): Promise<WorkBatch> {
  const pause = connectionPause([failure]);
  if (pause !== null) {
    await store.pause(pause.pauseMs, pause.reason);
    return waiting(`paused: ${pause.reason}`, pause.pauseMs);
  }
  const reason = reasonOf(failure);
  if (failure.kind === "rate_limited") {
    await store.reschedule({ delayMs: failure.retryAfterMs, reason, isFailure: false });
    return waiting(`waits: ${reason}`, failure.retryAfterMs);
  }
  const retryMs = retryDelayMs(failures + 1);
  const delayMs = Math.min(retryMs, maxPauseOfAllMs);
  await store.reschedule({
    delayMs: of === "lone_notification" ? 0 : delayMs,
    reason,
    isFailure: true,
    pageMs: of === "page" ? retryMs : undefined,
  });
  return waiting(`waits: ${reason}`, delayMs);
}

function atRest({ nextInMs }: SyncState, counts: Counts): WorkBatch {
  const detail = described(counts);
  return nextInMs === null ? over(detail) : waiting(`${detail}; the rest is read later`, nextInMs);
}

function described({ read, changed, skipped }: Counts): string {
  const text = `read ${read} objects in the ledger, ${changed} changed here`;
  return skipped === 0 ? text : `${text}, ${skipped} cannot be synced`;
}

function over(detail: string): WorkBatch {
  return { state: "done", outcome: "done", detail, nextInMs: null };
}

function waiting(detail: string, nextInMs: number): WorkBatch {
  return { state: "waiting", outcome: null, detail, nextInMs };
}
