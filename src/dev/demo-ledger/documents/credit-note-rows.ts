/** A sales credit note as the demo ledger stores it, and as it shows it in Xero's names. Facts: facts-ledger section 1.4. */
import { decimalTextOf, scaledOf } from "../../../ledger/port/decimal-text.ts";
import { numberToken } from "../../../ledger/port/exact-json.ts";
import { type AllocationRow, presentAllocation } from "./allocation-rows.ts";
import { type DocumentRow, isRemoved, presentDocument } from "./document-rows.ts";

/** A stored credit note. */
export interface CreditNoteRow extends DocumentRow {
  readonly amount_allocated: string;
}

/** A credit note in Xero's names. `contact` is its contact as presented; a list without pages shows no lines. */
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

/** What can still be put on invoices, with two places; nothing on a removed credit note. */
export function remainingCreditOf(row: CreditNoteRow): string {
  return isRemoved(row.status) ? "0.00" : decimalTextOf(scaledOf(row.total, 2) - allocatedOf(row), 2);
}

/** How much of its credit is on invoices, in hundredths. */
export function allocatedOf(row: CreditNoteRow): bigint {
  return scaledOf(row.amount_allocated, 2);
}
