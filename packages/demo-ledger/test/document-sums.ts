/** Compares the stored sums of the demo ledger's documents with their payments and allocations. */
import type pg from "pg";

/** Returns the documents whose sums are not those of their payments and allocations. */
export async function sumsThatDiffer(database: pg.Pool): Promise<readonly object[]> {
  const { rows } = await database.query<object>(`
    select number, amount_allocated as amount from demo_ledger.credit_notes n
      where amount_allocated <>
      (select coalesce(sum(amount), 0) from demo_ledger.credit_allocations a
        where a.credit_note_id = n.credit_note_id)
    union all
    select number, amount_credited from demo_ledger.invoices i where amount_credited <>
      (select coalesce(sum(amount), 0) from demo_ledger.credit_allocations a
        where a.invoice_id = i.invoice_id)
    union all
    select number, amount_paid from demo_ledger.invoices i where amount_paid <>
      (select coalesce(sum(amount), 0) from demo_ledger.payments p where p.invoice_id = i.invoice_id
        and p.status = 'AUTHORISED')`);
  return rows;
}
