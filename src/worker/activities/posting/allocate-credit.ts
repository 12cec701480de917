/**
 * The activity of a subscription's credit workflow. Each step takes a planned allocation, applies
 * it to its invoice in the ledger and saves the outcome, until none is left. DOCUMENT-4, LEDGER-2.
 */
import type { CreditAllocationInput, WorkBatch } from "../../../../workflows/contract.ts";
import { crashPoint } from "../../../crash-points.ts";
import { formatShort, parseDecimal } from "../../../domain/money/decimal.ts";
import type { AllocationStore, OpenAllocations } from "../../../store/ledger-jobs/allocations.ts";
import { connectionPause, observedLedger } from "./ledger-call.ts";
import { type PostingDependencies, unconnectedPauseMs } from "./post-group.ts";
import { requestAllocation } from "./request-allocation.ts";

/** The dependencies of a batch. */
interface CreditAllocationParts extends Pick<PostingDependencies, "openLedger" | "callDeadlineMs"> {
  readonly openStore: OpenAllocations;
}

/**
 * The lease of an allocation, in call deadlines. An attempt makes at most three calls: look up,
 * send, look up after a refusal. A sent call may still take effect for a while. A look-up by
 * number changes nothing.
 */
const leaseFactor = 4;

/**
 * How long a batch continues with further steps. It is shorter than the timeout of its workflow and
 * the grace of a stopping worker.
 */
const batchMs = 1_000;

/**
 * Creates the activities over these dependencies. Each batch reads the database again, so a retry
 * finds only what is left.
 */
export function createCreditAllocation(parts: CreditAllocationParts) {
  return { allocateBatch: (input: CreditAllocationInput) => allocateBatch(parts, input) };
}

/** The activities of the credit workflow. */
export type CreditAllocationActivities = ReturnType<typeof createCreditAllocation>;

async function allocateBatch(
  parts: CreditAllocationParts,
  input: CreditAllocationInput,
): Promise<WorkBatch> {
  const endMs = performance.now() + batchMs;
  let refused: "refused" | null = null;
  let detail = "no credit is left that an invoice could take";
  for (;;) {
    const step = await allocateNext(parts, input);
    if (step.kind === "waiting") {
      return { state: "waiting", outcome: refused, detail: step.detail, nextInMs: step.nextInMs };
    }
    if (step.kind === "nothing")
      return { state: "done", outcome: refused ?? "done", detail, nextInMs: null };
    if (step.kind === "over") {
      if (step.outcome === "refused") refused = step.outcome;
      detail = step.detail;
    }
    if (performance.now() >= endMs)
      return { state: "waiting", outcome: refused, detail, nextInMs: 0 };
  }
}

/** The outcome of one step. `moved`: the next step can follow at once. */
type Step =
  | { readonly kind: "nothing" }
  | { readonly kind: "moved" }
  | { readonly kind: "over"; readonly outcome: "done" | "refused"; readonly detail: string }
  | { readonly kind: "waiting"; readonly detail: string; readonly nextInMs: number };

async function allocateNext(
  parts: CreditAllocationParts,
  { organisationId, subscriptionId }: CreditAllocationInput,
): Promise<Step> {
  const store = parts.openStore(organisationId);
  const waitMs = await store.nextInMs(subscriptionId);
  if (waitMs === null) return { kind: (await store.plan(subscriptionId)) ? "moved" : "nothing" };
  if (waitMs > 0)
    return { kind: "waiting", detail: "the next attempt is not due yet", nextInMs: waitMs };
  const state = await store.connection();
  if (state === null || state.pausedMs > 0) {
    const reason = state?.pausedReason ?? "no ledger is connected";
    return reschedule(store, subscriptionId, state?.pausedMs ?? unconnectedPauseMs, reason);
  }
  const job = await store.take(subscriptionId, leaseFactor * parts.callDeadlineMs);
  if (job === null) return { kind: "moved" };
  crashPoint("allocation_taken");
  const { ledger, answerOf } = observedLedger(parts.openLedger(organisationId, state.connection));
  const { result, failure } = await requestAllocation(ledger, job, parts.callDeadlineMs);
  crashPoint("allocation_answered");
  await store.record(subscriptionId, { ...result, outcome: answerOf(result.outcome) });
  crashPoint("allocation_saved");
  const amount = formatShort(parseDecimal(job.amount));
  const what = `${amount} of ${job.noteNumber} on ${job.invoiceNumber}`;
  const { outcome } = result;
  if (outcome.kind === "done") return { kind: "over", outcome: "done", detail: `put ${what}` };
  if (outcome.kind === "refused") {
    return {
      kind: "over",
      outcome: "refused",
      detail: `putting ${what} was refused: ${outcome.reason}`,
    };
  }
  const pause = failure === null ? null : connectionPause([failure]);
  if (pause !== null) {
    await store.pause(pause.pauseMs, pause.reason);
    return reschedule(store, subscriptionId, pause.pauseMs, pause.reason);
  }
  if (outcome.delayMs === 0) return { kind: "moved" };
  const detail = `putting ${what}, attempt ${job.attempts}: ${outcome.reason}`;
  return { kind: "waiting", detail, nextInMs: outcome.delayMs };
}

/**
 * Waits while the connection is paused. Ready work is rescheduled. Uncertain work waits as long,
 * because a look-up is a call as well.
 */
async function reschedule(
  store: AllocationStore,
  subscriptionId: string,
  pauseMs: number,
  reason: string,
): Promise<Step> {
  await store.reschedule(subscriptionId, pauseMs, reason);
  const waitMs = await store.nextInMs(subscriptionId);
  if (waitMs === null) return { kind: "moved" };
  return { kind: "waiting", detail: `paused: ${reason}`, nextInMs: Math.max(waitMs, pauseMs) };
}
