/** Stored allocations, and how the note, the invoice and Xero's answers show them. */
import { numberToken } from "../../../../src/ledger/port/exact-json.ts";
import { xeroDate } from "../api/answers.ts";
import type { Queryable } from "../database.ts";

/** A stored allocation, with the numbers of both documents. */
export interface AllocationRow {
  readonly allocation_id: string;
  readonly credit_note_id: string;
  readonly credit_note_number: string;
  readonly credit_note_date: string;
  readonly credit_note_total: string;
  readonly invoice_id: string;
  readonly invoice_number: string;
  readonly amount: string;
  readonly allocated_on: string;
}

/** Returns the allocations of these notes or to these invoices, oldest first. */
export async function loadAllocations(
  client: Queryable,
  by: "credit_note_id" | "invoice_id",
  ids: readonly string[],
): Promise<readonly AllocationRow[]> {
  if (ids.length === 0) return [];
  const { rows } = await client.query<AllocationRow>(
    `select a.allocation_id, a.credit_note_id, n.number as credit_note_number,
      n.issue_date as credit_note_date,
       n.total as credit_note_total, a.invoice_id, i.number as invoice_number, a.amount,
         a.allocated_on
     from demo_ledger.credit_allocations a
     join demo_ledger.credit_notes n on n.credit_note_id = a.credit_note_id
     join demo_ledger.invoices i on i.invoice_id = a.invoice_id
     where a.${by} = any($1::uuid[]) order by a.entry`,
    [ids],
  );
  return rows;
}

/** Returns an allocation as its credit note shows it. */
export function presentAllocation(row: AllocationRow): object {
  return {
    AllocationID: row.allocation_id,
    Amount: numberToken(row.amount),
    DateString: `${row.allocated_on}T00:00:00`,
    Date: xeroDate(row.allocated_on),
    Invoice: { InvoiceID: row.invoice_id, InvoiceNumber: row.invoice_number, ...emptyInvoice },
  };
}

/** Returns the credit note of an allocation as the invoice shows it. */
export function presentAppliedNote(row: AllocationRow): object {
  return {
    CreditNoteID: row.credit_note_id,
    CreditNoteNumber: row.credit_note_number,
    ID: row.credit_note_id,
    HasErrors: false,
    AppliedAmount: numberToken(row.amount),
    DateString: `${row.credit_note_date}T00:00:00`,
    Date: xeroDate(row.credit_note_date),
    LineItems: [],
    Total: numberToken(row.credit_note_total),
  };
}

/** Returns a new allocation as Xero answers it: without its id. */
export function presentNewAllocation(row: Omit<NewAllocation, "id">, creditNoteId: string): object {
  return {
    Amount: numberToken(row.amount),
    Date: xeroDate(row.allocatedOn),
    Invoice: { InvoiceID: row.invoiceId, ...emptyInvoice, ValidationErrors: [] },
    CreditNote: { CreditNoteID: creditNoteId, ID: creditNoteId, LineItems: [] },
    ValidationErrors: [],
  };
}

/** Returns a removed allocation as Xero answers it. */
export function presentRemovedAllocation(row: AllocationRow): object {
  return {
    ...presentAllocation(row),
    Invoice: { InvoiceID: row.invoice_id, ...emptyInvoice },
    IsDeleted: true,
  };
}

/** An allocation to store. The amount has two places, the day is `YYYY-MM-DD`. */
export interface NewAllocation {
  readonly id: string;
  readonly invoiceId: string;
  readonly amount: string;
  readonly allocatedOn: string;
}

// The invoice members that Xero shows inside another object.
const emptyInvoice = {
  Payments: [],
  CreditNotes: [],
  Prepayments: [],
  Overpayments: [],
  HasErrors: false,
  IsDiscounted: false,
  LineItems: [],
};
