/**
 * Sends one allocation of held credit to the ledger and interprets the answer. DOCUMENT-4,
 * LEDGER-2.
 */
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
import { isMissing } from "../../../ledger/port/failures.ts";
import type {
  Ledger,
  LedgerCall,
  LedgerCreditNote,
  LedgerFailure,
  LedgerInvoice,
} from "../../../ledger/port/ledger.ts";
import type {
  AllocationResult,
  AllocationToSend,
  ObservedCreditState,
} from "../../../store/ledger-jobs/allocations.ts";
import type { UndoneOutcome } from "../../../store/ledger-jobs/document-outcomes.ts";
import {
  againOutcome,
  attemptOf,
  failedLookupOutcome,
  failureOutcome,
  refusalOutcome,
  retryDelayMs,
} from "./ledger-call.ts";

/** The outcome of an attempt. `failure` is that of a whole call, which may pause the connection. */
export interface Attempted {
  readonly result: AllocationResult;
  readonly failure: LedgerFailure | null;
}

/**
 * Sends a first attempt at once. If the amount may have been sent before, the ledger is read first.
 * After a refusal it is read again: the invoice may have been paid or the credit used in the
 * meantime. A refusal that can never end otherwise is final, so that the credit goes to later
 * invoices.
 */
export async function requestAllocation(
  ledger: Ledger,
  job: AllocationToSend,
  deadlineMs: number,
): Promise<Attempted> {
  if (job.isUncertain || job.attempts > 1) {
    const found = await readDocuments(ledger, job, deadlineMs);
    if (found.kind !== "ok") {
      const outcome = failedLookupOutcome(job, found);
      return isMissing(found)
        ? findLost(ledger, job, outcome, found, deadlineMs)
        : undone(outcome, found);
    }
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
      meaning: { contactId: job.contactId, currency: job.currency, lineAmounts: "exclusive" },
    },
  );
  if (answer.kind === "ok")
    return { result: done(job, { note: answer.value, invoice: null }), failure: null };
  if (answer.kind !== "refused" || answer.reason === "not_found") {
    const outcome = failureOutcome(job, answer, deadlineMs, true);
    return isMissing(answer)
      ? findLost(ledger, job, outcome, answer, deadlineMs)
      : undone(outcome, answer);
  }
  const found = await readDocuments(ledger, job, deadlineMs);
  if (found.kind !== "ok") {
    const reason = `refused, and not read since: ${answer.reason}`;
    const again = againOutcome(job, retryDelayMs(job.attempts), true, reason);
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

function readCall(deadlineMs: number): LedgerCall {
  return { deadlineMs, jobKeys: [], isBackground: true };
}

/**
 * Finds note and invoice by their numbers after an address was not found. Only if one is not found
 * that way either, the ledger has lost it, and the allocation ends. `undecided` is the outcome if
 * both are there.
 */
async function findLost(
  ledger: Ledger,
  job: AllocationToSend,
  undecided: UndoneOutcome,
  missing: LedgerFailure,
  deadlineMs: number,
): Promise<Attempted> {
  const call = readCall(deadlineMs);
  const [notes, invoices] = await Promise.all([
    ledger.findCreditNotes(call, { numbers: [job.noteNumber] }),
    ledger.findInvoices(call, { numbers: [job.invoiceNumber] }),
  ]);
  if (notes.kind !== "ok") return undone(undecided, notes);
  if (invoices.kind !== "ok") return undone(undecided, invoices);
  const lost = [
    ...(notes.value.some(({ id }) => id === job.noteLedgerId) ? [] : [job.noteNumber]),
    ...(invoices.value.some(({ id }) => id === job.invoiceLedgerId) ? [] : [job.invoiceNumber]),
  ];
  if (lost.length === 0) return undone(undecided, missing);
  const message = `The ledger does not have ${lost.join(" and ")} any more.`;
  const outcome = { ...attemptOf(job), kind: "refused", reason: "not_found", message } as const;
  return { result: { outcome, amount: null, observed: null }, failure: null };
}

/**
 * Returns the note and the invoice as the ledger has them now. `not_found` is a failed look-up: a
 * ledger keeps removed documents, so it only says something about the address.
 */
async function readDocuments(
  ledger: Ledger,
  job: AllocationToSend,
  deadlineMs: number,
): Promise<ObservedDocuments> {
  const call = readCall(deadlineMs);
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
  const matching = note.allocations.filter(({ invoiceId }) => invoiceId === job.invoiceLedgerId);
  const applied = sum(matching.map((one) => parseDecimal(one.amount)));
  if (compare(subtract(applied, parseDecimal(job.applied)), amount) >= 0)
    return done(job, observed);
  const left = note.status === "approved" ? parseDecimal(note.remainingCredit) : ZERO;
  const due = invoice.status === "approved" ? parseDecimal(invoice.amountDue) : ZERO;
  const possible = minimum(amount, minimum(left, due));
  if (compare(possible, ZERO) <= 0)
    return {
      outcome: { ...attemptOf(job), kind: "refused", ...nothingLeft },
      amount: null,
      observed,
    };
  if (compare(possible, amount) === 0) return null;
  const reason = `only ${formatShort(possible)} can be put there`;
  const outcome = againOutcome(job, 0, true, reason);
  return { outcome, amount: formatDecimal(possible), observed };
}

const nothingLeft = {
  reason: "amount_exceeds",
  message: "Nothing is left of the credit note, or nothing is due on the invoice.",
} as const;

function done(job: AllocationToSend, observed: ObservedCreditState): AllocationResult {
  return { outcome: { ...attemptOf(job), kind: "done" }, amount: null, observed };
}

function undone(outcome: UndoneOutcome, failure: LedgerFailure): Attempted {
  return { result: { outcome, amount: null, observed: null }, failure };
}
