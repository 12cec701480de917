/** The kinds of documents as statements name them: their tables, columns and numbers. */
import { sql } from "../database/sql/sql.ts";

/** Invoices and credit notes. */
export type DocumentKind = "invoice" | "credit_note";

/**
 * SQL of each kind: its table, that of its lines, the column by which lines and jobs name it, the
 * ledger's id of it, what is left of its amount, and the prefix of its numbers. An organisation's
 * own prefix is in those of its notes: INV-NZ- gives CN-NZ-.
 */
export const documentKinds = {
  invoice: {
    table: sql`invoices`,
    lines: sql`invoice_lines`,
    id: sql`invoice_id`,
    ledgerId: sql`ledger_invoice_id`,
    due: sql`amount_due`,
    numberPrefix: sql`o.number_prefix`,
  },
  credit_note: {
    table: sql`credit_notes`,
    lines: sql`credit_note_lines`,
    id: sql`credit_note_id`,
    ledgerId: sql`ledger_credit_note_id`,
    due: sql`remaining_credit`,
    numberPrefix: sql`'CN-' || regexp_replace(o.number_prefix, '^INV-', '')`,
  },
} as const;

/** Returns what there is of each kind, such as a statement. */
export function ofKinds<T>(of: (kind: DocumentKind) => T): Readonly<Record<DocumentKind, T>> {
  return { invoice: of("invoice"), credit_note: of("credit_note") };
}
