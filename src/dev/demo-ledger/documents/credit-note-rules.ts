/**
 * Judges a credit note that is sent to the demo ledger, new or changed, by Xero's rules. Facts: facts-ledger section
 * 1.4.
 */
import { allocatedOf, type CreditNoteRow } from "./credit-note-rows.ts";
import {
  type DocumentValues,
  type Judged,
  validateDocument,
  evaluateFirst,
  moneyOnIt,
  nextStatusOf,
  type SentDocument,
  wrongStatus,
} from "./document-rules.ts";

/** How credit notes are named. */
export const creditNoteNames = {
  type: "ACCRECCREDIT",
  title: "Credit Note",
  numberName: "CreditNoteNumber",
} as const;

/** A new credit note. Allocations sent along are not applied, as in Xero; `SentToContact` cannot be written. */
export function validateNewCreditNote(document: SentDocument): Judged<DocumentValues> {
  const first = evaluateFirst(document.sent, creditNoteNames);
  const judged = validateDocument(document, null, first.values, creditNoteNames);
  return { values: judged.values, messages: [...first.messages, ...judged.messages] };
}

/** A change of a credit note. With credit on an invoice nothing of it changes until that is taken back. */
export function validateCreditNoteChange(document: SentDocument, current: CreditNoteRow): Judged<DocumentValues> {
  const applied = allocatedOf(current);
  if (applied !== 0n) return { values: current, messages: [moneyOnIt] };
  const status = nextStatusOf(document.sent, current.status);
  if (!status) return { values: current, messages: [wrongStatus(creditNoteNames)] };
  if (status === "VOIDED" || status === "DELETED") return { values: { ...current, status }, messages: [] };
  return validateDocument(document, { row: current, applied }, status, creditNoteNames);
}
