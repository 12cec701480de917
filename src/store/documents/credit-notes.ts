/** Reads credit notes with their lines and allocations. */
import type { Allocation, CreditNote, CreditNoteLine } from "../../domain/model/credit-note.ts";
import type { DocumentStatus } from "../../domain/model/invoice.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import { columns } from "../../gen/columns.ts";
import { listing } from "../database/page.ts";
import { instant, jsonRows, pick, type RowOf, text } from "../database/sql/columns.ts";
import { columnsOf, sql } from "../database/sql/sql.ts";
import { documentFilters, readLedgerState } from "./invoices.ts";

const lineRow = {
  ...pick(columns.creditNoteLine, "id", "name", "description"),
  amount: text,
  effectiveDate: instant,
};

const allocationRow = {
  ...pick(columns.allocation, "id", "invoiceId", "date"),
  amount: text,
  status: columns.allocation.status.as<Allocation["status"]>(),
  syncStatus: columns.allocation.syncStatus.as<Allocation["syncStatus"]>(),
};

const noteMembers = {
  ...pick(
    columns.creditNote,
    "id",
    "customerId",
    "subscriptionId",
    "number",
    "reference",
    "currency",
    "creditNoteDate",
    "subtotal",
    "total",
    "remainingCredit",
    "sent",
    "ledgerCreditNoteId",
    "ledgerNumber",
    "syncError",
    "createdAt",
  ),
  status: columns.creditNote.status.as<DocumentStatus>(),
};

/** A row of `credit_notes` with its lines and allocations. */
const creditNoteRow = {
  ...noteMembers,
  lines: jsonRows(lineRow).orNull(),
  allocations: jsonRows(allocationRow).orNull(),
};

/** Converts a row to a credit note. */
function readCreditNote({
  creditNoteDate: notedAt,
  ledgerCreditNoteId,
  syncError,
  lines,
  allocations,
  ...row
}: RowOf<typeof creditNoteRow>): CreditNote {
  return {
    ...row,
    notedAt,
    reference: row.reference === "" ? null : row.reference,
    subtotal: parseDecimal(row.subtotal),
    total: parseDecimal(row.total),
    remainingCredit: parseDecimal(row.remainingCredit),
    ledger: readLedgerState(row.status, ledgerCreditNoteId, syncError),
    lines: (lines ?? []).map(
      ({ effectiveDate, amount, ...line }): CreditNoteLine => ({
        ...line,
        amount: parseDecimal(amount),
        effectiveAt: effectiveDate,
      }),
    ),
    allocations: (allocations ?? []).map(
      ({ amount, date, ...allocation }): Allocation => ({
        ...allocation,
        amount: parseDecimal(amount),
        appliedAt: date,
      }),
    ),
  };
}

/**
 * Lists credit notes with lines and allocations. Amounts are text, so that JSON makes no float of
 * them.
 */
export const creditNoteListing = listing(
  "credit_notes",
  {
    table: sql`credit_notes`,
    columns: sql`${columnsOf(sql`t`, noteMembers)},
    (SELECT json_agg(json_build_object('id', l.id, 'name', l.name, 'description', l.description,
      'amount', l.amount::text, 'effective_date', l.effective_date) ORDER BY l.position)
      FROM credit_note_lines l WHERE l.organisation_id = t.organisation_id
        AND l.credit_note_id = t.id) AS lines,
    (SELECT json_agg(json_build_object('id', a.id, 'invoice_id', a.invoice_id,
      'amount', a.amount::text, 'date', a.date, 'status', a.status,
      'sync_status', a.sync_status) ORDER BY a.created_at, a.id)
      FROM allocations a WHERE a.organisation_id = t.organisation_id
        AND a.credit_note_id = t.id) AS allocations`,
    row: creditNoteRow,
    read: readCreditNote,
  },
  documentFilters({ subscription: "", customer: "", statuses: ["draft"] }),
);
