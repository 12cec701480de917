/**
 * The activity of a subscription's credit workflow. Each step takes a planned allocation, applies
 * it to its invoice in the ledger and saves the outcome, until none is left. DOCUMENT-4, LEDGER-2.
 */
import type { CreditAllocationInput, WorkBatch } from "../../../../workflows/contract.ts";
import { crashPoint } from "../../../crash-points.ts";
import { todayIn } from "../../../domain/calendar/civil-date.ts";
import {
  compare,
  formatDecimal,
  formatShort,
  minimum,
  parseDecimal,
  subtract,
  sum,
  ZERO,
} from "../../../domain/money/decimal.ts";
import type {
  Ledger,
  LedgerCreditNote,
  LedgerFailure,
  LedgerInvoice,
} from "../../../ledger/port/ledger.ts";
import type {
  AllocationResult,
  ObservedCreditState,
} from "../../../store/ledger-jobs/allocation-outcomes.ts";
import type {
  AllocationScope,
  OpenAllocating,
} from "../../../store/ledger-jobs/allocation-store.ts";
import type { AllocationToSend } from "../../../store/ledger-jobs/credit-allocations.ts";
import type { UndoneOutcome } from "../../../store/ledger-jobs/document-outcomes.ts";
import {
  connectionPause,
  failedLookupOutcome,
  failureOutcome,
  held,
  refusalOutcome,
  retryDelayMs,
} from "./ledger-call.ts";
import { type PostingDependencies, unconnectedPauseMs } from "./posting.ts";

/** The dependencies of a batch. */
export interface CreditAllocationParts
  extends Pick<PostingDependencies, "openLedger" | "callDeadlineMs"> {
  readonly openScope: OpenAllocating;
}

/** The activities of the credit workflow. */
export interface CreditAllocationActivities {
  allocateBatch(input: CreditAllocationInput): Promise<WorkBatch>;
}

/**
 * The lease of an allocation, in call deadlines. An attempt makes at most three calls: look up,
 * send, look up after a refusal. A sent call may still take effect for a while.
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
export function createCreditAllocation(parts: CreditAllocationParts): CreditAllocationActivities {
  return { allocateBatch: (input) => allocateBatch(parts, input) };
}

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
      return { state: "settled", outcome: refused ?? "done", detail, nextInMs: null };
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
  const scope = parts.openScope(organisationId);
  const waitMs = await scope.nextInMs(subscriptionId);
  if (waitMs === null) return { kind: (await scope.plan(subscriptionId)) ? "moved" : "nothing" };
  if (waitMs > 0)
    return { kind: "waiting", detail: "the next attempt is not due yet", nextInMs: waitMs };
  const state = await scope.connection();
  if (state === null || state.pausedMs > 0) {
    const reason = state?.pausedReason ?? "no ledger is connected";
    return reschedule(scope, subscriptionId, state?.pausedMs ?? unconnectedPauseMs, reason);
  }
  const operation = await scope.take(subscriptionId, leaseFactor * parts.callDeadlineMs);
  if (operation === null) return { kind: "moved" };
  crashPoint("allocation_taken");
  const ledger = parts.openLedger(organisationId, state.connection);
  const { settled, failure } = await attempt(ledger, operation, parts.callDeadlineMs);
  crashPoint("allocation_answered");
  await scope.settle(subscriptionId, settled);
  crashPoint("allocation_saved");
  const what = `${formatShort(parseDecimal(operation.amount))} of ${operation.noteNumber} on ${operation.invoiceNumber}`;
  const { settlement } = settled;
  if (settlement.kind === "done") return { kind: "over", outcome: "done", detail: `put ${what}` };
  if (settlement.kind === "refused") {
    return {
      kind: "over",
      outcome: "refused",
      detail: `putting ${what} was refused: ${settlement.reason}`,
    };
  }
  const pause = failure === null ? null : connectionPause([failure]);
  if (pause !== null) {
    await scope.pause(pause.pauseMs, pause.reason);
    return reschedule(scope, subscriptionId, pause.pauseMs, pause.reason);
  }
  if (settlement.delayMs === 0) return { kind: "moved" };
  const detail = `putting ${what}, attempt ${operation.attempts}: ${settlement.reason}`;
  return { kind: "waiting", detail, nextInMs: settlement.delayMs };
}

/**
 * Waits while the connection is paused. Ready work is rescheduled. Uncertain work waits as long,
 * because a look-up is a call as well.
 */
async function reschedule(
  scope: AllocationScope,
  subscriptionId: string,
  pauseMs: number,
  reason: string,
): Promise<Step> {
  await scope.reschedule(subscriptionId, pauseMs, reason);
  const waitMs = await scope.nextInMs(subscriptionId);
  if (waitMs === null) return { kind: "moved" };
  return { kind: "waiting", detail: `paused: ${reason}`, nextInMs: Math.max(waitMs, pauseMs) };
}

/** The outcome of an attempt. `failure` is that of a whole call, which may pause the connection. */
interface Attempted {
  readonly settled: AllocationResult;
  readonly failure: LedgerFailure | null;
}

/**
 * Sends a first attempt at once. If the amount may have been sent before, the ledger is read first.
 * After a refusal it is read again: the invoice may have been paid or the credit used in the
 * meantime.
 */
async function attempt(
  ledger: Ledger,
  operation: AllocationToSend,
  deadlineMs: number,
): Promise<Attempted> {
  if (operation.isUncertain || operation.attempts > 1) {
    const looked = await lookAt(ledger, operation, deadlineMs);
    if (looked.kind !== "ok") return undone(failedLookupOutcome(operation, looked), looked);
    const decided = decide(operation, looked.note, looked.invoice);
    if (decided !== null) return { settled: decided, failure: null };
  }
  const answer = await ledger.allocateCredit(
    {
      deadlineMs,
      jobKeys: [operation.id],
      variant: String(operation.keyVariant),
      isBackground: true,
    },
    {
      creditNoteId: operation.noteLedgerId,
      invoiceId: operation.invoiceLedgerId,
      amount: operation.amount,
      date: todayIn(operation.timezone, operation.now),
    },
  );
  if (answer.kind === "ok")
    return { settled: done(operation, { note: answer.value, invoice: null }), failure: null };
  if (answer.kind !== "refused" || answer.reason === "not_found") {
    return undone(failureOutcome(operation, answer, deadlineMs, true), answer);
  }
  const looked = await lookAt(ledger, operation, deadlineMs);
  if (looked.kind !== "ok") {
    const delayMs = retryDelayMs(operation.attempts);
    const reason = `refused, and not looked at since: ${answer.reason}`;
    const again = {
      ...held(operation),
      kind: "again",
      delayMs,
      countsAsAttempt: true,
      reason,
    } as const;
    return undone({ ...again, isRemembered: true }, looked);
  }
  const { note, invoice } = looked;
  const refused = {
    settlement: refusalOutcome(operation, answer),
    amount: null,
    seen: { note, invoice },
  };
  return { settled: decide(operation, note, invoice) ?? refused, failure: null };
}

type Looked =
  | { readonly kind: "ok"; readonly note: LedgerCreditNote; readonly invoice: LedgerInvoice }
  | LedgerFailure;

/**
 * Returns the note and the invoice as the ledger has them now. `not_found` is a failed look-up: a
 * ledger keeps removed documents, so it only says something about the address.
 */
async function lookAt(
  ledger: Ledger,
  operation: AllocationToSend,
  deadlineMs: number,
): Promise<Looked> {
  const call = { deadlineMs, jobKeys: [], isBackground: true };
  const [note, invoice] = await Promise.all([
    ledger.getCreditNote(call, operation.noteLedgerId),
    ledger.getInvoice(call, operation.invoiceLedgerId),
  ]);
  if (note.kind !== "ok") return note;
  return invoice.kind === "ok" ? { kind: "ok", note: note.value, invoice: invoice.value } : invoice;
}

/**
 * Decides by the observed state. Done if the invoice has so much more of the note than is known
 * here, because our own request applied it. Refused if nothing more can be applied. Again, with
 * less, if only less can be applied. Null if the amount can be sent as it is.
 */
function decide(
  operation: AllocationToSend,
  note: LedgerCreditNote,
  invoice: LedgerInvoice,
): AllocationResult | null {
  const seen: ObservedCreditState = { note, invoice };
  const amount = parseDecimal(operation.amount);
  const own = note.allocations.filter(({ invoiceId }) => invoiceId === operation.invoiceLedgerId);
  const applied = sum(own.map((one) => parseDecimal(one.amount)));
  if (compare(subtract(applied, parseDecimal(operation.applied)), amount) >= 0)
    return done(operation, seen);
  const left = note.status === "approved" ? parseDecimal(note.remainingCredit) : ZERO;
  const due = invoice.status === "approved" ? parseDecimal(invoice.amountDue) : ZERO;
  const possible = minimum(amount, minimum(left, due));
  if (compare(possible, ZERO) <= 0)
    return {
      settlement: { ...held(operation), kind: "refused", ...nothingLeft },
      amount: null,
      seen,
    };
  if (compare(possible, amount) === 0) return null;
  const reason = `only ${formatShort(possible)} can be put there`;
  const settlement = {
    ...held(operation),
    kind: "again",
    delayMs: 0,
    countsAsAttempt: true,
    reason,
  } as const;
  return { settlement, amount: formatDecimal(possible), seen };
}

const nothingLeft = {
  reason: "amount_exceeds",
  message: "Nothing is left of the credit note, or nothing is due on the invoice.",
} as const;

function done(operation: AllocationToSend, seen: ObservedCreditState): AllocationResult {
  return { settlement: { ...held(operation), kind: "done" }, amount: null, seen };
}

function undone(settlement: UndoneOutcome, failure: LedgerFailure): Attempted {
  return { settled: { settlement, amount: null, seen: null }, failure };
}
