/**
 * One batch of an end: its removals one after the other, each performed in the ledger and saved,
 * then the end itself. Forward only: a refusal stops it, and removed invoices stay removed (END-4).
 */
import type { EndSubscriptionInput, WorkBatch } from "../../../../workflows/contract.ts";
import { crashPoint } from "../../../crash-points.ts";
import type { LedgerFailure } from "../../../ledger/port/ledger.ts";
import type {
  LeasedRemoval,
  LeftBecause,
  ReportedInvoice,
} from "../../../store/subscriptions/end-lease.ts";
import type {
  OpenTerminations,
  TerminationStore,
  TerminationTask,
} from "../../../store/subscriptions/end-removals.ts";
import { connectionPause } from "../posting/ledger-call.ts";
import { type PostingDependencies, unconnectedPauseMs } from "../posting/post-group.ts";
import { type RemovalRequest, requestRemoval } from "../posting/request-removal.ts";

/** The dependencies of a batch. */
interface EndSubscriptionDependencies
  extends Pick<PostingDependencies, "openLedger" | "callDeadlineMs"> {
  readonly openScope: OpenTerminations;
  /** Wakes the organisation's ledger workflow if an end leaves an invoice to be posted. */
  readonly wake: (organisationId: string) => Promise<boolean>;
}

/**
 * The lease of a termination, in call deadlines. A removal makes at most two calls, and then its
 * outcome is saved.
 */
const leaseFactor = 3;

/**
 * How long a batch continues with further removals. It is shorter than the timeout of its workflow
 * and the grace of a stopping worker.
 */
const batchMs = 1_000;

/**
 * The first pause after a failed attempt. Each next pause is as long as the time tried so far, so
 * the pauses double.
 */
const firstDelayMs = 1_000;

/**
 * The longest pause between two attempts. A ledger that recovers is noticed within five minutes.
 */
const maxDelayMs = 5 * 60_000;

/**
 * The pause before the first check whether an invoice in progress has reached the ledger. Most
 * arrive within milliseconds.
 */
const firstCheckMs = 250;

/** The longest pause between two checks. They cost no call to the ledger. */
const maxCheckPauseMs = 30_000;

/**
 * Creates the activities over these dependencies. A retried batch finds what the first one left.
 */
export function createEndSubscriptionActivities(deps: EndSubscriptionDependencies) {
  return { endBatch: (input: EndSubscriptionInput) => endBatch(deps, input) };
}

/** The activities of the end's workflow. */
export type EndSubscriptionActivities = ReturnType<typeof createEndSubscriptionActivities>;

async function endBatch(
  deps: EndSubscriptionDependencies,
  { organisationId, terminationId }: EndSubscriptionInput,
): Promise<WorkBatch> {
  const store = deps.openScope(organisationId);
  const endMs = performance.now() + batchMs;
  for (;;) {
    const task = await store.take(terminationId, leaseFactor * deps.callDeadlineMs);
    const isMoved = task !== null && (await perform(deps, organisationId, store, task));
    if (!isMoved || performance.now() >= endMs) return describeBatch(store, terminationId);
  }
}

/** Returns true if the next step can follow at once. */
async function perform(
  deps: EndSubscriptionDependencies,
  organisationId: string,
  store: TerminationStore,
  task: TerminationTask,
): Promise<boolean> {
  switch (task.kind) {
    case "remove":
      crashPoint("removal_taken");
      return remove(deps, organisationId, store, task);
    case "drop":
      return (
        (await wakeIfIssued(deps, organisationId, await store.drop(task))) ||
        checkLater(store, task)
      );
    case "wait":
      return checkLater(store, task);
    case "finish": {
      const finished = await store.finish(task, task.when);
      crashPoint("end_finished");
      if (finished?.issued) await deps.wake(organisationId);
      return false;
    }
  }
}

async function remove(
  deps: EndSubscriptionDependencies,
  organisationId: string,
  store: TerminationStore,
  task: RemovalRequest,
): Promise<boolean> {
  const connected = await store.connection();
  if (connected === null || connected.pausedMs > 0) {
    const reason = connected?.pausedReason ?? "no ledger is connected";
    const pauseMs = connected?.pausedMs ?? unconnectedPauseMs;
    await store.release(task, pauseMs, reason, task.triedMs === 0);
    return false;
  }
  const ledger = deps.openLedger(organisationId, connected.connection);
  const answer = await requestRemoval(ledger, task, deps.callDeadlineMs);
  crashPoint("removal_answered");
  switch (answer.kind) {
    case "removed":
      await wakeIfIssued(deps, organisationId, await store.removed(task, answer.removed));
      crashPoint("removal_saved");
      return true;
    case "kept":
      return leave(store, task, "approved_or_sent", answer.invoice);
    case "refused": {
      const { reason, invoice } = answer.refused;
      if (reason === "has_payment_or_credit" && invoice !== null && !task.isAhead) {
        return leave(store, task, reason, invoice);
      }
      const refused = await store.refuse(task, answer.refused);
      crashPoint("removal_saved");
      if (refused?.issued) await deps.wake(organisationId);
      return false;
    }
    case "again": {
      const pause = answer.failure === null ? null : connectionPause([answer.failure]);
      if (pause !== null) await store.pause(pause.pauseMs, pause.reason);
      await store.release(task, pause?.pauseMs ?? retryMs(task, answer.failure), answer.reason);
      return false;
    }
  }
}

/**
 * Wakes the ledger workflow for the document that reverses the next period. Returns whether the
 * removal was saved.
 */
async function wakeIfIssued(
  { wake }: EndSubscriptionDependencies,
  organisationId: string,
  saved: { readonly issued: boolean } | null,
): Promise<boolean> {
  if (saved?.issued) await wake(organisationId);
  return saved !== null;
}

/**
 * Leaves an invoice that is paid. Also leaves one that was to be removed as never sent and is
 * approved or sent by now (END-5).
 */
async function leave(
  store: TerminationStore,
  task: LeasedRemoval,
  because: LeftBecause,
  invoice: ReportedInvoice,
): Promise<true> {
  await store.leave(task, because, invoice);
  crashPoint("removal_saved");
  return true;
}

/** If the call budget of the service is spent, the pause lasts until it allows a call. */
function retryMs({ triedMs }: LeasedRemoval, failure: LedgerFailure | null): number {
  if (failure?.kind === "rate_limited") return failure.retryAfterMs;
  return Math.min(maxDelayMs, Math.max(firstDelayMs, triedMs));
}

/** Releases the removal until other work on the invoice, which comes first, is done. */
async function checkLater(store: TerminationStore, task: LeasedRemoval): Promise<false> {
  const delayMs = Math.min(maxCheckPauseMs, Math.max(firstCheckMs, task.triedMs));
  await store.release(task, delayMs, "the invoice is on its way to the ledger");
  return false;
}

/**
 * Returns the batch's result as the database has it now, also if another worker was faster. It has
 * reasons only, because messages may hold names.
 */
async function describeBatch(store: TerminationStore, terminationId: string): Promise<WorkBatch> {
  const state = await store.read(terminationId);
  if (state === null)
    return { state: "done", outcome: "unknown", detail: "there is no such end", nextInMs: null };
  const { outcome, reason, nextInMs, current, removals, removed, left } = state;
  const why = reason === null ? "" : `: ${reason}`;
  if (outcome !== null) {
    const at = current === null ? "" : ` at ${current}`;
    return {
      state: "done",
      outcome,
      detail: `${outcome}${at}, ${removed} of ${removals} removed${why}`,
      nextInMs: null,
    };
  }
  const detail =
    current === null
      ? `ending, ${removed} of ${removals} removed${why}`
      : `removing ${current}, ${removed + left + 1} of ${removals}${why}`;
  return { state: "waiting", outcome, detail, nextInMs };
}
