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
} from "../../../store/ledger-jobs/allocations/allocation-outcomes.ts";
import type {
  AllocationStore,
  OpenAllocations,
} from "../../../store/ledger-jobs/allocations/allocation-store.ts";
import type { AllocationToSend } from "../../../store/ledger-jobs/allocations/claim-allocations.ts";
import type { UndoneOutcome } from "../../../store/ledger-jobs/document-outcomes.ts";
import {
  connectionPause,
  failedLookupOutcome,
  failureOutcome,
  held,
  refusalOutcome,
  retryDelayMs,
} from "./ledger-call.ts";
import { type PostingDependencies, unconnectedPauseMs } from "./post-group.ts";

/** The dependencies of a batch. */
interface CreditAllocationParts extends Pick<PostingDependencies, "openLedger" | "callDeadlineMs"> {
  readonly openStore: OpenAllocations;
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
  const ledger = parts.openLedger(organisationId, state.connection);
  const { result, failure } = await attempt(ledger, job, parts.callDeadlineMs);
  crashPoint("allocation_answered");
  await store.record(subscriptionId, result);
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

/** The outcome of an attempt. `failure` is that of a whole call, which may pause the connection. */
interface Attempted {
  readonly result: AllocationResult;
  readonly failure: LedgerFailure | null;
}

/**
 * Sends a first attempt at once. If the amount may have been sent before, the ledger is read first.
 * After a refusal it is read again: the invoice may have been paid or the credit used in the
 * meantime.
 */
async function attempt(
  ledger: Ledger,
  job: AllocationToSend,
  deadlineMs: number,
): Promise<Attempted> {
  if (job.isUncertain || job.attempts > 1) {
    const found = await readDocuments(ledger, job, deadlineMs);
    if (found.kind !== "ok") return undone(failedLookupOutcome(job, found), found);
    const decided = decide(job, found.note, found.invoice);
    if (decided !== null) return { result: decided, failure: null };
  }
  const answer = await ledger.allocateCredit(
    {
      deadlineMs,
      jobKeys: [job.id],
      variant: String(job.keyVariant),
      isBackground: true,
    },
    {
      creditNoteId: job.noteLedgerId,
      invoiceId: job.invoiceLedgerId,
      amount: job.amount,
      date: todayIn(job.timezone, job.now),
    },
  );
  if (answer.kind === "ok")
    return { result: done(job, { note: answer.value, invoice: null }), failure: null };
  if (answer.kind !== "refused" || answer.reason === "not_found") {
    return undone(failureOutcome(job, answer, deadlineMs, true), answer);
  }
  const found = await readDocuments(ledger, job, deadlineMs);
  if (found.kind !== "ok") {
    const delayMs = retryDelayMs(job.attempts);
    const reason = `refused, and not read since: ${answer.reason}`;
    const again = {
      ...held(job),
      kind: "again",
      delayMs,
      countsAsAttempt: true,
      reason,
    } as const;
    return undone({ ...again, isRemembered: true }, found);
  }
  const { note, invoice } = found;
  const refused = {
    outcome: refusalOutcome(job, answer),
    amount: null,
    observed: { note, invoice },
  };
  return { result: decide(job, note, invoice) ?? refused, failure: null };
}

type ObservedDocuments =
  | { readonly kind: "ok"; readonly note: LedgerCreditNote; readonly invoice: LedgerInvoice }
  | LedgerFailure;

/**
 * Returns the note and the invoice as the ledger has them now. `not_found` is a failed look-up: a
 * ledger keeps removed documents, so it only says something about the address.
 */
async function readDocuments(
  ledger: Ledger,
  job: AllocationToSend,
  deadlineMs: number,
): Promise<ObservedDocuments> {
  const call = { deadlineMs, jobKeys: [], isBackground: true };
  const [note, invoice] = await Promise.all([
    ledger.getCreditNote(call, job.noteLedgerId),
    ledger.getInvoice(call, job.invoiceLedgerId),
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
  job: AllocationToSend,
  note: LedgerCreditNote,
  invoice: LedgerInvoice,
): AllocationResult | null {
  const observed: ObservedCreditState = { note, invoice };
  const amount = parseDecimal(job.amount);
  const own = note.allocations.filter(({ invoiceId }) => invoiceId === job.invoiceLedgerId);
  const applied = sum(own.map((one) => parseDecimal(one.amount)));
  if (compare(subtract(applied, parseDecimal(job.applied)), amount) >= 0)
    return done(job, observed);
  const left = note.status === "approved" ? parseDecimal(note.remainingCredit) : ZERO;
  const due = invoice.status === "approved" ? parseDecimal(invoice.amountDue) : ZERO;
  const possible = minimum(amount, minimum(left, due));
  if (compare(possible, ZERO) <= 0)
    return {
      outcome: { ...held(job), kind: "refused", ...nothingLeft },
      amount: null,
      observed,
    };
  if (compare(possible, amount) === 0) return null;
  const reason = `only ${formatShort(possible)} can be put there`;
  const outcome = {
    ...held(job),
    kind: "again",
    delayMs: 0,
    countsAsAttempt: true,
    reason,
  } as const;
  return { outcome, amount: formatDecimal(possible), observed };
}

const nothingLeft = {
  reason: "amount_exceeds",
  message: "Nothing is left of the credit note, or nothing is due on the invoice.",
} as const;

function done(job: AllocationToSend, observed: ObservedCreditState): AllocationResult {
  return { outcome: { ...held(job), kind: "done" }, amount: null, observed };
}

function undone(outcome: UndoneOutcome, failure: LedgerFailure): Attempted {
  return { result: { outcome, amount: null, observed: null }, failure };
}
