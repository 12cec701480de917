/** Validates a new or changed credit note by Xero's rules. */
import { allocatedOf, type CreditNoteRow } from "./credit-note-rows.ts";
import {
  type DocumentValues,
  evaluateFirst,
  moneyOnIt,
  nextStatusOf,
  type SentDocument,
  type Validated,
  validateDocument,
  wrongStatus,
} from "./document-rules.ts";

/** The names of credit notes in texts and members. */
export const creditNoteNames = {
  type: "ACCRECCREDIT",
  title: "Credit Note",
  numberName: "CreditNoteNumber",
} as const;

/**
 * Validates a new credit note. Allocations in the request are not applied, as in Xero.
 * `SentToContact` cannot be written.
 */
export function validateNewCreditNote(document: SentDocument): Validated<DocumentValues> {
  const first = evaluateFirst(document.sent, creditNoteNames);
  const validated = validateDocument(document, null, first.values, creditNoteNames);
  return { values: validated.values, messages: [...first.messages, ...validated.messages] };
}

/**
 * Validates a change of a credit note. A note with allocated credit cannot change until the credit
 * is returned.
 */
export function validateCreditNoteChange(
  document: SentDocument,
  current: CreditNoteRow,
): Validated<DocumentValues> {
  const applied = allocatedOf(current);
  if (applied !== 0n) return { values: current, messages: [moneyOnIt] };
  const status = nextStatusOf(document.sent, current.status);
  if (!status) return { values: current, messages: [wrongStatus(creditNoteNames)] };
  if (status === "VOIDED" || status === "DELETED")
    return { values: { ...current, status }, messages: [] };
  return validateDocument(document, { row: current, applied }, status, creditNoteNames);
}
