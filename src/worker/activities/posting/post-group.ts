/**
 * One group of a posting batch: takes waiting jobs of every kind, calls the ledger and saves each
 * outcome. POSTING-3.
 */
import type { CreditAllocationInput, PostingBatch } from "../../../../workflows/contract.ts";
import { crashPoint } from "../../../crash-points.ts";
import { invalidationsOf } from "../../../domain/ledger/validation.ts";
import type { Ledger } from "../../../ledger/port/ledger.ts";
import type { LedgerConnection } from "../../../store/ledger-connection/connections.ts";
import type { PostingOutcome } from "../../../store/ledger-jobs/document-outcomes.ts";
import type { OpenPosting, PostingStore } from "../../../store/ledger-jobs/posting-store.ts";
import { postCreditNotes, postInvoices } from "./document-kinds.ts";
import { type GroupOutcome, joinOutcomes } from "./grouped-calls.ts";
import { connectionPause, spentBudgetMs } from "./ledger-call.ts";
import { postContacts } from "./post-contacts.ts";

/**
 * The dependencies of a batch. `openLedger` returns the adapter of a connection, which is reused
 * from batch to batch.
 */
export interface PostingDependencies {
  readonly openStore: OpenPosting;
  readonly openLedger: (organisationId: string, connection: LedgerConnection) => Ledger;
  /** How long one call to the ledger may take. */
  readonly callDeadlineMs: number;
  readonly publicUrl: string | null;
  /**
   * Starts the workflow that allocates a subscription's credit. Without it the dispatcher does.
   * Never rejects.
   */
  readonly startAllocation?: (input: CreditAllocationInput) => Promise<unknown>;
}

/**
 * The lease of a taken job, in call deadlines. A batch makes at most two calls for it (send, then
 * look up a taken number), and then its outcome is saved.
 */
const leaseFactor = 3;

/** The pause of an organisation without a connection. An operator must connect one. */
export const unconnectedPauseMs = 5 * 60_000;

/**
 * What a batch learns of its group. `onPermit` is called for each request that is being sent,
 * `onReading` before it is read what waits after the group.
 */
interface GroupObserver {
  readonly onPermit: () => void;
  readonly onReading: () => void;
}

/** Takes waiting jobs, posts them and records the outcomes. */
export async function postGroup(
  parts: PostingDependencies,
  organisationId: string,
  { onPermit, onReading }: GroupObserver,
): Promise<PostingBatch> {
  const store = parts.openStore(organisationId);
  const state = await store.connection();
  if (state === null || state.pausedMs > 0) {
    return reschedule(
      store,
      state?.pausedMs ?? unconnectedPauseMs,
      state?.pausedReason ?? "no ledger is connected",
    );
  }
  const ledger = parts.openLedger(organisationId, state.connection);
  const { contacts, invoices, creditNotes, referenceData } = await claimAll(
    store,
    leaseFactor * parts.callDeadlineMs,
  );
  const settings = {
    deadlineMs: parts.callDeadlineMs,
    publicUrl: parts.publicUrl,
    traits: ledger.traits,
    referenceData,
    unknown: store.unknown,
    onPermit,
  };
  crashPoint("posting_taken");
  // Each kind is saved as soon as it is answered, and neither waits for the other.
  const save = async (group: GroupOutcome): Promise<GroupOutcome> => {
    crashPoint("posting_answered");
    // The pause is saved before the outcome, so that no other worker calls the ledger in between.
    const required = connectionPause(group.failures);
    if (required !== null) await store.pause(required.pauseMs, required.reason);
    const credited = await store.record(group.outcomes);
    crashPoint("posting_saved");
    await invalidateRefusedData(store, group.outcomes);
    const { startAllocation } = parts;
    if (startAllocation !== undefined) {
      await Promise.all(
        credited.map((subscriptionId) => startAllocation({ organisationId, subscriptionId })),
      );
    }
    return group;
  };
  const { outcomes, failures } = joinOutcomes(
    await Promise.all([
      postContacts(ledger, contacts, settings, store.findImported).then(save),
      postInvoices(ledger, invoices, settings).then(save),
      postCreditNotes(ledger, creditNotes, settings).then(save),
    ]),
  );
  const done = outcomes.filter(({ kind }) => kind.endsWith("_done"));
  const rejected = outcomes.filter(({ kind }) => kind === "refused");
  const numberOf = new Map(
    [invoices, creditNotes]
      .flatMap(({ ready, uncertain }) => [...ready, ...uncertain])
      .map(({ id, number }) => [id, number]),
  );
  const numbersOf = (jobs: readonly PostingOutcome[]) =>
    jobs.flatMap(({ jobId }) => numberOf.get(jobId) ?? []);
  const numbers = { posted: numbersOf(done), refused: numbersOf(rejected) };
  const [posted, refused] = [done.length, rejected.length];
  const pause = connectionPause(failures);
  if (pause === null) {
    onReading();
    const { waiting, nextInMs } = await store.waiting();
    // If the budget allowed no call, it allows none for the other ready jobs either. The next batch
    // waits until it does.
    const spentMs = posted + refused > 0 ? 0 : spentBudgetMs(failures);
    return {
      posted,
      refused,
      numbers,
      waiting,
      nextInMs: nextInMs === null ? null : Math.max(nextInMs, spentMs),
      paused: spentMs > 0 ? "our calls to the ledger are used up" : null,
    };
  }
  return { ...(await reschedule(store, pause.pauseMs, pause.reason)), posted, refused, numbers };
}

/** Claims the jobs of each kind, with the data that they are validated by. */
async function claimAll(store: PostingStore, leaseMs: number) {
  const [contacts, invoices, creditNotes, referenceData] = await Promise.all([
    store.claimContacts(leaseMs),
    store.claimInvoices(leaseMs),
    store.claimCreditNotes(leaseMs),
    store.referenceData(),
  ]);
  return { contacts, invoices, creditNotes, referenceData };
}

/**
 * Invalidates the cached reference data if the ledger rejected a document because of it, or if we
 * rejected one using data that may be stale. POSTING-5.
 */
async function invalidateRefusedData(
  store: PostingStore,
  outcomes: readonly PostingOutcome[],
): Promise<void> {
  const refused = outcomes.filter((outcome) => outcome.kind === "refused");
  const contradicted = refused.flatMap(({ evaluatedBy, reason }) =>
    evaluatedBy === undefined ? invalidationsOf(reason) : [],
  );
  const evaluatedBy = refused.flatMap(({ evaluatedBy: by }) => by ?? []);
  await store.invalidate([...new Set(contradicted)], "contradicted");
  await store.invalidate([...new Set(evaluatedBy)], "refused_by");
}

/**
 * Waits while the connection is paused. Ready work is rescheduled. Uncertain work waits as long,
 * because a look-up is a call as well.
 */
async function reschedule(
  store: PostingStore,
  pauseMs: number,
  reason: string,
): Promise<PostingBatch> {
  await store.reschedule(pauseMs, reason);
  const { waiting, nextInMs } = await store.waiting();
  return {
    posted: 0,
    refused: 0,
    waiting,
    nextInMs: nextInMs === null ? null : Math.max(nextInMs, pauseMs),
    paused: reason,
  };
}
