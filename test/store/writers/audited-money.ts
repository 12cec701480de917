/**
 * Audits of an organisation's rows: what must be true of its money, whichever writers ran at the
 * same time.
 */
import type pg from "pg";
import { sql } from "../../../src/store/database/sql/sql.ts";
import { keepsPlace } from "../../../src/store/documents/document-presence.ts";

/** Statements that select rows that must not exist. */
const audits = {
  "the same increase of units is charged twice": `
    SELECT subscription_id, period_end, from_units, to_units FROM (
      SELECT i.subscription_id, l.period_end, l.from_units, l.to_units
      FROM invoice_lines l JOIN invoices i ON i.id = l.invoice_id
      WHERE i.organisation_id = $1 AND l.kind = 'proration'
        AND ${keepsPlace(sql`i`)}
      UNION ALL SELECT d.subscription_id, d.period_end, d.from_units, d.to_units
      FROM deferred_lines d
      WHERE d.organisation_id = $1 AND d.invoice_id IS NULL
    ) charged GROUP BY 1, 2, 3, 4 HAVING count(*) > 1`,
  "overlapping increases are charged": `
    WITH increase AS (
      SELECT i.subscription_id, l.period_end, l.from_units, l.to_units, l.id
      FROM invoice_lines l JOIN invoices i ON i.id = l.invoice_id
      WHERE i.organisation_id = $1 AND l.kind = 'proration'
        AND ${keepsPlace(sql`i`)} AND l.amount > 0
    )
    SELECT a.id, b.id FROM increase a
      JOIN increase b ON a.subscription_id = b.subscription_id AND a.period_end = b.period_end
      AND a.id < b.id AND a.from_units < b.to_units AND b.from_units < a.to_units`,
  "usage is not billed exactly once": `
    SELECT * FROM (
      SELECT e.subscription_id, e.bill, e.period_index, e.meter_id, count(*) AS events,
        sum(e.quantity) AS quantity
      FROM usage_events e JOIN subscriptions s ON s.id = e.subscription_id
      WHERE e.organisation_id = $1 AND e.voided_at IS NULL AND e.bill < s.usage_billed
      GROUP BY 1, 2, 3, 4
    ) e FULL JOIN (SELECT * FROM usage_bills WHERE organisation_id = $1) b
      USING (subscription_id, bill, period_index, meter_id)
    WHERE (e.events, e.quantity) IS DISTINCT FROM (b.events, b.quantity)`,
  "a period that began has no invoice, and none was removed": `
    SELECT p.subscription_id, p.index
    FROM subscriptions s JOIN periods p ON p.subscription_id = s.id AND p.index <= s.current_period
    WHERE s.organisation_id = $1 AND NOT p.setup_mode AND p.billed_units IS NOT NULL
      AND NOT EXISTS (
        SELECT 1 FROM invoices i WHERE i.subscription_id = s.id AND i.period_index = p.index
          AND i.type IN ('first', 'renewal')
          AND (i.status NOT IN ('voided', 'deleted') OR EXISTS (
            SELECT 1 FROM removals r WHERE r.invoice_id = i.id AND r.state = 'removed')))`,
  "an amended invoice has no job": `
    SELECT i.number FROM invoices i
    WHERE i.organisation_id = $1 AND i.status NOT IN ('voided', 'deleted')
      AND EXISTS (SELECT 1 FROM invoice_lines l WHERE l.invoice_id = i.id AND l.amending)
      AND NOT EXISTS (SELECT 1 FROM ledger_jobs o
        WHERE o.invoice_id = i.id AND o.kind = 'amend_invoice'
        AND o.state IN ('ready', 'sending', 'uncertain', 'refused'))`,
  "a subscription could not be billed": `
    SELECT id, parked_reason FROM subscriptions
    WHERE organisation_id = $1 AND parked_until IS NOT NULL`,
} as const;

/** The audits that found rows, with the first three rows of each. */
export async function auditOf(
  pool: pg.Pool,
  organisationId: string,
): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const [name, text] of Object.entries(audits)) {
    const { rows } = await pool.query(text, [organisationId]);
    if (rows.length > 0) found[name] = rows.slice(0, 3);
  }
  return found;
}
