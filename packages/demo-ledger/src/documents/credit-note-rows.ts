/** A stored sales credit note, and its form in Xero's names. */
import { decimalTextOf, scaledOf } from "../../../../src/ledger/port/decimal-text.ts";
import { numberToken } from "../../../../src/ledger/port/exact-json.ts";
import { type AllocationRow, presentAllocation } from "./allocation-rows.ts";
import { type DocumentRow, isRemoved, presentDocument } from "./document-rows.ts";

/** A stored credit note. */
export interface CreditNoteRow extends DocumentRow {
  readonly amount_allocated: string;
}

/**
 * Returns a credit note in Xero's names. `contact` is its presented contact. A list without pages
 * shows no lines.
 */
export function presentCreditNote(
  row: CreditNoteRow,
  contact: object,
  allocations: readonly AllocationRow[],
  withLines: boolean,
): object {
  return {
    Type: "ACCRECCREDIT",
    CreditNoteID: row.id,
    CreditNoteNumber: row.number,
    ID: row.id,
    Payments: [],
    RemainingCredit: numberToken(remainingCreditOf(row)),
    Allocations: allocations.map(presentAllocation),
    ...presentDocument(row, contact, withLines),
  };
}

/** Returns the remaining credit with two places. A removed credit note has none. */
export function remainingCreditOf(row: CreditNoteRow): string {
  return isRemoved(row.status)
    ? "0.00"
    : decimalTextOf(scaledOf(row.total, 2) - allocatedOf(row), 2);
}

/** Returns the allocated credit in hundredths. */
export function allocatedOf(row: CreditNoteRow): bigint {
  return scaledOf(row.amount_allocated, 2);
}
