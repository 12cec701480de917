/**
 * Sends one amendment to the ledger and interprets the answer. A ledger checks the invoice before
 * its lines, so it may refuse a repeat of an amendment that it has made. After such a refusal the
 * invoice is read once more.
 */
import type { DocumentRules } from "../../../domain/billing/document-rules.ts";
import {
  type LedgerReferenceData,
  unknownReferenceData,
  validateLines,
} from "../../../domain/ledger/validation.ts";
import type {
  Ledger,
  LedgerCall,
  LedgerFailure,
  LedgerInvoice,
  LedgerInvoiceStatus,
  LedgerLineChange,
  LedgerRefusalReason,
} from "../../../ledger/port/ledger.ts";
import type {
  AmendmentOutcome,
  SyncedInvoice,
} from "../../../store/ledger-jobs/amendments/amendment-outcomes.ts";
import type {
  AmendmentLine,
  AmendmentToSend,
} from "../../../store/ledger-jobs/amendments/amendments.ts";
import type { NamedLine } from "../../../store/ledger-jobs/document-outcomes.ts";
import { lineOf, matchLines } from "./document-lines.ts";
import { againOutcome, failureOutcome, retryDelayMs } from "./ledger-call.ts";

/** The outcome, and the failures of calls, which may pause the connection. */
interface AmendmentAnswer {
  readonly outcome: AmendmentOutcome;
  readonly failures: readonly LedgerFailure[];
}

/**
 * The line of a joined charge needs an invoice that is a draft (UNITS-10). Other changes are
 * possible until the invoice is paid.
 */
const joined: readonly LedgerInvoiceStatus[] = ["draft"];
const open: readonly LedgerInvoiceStatus[] = ["draft", "awaiting_approval", "approved"];

/** The statuses in which this change of an invoice is possible in its ledger. */
function allowedOf({ traits }: Ledger, joins: boolean): readonly LedgerInvoiceStatus[] {
  return joins || !traits.documents.canAmendApproved ? joined : open;
}

/**
 * After so many attempts a refusal is final, even if the invoice contradicts it or it may be
 * temporary.
 */
const believedAttempts = 3;

type Refusal = LedgerFailure & { readonly kind: "refused" };

/** Amends the invoice with at most two calls, each with `deadlineMs`. */
export async function requestAmendment(
  ledger: Ledger,
  amendment: AmendmentToSend,
  deadlineMs: number,
  referenceData: LedgerReferenceData,
): Promise<AmendmentAnswer> {
  const { id, lines, joins, contactId, currency } = amendment;
  const { documents: rules } = ledger.traits;
  const fault = faultOf(amendment, referenceData, rules);
  if (fault?.reason === "drift") {
    const refusal = { kind: "refused", reason: fault.reason, messages: [fault.message] } as const;
    return checkInvoice(ledger, amendment, refusal, deadlineMs);
  }
  if (fault !== null)
    return { outcome: { kind: "refused", ...fault, invoice: null }, failures: [] };
  const changed = changedLines(lines, rules);
  const answer = await ledger.amendInvoice(
    {
      deadlineMs,
      jobKeys: [id],
      variant: String(amendment.attempts),
      isBackground: !amendment.isAwaited,
    },
    {
      id: amendment.ledgerId,
      allowed: allowedOf(ledger, joins),
      meaning: { contactId, currency, lineAmounts: "exclusive" },
      changes: changed.map((line) => changeOf(line, rules)),
    },
  );
  if (answer.kind === "ok") {
    const { invoice, lineIds } = answer.value;
    const named = changed.flatMap((line, index): NamedLine[] => {
      const ledgerLineId = lineIds[index];
      return ledgerLineId === undefined ? [] : [{ id: line.id, ledgerLineId }];
    });
    if (named.length < changed.length) throw new Error("the ledger's adapter left out a line");
    return { outcome: { kind: "done", invoice: syncOf(invoice), lines: named }, failures: [] };
  }
  if (answer.kind !== "refused") return undone(amendment, answer, deadlineMs);
  switch (answer.reason) {
    case "wrong_status":
    case "has_payment_or_credit":
    case "drift":
      return checkInvoice(ledger, amendment, answer, deadlineMs);
    case "not_found":
      return findLostInvoice(ledger, amendment, answer, deadlineMs);
    case "stale":
      if (amendment.attempts >= believedAttempts) break;
      return { outcome: again(amendment, "changed in the ledger meanwhile"), failures: [] };
  }
  return { outcome: refused(answer, null), failures: [] };
}

/**
 * Returns a fault that can be found without a call, or null if the ledger must decide. An amendment
 * that was sent before may be in the ledger already, and current reference data says nothing about
 * it. A plan line is never added: sent without its id it would be there twice (`drift`).
 */
export function faultOf(
  { lines, number, attempts, skipValidation }: AmendmentToSend,
  referenceData: LedgerReferenceData,
  rules: DocumentRules,
): { readonly reason: LedgerRefusalReason; readonly message: string } | null {
  const amending = lines.filter((line) => line.amending);
  const fault = validateLines(
    amending,
    "invoice",
    skipValidation || attempts > 1 ? unknownReferenceData : referenceData,
    rules,
  );
  if (fault !== null) return { reason: fault.reason, message: fault.message };
  if (amending.every((line) => line.kind !== "plan" || line.ledgerLineId !== null)) return null;
  return {
    reason: "drift",
    message: `It is not known which line of ${number} in the ledger is the plan's.`,
  };
}

/**
 * Returns the lines to change or add, and existing lines that equal an added one. These are
 * sent with their ids, so that they are not taken for it.
 */
function changedLines(
  lines: readonly AmendmentLine[],
  { maxDescriptionLength }: DocumentRules,
): readonly AmendmentLine[] {
  const amending = lines.filter((line) => line.amending);
  const added = amending
    .filter((line) => line.ledgerLineId === null)
    .map((line) => lineOf(line, maxDescriptionLength));
  const isTwin = (line: AmendmentLine): boolean => {
    const { description, amount } = lineOf(line, maxDescriptionLength);
    return added.some((one) => one.description === description && one.amount === amount);
  };
  return [
    ...amending,
    ...lines.filter((line) => !line.amending && line.ledgerLineId !== null && isTwin(line)),
  ];
}

function changeOf(line: AmendmentLine, { maxDescriptionLength }: DocumentRules): LedgerLineChange {
  const { ledgerLineId, was } = line;
  const change = { ...lineOf(line, maxDescriptionLength), ledgerLineId };
  return was === null
    ? change
    : { ...change, was: lineOf({ ...line, ...was }, maxDescriptionLength) };
}

/**
 * Reads an invoice that is paid, approved, removed, has money on it, or was changed so that our
 * amounts mean something else. An earlier attempt with a lost answer may have amended it before.
 */
async function checkInvoice(
  ledger: Ledger,
  amendment: AmendmentToSend,
  refusal: Refusal,
  deadlineMs: number,
): Promise<AmendmentAnswer> {
  const answer = await ledger.getInvoice(readCall(amendment, deadlineMs), amendment.ledgerId);
  if (answer.kind !== "ok") return undone(amendment, answer, deadlineMs);
  const found = answer.value;
  const { maxDescriptionLength } = ledger.traits.documents;
  const lines = matchLines(amendment.lines, found.lines, maxDescriptionLength);
  if (lines !== null)
    return { outcome: { kind: "done", invoice: syncOf(found), lines }, failures: [] };
  const allowed = allowedOf(ledger, amendment.joins);
  const isOpenAgain = refusal.reason === "wrong_status" && allowed.includes(found.status);
  if (isOpenAgain && amendment.attempts < believedAttempts) {
    return { outcome: again(amendment, "the invoice can be changed again"), failures: [] };
  }
  return isUncertain(amendment, found)
    ? { outcome: refused({ ...refusal, messages: [uncertain(found)] }, null), failures: [] }
    : { outcome: closed(ledger, amendment, refusal, syncOf(found)), failures: [] };
}

/**
 * Whether an earlier attempt may have changed the invoice before another program replaced its lines
 * by others, so that nothing shows what is billed there. Billing it separately might double it.
 */
function isUncertain(
  { attempts, lines, ledgerSubtotal }: AmendmentToSend,
  found: LedgerInvoice,
): boolean {
  const ids = new Set(found.lines.map(({ ledgerLineId }) => ledgerLineId));
  const isReplaced = lines.some(
    ({ ledgerLineId }) => ledgerLineId !== null && !ids.has(ledgerLineId),
  );
  return attempts > 1 && isReplaced && found.subtotal !== ledgerSubtotal;
}

function uncertain({ number, subtotal }: LedgerInvoice): string {
  return (
    `Lines of invoice ${number} were replaced in the ledger after an attempt whose answer was ` +
    `lost, and they come to ${subtotal} there: compare them. A retry bills what is missing here ` +
    "on another document if the lines are still not found."
  );
}

/**
 * Finds an invoice by its number after its address was not found. Only if the number is not
 * found either, the ledger has lost it.
 */
async function findLostInvoice(
  ledger: Ledger,
  amendment: AmendmentToSend,
  refusal: Refusal,
  deadlineMs: number,
): Promise<AmendmentAnswer> {
  const answer = await ledger.findInvoices(readCall(amendment, deadlineMs), {
    numbers: [amendment.number],
  });
  if (answer.kind !== "ok") return undone(amendment, answer, deadlineMs);
  if (answer.value.some(({ id }) => id === amendment.ledgerId)) {
    return { outcome: again(amendment, "not found by its id"), failures: [] };
  }
  const gone = { status: "not_in_external", total: null, amountDue: null, sent: null } as const;
  return { outcome: closed(ledger, amendment, refusal, gone), failures: [] };
}

function readCall({ isAwaited }: AmendmentToSend, deadlineMs: number): LedgerCall {
  return { deadlineMs, jobKeys: [], isBackground: !isAwaited };
}

/**
 * Returns the outcome of an invoice that accepts the lines no more: they are billed on other
 * documents. An invoice that is only no longer a draft can still be re-priced (UNITS-8).
 */
function closed(
  ledger: Ledger,
  amendment: AmendmentToSend,
  refusal: Refusal,
  invoice: SyncedInvoice,
): AmendmentOutcome {
  const isOpen = allowedOf(ledger, false).some((status) => status === invoice.status);
  const isRepriceable = amendment.joins && refusal.reason === "wrong_status" && isOpen;
  return {
    kind: "closed",
    reason: refusal.reason,
    message: messageOf(refusal),
    invoice,
    isRepriceable,
  };
}

/**
 * Returns the outcome of a call that is not known to have changed anything. It is retried, since an
 * amendment reads before it writes.
 */
function undone(
  amendment: AmendmentToSend,
  failure: LedgerFailure,
  deadlineMs: number,
): AmendmentAnswer {
  const outcome = failureOutcome(amendment, failure, deadlineMs, false);
  if (outcome.kind === "refused")
    throw new Error("a refusal of a look-up is no refusal of the amendment");
  return { outcome, failures: [failure] };
}

function again(amendment: AmendmentToSend, reason: string): AmendmentOutcome {
  return againOutcome(amendment, retryDelayMs(amendment.attempts), true, reason);
}

function refused(refusal: Refusal, invoice: SyncedInvoice | null): AmendmentOutcome {
  return { kind: "refused", reason: refusal.reason, message: messageOf(refusal), invoice };
}

function messageOf({ messages }: Refusal): string {
  return messages.join(" ") || "Refused";
}

function syncOf({ id: _, lines: _lines, ...invoice }: LedgerInvoice): SyncedInvoice {
  return invoice;
}
