/** Builds rows of an organisation with a posted invoice and amendments of it. */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { newRows, type SeededRows, seed } from "../constraints/rows.ts";

/** The ids of the rows of a test, and of the line added to its invoice. */
export interface AmendedRows extends SeededRows {
  readonly addedLine: string;
}

/** Adds a draft invoice of 25.00 whose plan line is `plan-line` in the ledger. */
export async function seedInvoice(pool: pg.Pool): Promise<AmendedRows> {
  const client = await pool.connect();
  try {
    const rows = { ...newRows(), addedLine: randomUUID() };
    await seed(client as unknown as pg.Client, rows);
    // The number of the seeded invoice is used, and no job of it is open.
    await client.query(`UPDATE document_counters SET next = 2
      WHERE organisation_id = '${rows.organisation}';
      DELETE FROM unit_changes WHERE organisation_id = '${rows.organisation}';
      DELETE FROM ledger_jobs WHERE organisation_id = '${rows.organisation}';
      UPDATE invoice_lines SET ledger_line_id = 'plan-line' WHERE id = '${rows.line}';`);
    return rows;
  } finally {
    client.release();
  }
}

/** The optional members of an amendment. */
interface AmendmentRow {
  readonly joins?: boolean;
  readonly awaitedUntil?: Date | null;
  /** The units after the change that names it, from 2. */
  readonly toUnits?: number;
}

/** Adds a ready amendment and the change of units that names it. Returns its id. */
export async function addAmendment(
  pool: pg.Pool,
  rows: SeededRows,
  row: AmendmentRow = {},
): Promise<string> {
  const id = randomUUID();
  const { joins = true, awaitedUntil = null, toUnits = 3 } = row;
  await pool.query(
    `WITH operation AS (
       INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id,
         joins, awaited_until)
       VALUES ($1, $2, 'amend_invoice', 'ready', $3, $4, $5, $6)
     )
     INSERT INTO unit_changes (id, organisation_id, subscription_id, from_units, to_units,
       invoice_id, deferred,
       job_ids, request_hash)
     VALUES (gen_random_uuid(), $2, $3, 2, $7, $4, false, ARRAY[$1::uuid], sha256('request'))`,
    [id, rows.organisation, rows.subscription, rows.invoice, joins, awaitedUntil, toUnits],
  );
  return id;
}

/** Adds a proration of 12.50 to the invoice that is not in the ledger yet. */
export async function addLine(pool: pg.Pool, rows: AmendedRows): Promise<void> {
  const { addedLine, organisation, invoice } = rows;
  await pool.query(`INSERT INTO invoice_lines (id, organisation_id, invoice_id, position, kind,
    name, description,
        amount, period_start, period_end, from_units, to_units, days_remaining, days_in_period,
        revenue_account, amending)
      VALUES ('${addedLine}', '${organisation}', '${invoice}', 1, 'proration', 'Team',
        '2 to 3 seats',
        12.5, '2026-01-15', '2026-02-15', 2, 3, 31, 31, '200', true);
    ${sumUp(rows)}`);
}

/** Re-prices the invoice's plan line to 50.00, not in the ledger yet. */
export async function repriceLine(pool: pg.Pool, rows: AmendedRows): Promise<void> {
  await pool.query(`UPDATE invoice_lines
    SET units = 4, amount = 50, description = '4 × 12.5000', amending = true
      WHERE id = '${rows.line}';
    ${sumUp(rows)}`);
}

function sumUp({ invoice }: AmendedRows): string {
  return `UPDATE invoices SET subtotal = (SELECT sum(amount) FROM invoice_lines
    WHERE invoice_id = '${invoice}')
    WHERE id = '${invoice}'`;
}
