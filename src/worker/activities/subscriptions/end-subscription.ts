/**
 * One batch of an end: its removals one after the other, each performed in the ledger and saved,
 * then the end itself. Forward only: a refusal stops it, and removed invoices stay removed (END-4).
 */
import type { EndSubscriptionInput, WorkBatch } from "../../../../workflows/contract.ts";
import { crashPoint } from "../../../crash-points.ts";
import type { LedgerFailure } from "../../../ledger/port/ledger.ts";
import type {
  HeldRemoval,
  LeftBecause,
  ReportedInvoice,
} from "../../../store/subscriptions/end-lease.ts";
import type {
  OpenTerminations,
  TerminationStore,
  TerminationTask,
} from "../../../store/subscriptions/end-removals.ts";
import { connectionPause } from "../posting/ledger-call.ts";
import { type PostingDependencies, unconnectedPauseMs } from "../posting/posting.ts";
import { type RemovalRequest, requestRemoval } from "../posting/request-removal.ts";

/** The dependencies of a batch. */
export interface EndSubscriptionDependencies
  extends Pick<PostingDependencies, "openLedger" | "callDeadlineMs"> {
  readonly openScope: OpenTerminations;
  /** Wakes the organisation's ledger workflow if an end leaves an invoice to be posted. */
  readonly wake: (organisationId: string) => Promise<boolean>;
}

/** The activities of the end's workflow. */
export interface EndSubscriptionActivities {
  endBatch(input: EndSubscriptionInput): Promise<WorkBatch>;
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
const longestDelayMs = 5 * 60_000;

/**
 * The pause before the first check whether an invoice in progress has reached the ledger. Most
 * arrive within milliseconds.
 */
const firstLookMs = 250;

/** The longest pause between two checks. They cost no call to the ledger. */
const longestLookMs = 30_000;

/**
 * Creates the activities over these dependencies. A retried batch finds what the first one left.
 */
export function createEndSubscriptionActivities(
  parts: EndSubscriptionDependencies,
): EndSubscriptionActivities {
  return { endBatch: (input) => endBatch(parts, input) };
}

async function endBatch(
  parts: EndSubscriptionDependencies,
  { organisationId, terminationId }: EndSubscriptionInput,
): Promise<WorkBatch> {
  const scope = parts.openScope(organisationId);
  const endMs = performance.now() + batchMs;
  for (;;) {
    const task = await scope.take(terminationId, leaseFactor * parts.callDeadlineMs);
    const isMoved = task !== null && (await perform(parts, organisationId, scope, task));
    if (!isMoved || performance.now() >= endMs) return describeBatch(scope, terminationId);
  }
}

/** Returns true if the next step can follow at once. */
async function perform(
  parts: EndSubscriptionDependencies,
  organisationId: string,
  scope: TerminationStore,
  task: TerminationTask,
): Promise<boolean> {
  switch (task.kind) {
    case "remove":
      crashPoint("removal_taken");
      return remove(parts, organisationId, scope, task);
    case "drop":
      return (
        (await wakeIfRaised(parts, organisationId, await scope.drop(task))) ||
        lookLater(scope, task)
      );
    case "wait":
      return lookLater(scope, task);
    case "finish": {
      const finished = await scope.finish(task, task.when);
      crashPoint("end_finished");
      if (finished?.issued) await parts.wake(organisationId);
      return false;
    }
  }
}

async function remove(
  parts: EndSubscriptionDependencies,
  organisationId: string,
  scope: TerminationStore,
  task: RemovalRequest,
): Promise<boolean> {
  const connected = await scope.connection();
  if (connected === null || connected.pausedMs > 0) {
    const reason = connected?.pausedReason ?? "no ledger is connected";
    await scope.release(task, connected?.pausedMs ?? unconnectedPauseMs, reason);
    return false;
  }
  const ledger = parts.openLedger(organisationId, connected.connection);
  const answer = await requestRemoval(ledger, task, parts.callDeadlineMs);
  crashPoint("removal_answered");
  switch (answer.kind) {
    case "removed":
      await wakeIfRaised(parts, organisationId, await scope.removed(task, answer.removed));
      crashPoint("removal_saved");
      return true;
    case "kept":
      return leave(scope, task, "approved_or_sent", answer.invoice);
    case "refused": {
      const { reason, invoice } = answer.refused;
      if (reason === "has_payment_or_credit" && invoice !== null && !task.isAhead) {
        return leave(scope, task, reason, invoice);
      }
      const refused = await scope.refuse(task, answer.refused);
      crashPoint("removal_saved");
      if (refused?.issued) await parts.wake(organisationId);
      return false;
    }
    case "again": {
      const pause = answer.failure === null ? null : connectionPause([answer.failure]);
      if (pause !== null) await scope.pause(pause.pauseMs, pause.reason);
      await scope.release(task, pause?.pauseMs ?? retryMs(task, answer.failure), answer.reason);
      return false;
    }
  }
}

/**
 * Wakes the ledger workflow for the document that reverses the next period. Returns whether the
 * removal was saved.
 */
async function wakeIfRaised(
  { wake }: EndSubscriptionDependencies,
  organisationId: string,
  saved: { readonly issued: boolean } | null,
): Promise<boolean> {
  if (saved?.issued) await wake(organisationId);
  return saved !== null;
}

/**
 * Leaves an invoice that is paid, or that was to be removed as never sent and is approved or sent
 * by now (END-5).
 */
async function leave(
  scope: TerminationStore,
  task: HeldRemoval,
  because: LeftBecause,
  invoice: ReportedInvoice,
): Promise<true> {
  await scope.leave(task, because, invoice);
  crashPoint("removal_saved");
  return true;
}

/** If the call budget of the service is spent, the pause lasts until it allows a call. */
function retryMs({ triedMs }: HeldRemoval, failure: LedgerFailure | null): number {
  if (failure?.kind === "rate_limited") return failure.retryAfterMs;
  return Math.min(longestDelayMs, Math.max(firstDelayMs, triedMs));
}

/** Waits for other work on the invoice, which comes first. */
async function lookLater(scope: TerminationStore, task: HeldRemoval): Promise<false> {
  const delayMs = Math.min(longestLookMs, Math.max(firstLookMs, task.triedMs));
  await scope.release(task, delayMs, "the invoice is on its way to the ledger");
  return false;
}

/**
 * Returns the batch's result as the database has it now, also if another worker was faster. It has
 * reasons only, because messages may hold names.
 */
async function describeBatch(scope: TerminationStore, terminationId: string): Promise<WorkBatch> {
  const state = await scope.look(terminationId);
  if (state === null)
    return { state: "settled", outcome: "unknown", detail: "there is no such end", nextInMs: null };
  const { outcome, reason, nextInMs, current, removals, removed, left } = state;
  const why = reason === null ? "" : `: ${reason}`;
  if (outcome !== null) {
    const at = current === null ? "" : ` at ${current}`;
    return {
      state: "settled",
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
