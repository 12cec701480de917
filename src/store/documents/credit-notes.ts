/** Reads credit notes with their lines and allocations. */
import type { Allocation, CreditNote, CreditNoteLine } from "../../domain/model/credit-note.ts";
import type { DocumentStatus } from "../../domain/model/invoice.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import type { Prisma } from "../../gen/prisma/client.ts";
import type { Listing } from "../database/page.ts";
import type { Row } from "../database/prisma/row.ts";
import { readLedgerState } from "./invoice-row.ts";

/** `effective_date` is text, because JSON has no instants. */
interface LineRow
  extends Row<Prisma.CreditNoteLineModel, "id" | "name" | "description" | "amount"> {
  effective_date: string;
}

interface AllocationRow extends Row<Prisma.AllocationModel, "id" | "invoiceId" | "amount"> {
  date: string;
  status: Allocation["status"];
  sync_status: Allocation["syncStatus"];
}

/** A row of `credit_notes` with its lines and allocations. */
interface CreditNoteRow
  extends Row<
    Prisma.CreditNoteModel,
    | "id"
    | "customerId"
    | "subscriptionId"
    | "number"
    | "reference"
    | "currency"
    | "creditNoteDate"
    | "subtotal"
    | "total"
    | "remainingCredit"
    | "sent"
    | "ledgerCreditNoteId"
    | "syncError"
    | "createdAt"
  > {
  status: DocumentStatus;
  lines: LineRow[] | null;
  allocations: AllocationRow[] | null;
}

/** Converts a row to a credit note. */
function readCreditNote(row: CreditNoteRow): CreditNote {
  return {
    id: row.id,
    customerId: row.customer_id,
    subscriptionId: row.subscription_id,
    number: row.number,
    reference: row.reference === "" ? null : row.reference,
    status: row.status,
    currency: row.currency,
    notedAt: row.credit_note_date,
    subtotal: parseDecimal(row.subtotal),
    total: parseDecimal(row.total),
    remainingCredit: parseDecimal(row.remaining_credit),
    sent: row.sent,
    ledger: readLedgerState(row.status, row.ledger_credit_note_id, row.sync_error),
    lines: (row.lines ?? []).map(
      ({ effective_date, amount, ...line }): CreditNoteLine => ({
        ...line,
        amount: parseDecimal(amount),
        effectiveAt: new Date(effective_date),
      }),
    ),
    allocations: (row.allocations ?? []).map(
      (allocation): Allocation => ({
        id: allocation.id,
        invoiceId: allocation.invoice_id,
        amount: parseDecimal(allocation.amount),
        appliedAt: new Date(allocation.date),
        status: allocation.status,
        syncStatus: allocation.sync_status,
      }),
    ),
    createdAt: row.created_at,
  };
}

/**
 * Lists credit notes with lines and allocations. Amounts are text, so that JSON makes no float of
 * them.
 */
export const creditNoteListing: Listing<CreditNoteRow, CreditNote> = {
  table: "credit_notes",
  columns: `t.id, t.customer_id, t.subscription_id, t.number, t.reference, t.status, t.currency,
    t.credit_note_date, t.subtotal,
    t.total, t.remaining_credit, t.sent, t.ledger_credit_note_id, t.sync_error, t.created_at,
    (SELECT json_agg(json_build_object('id', l.id, 'name', l.name, 'description', l.description,
      'amount', l.amount::text,
      'effective_date', l.effective_date) ORDER BY l.position)
      FROM credit_note_lines l WHERE l.organisation_id = t.organisation_id
        AND l.credit_note_id = t.id) AS lines,
    (SELECT json_agg(json_build_object('id', a.id, 'invoice_id', a.invoice_id, 'amount',
      a.amount::text, 'date', a.date,
      'status', a.status, 'sync_status', a.sync_status) ORDER BY a.created_at, a.id)
      FROM allocations a WHERE a.organisation_id = t.organisation_id
        AND a.credit_note_id = t.id) AS allocations`,
  from: "credit_notes t",
  read: readCreditNote,
};
