/**
 * The floor of a renewal: one SQL statement writes the same rows as the billing run, under the same
 * constraints and in chunks of the same size. It decides nothing: a fixed price, no discount, no
 * deferred lines, no timezone.
 */
import type pg from "pg";
import { chunkSize } from "../../src/store/billing/billing-run.ts";

const floorText = `
WITH due AS (
  SELECT id, customer_id, renewal_date, current_period FROM subscriptions WHERE organisation_id = $1
    AND due_at <= now()
  ORDER BY due_at, id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
), numbered AS (
  SELECT due.*, row_number() OVER () - 1 AS place, gen_random_uuid() AS invoice_id FROM due
), counter AS (
  UPDATE document_counters SET next = next + (SELECT count(*) FROM due) WHERE organisation_id = $1
    AND kind = 'invoice'
  RETURNING next - (SELECT count(*) FROM due) AS first
), moved AS (
  UPDATE subscriptions s SET current_period = s.current_period + 1,
    renewal_date = s.renewal_date + interval '1 month',
    due_at = s.due_at + interval '1 month' FROM due WHERE s.organisation_id = $1 AND s.id = due.id
), period AS (
  INSERT INTO periods (organisation_id, subscription_id, index, previous_index, start_date,
    end_date, billed_units)
  SELECT $1, id, current_period + 1, current_period, renewal_date,
    renewal_date + interval '1 month', 10 FROM numbered
), invoice AS (
  INSERT INTO invoices (id, organisation_id, customer_id, subscription_id, number, type, status,
    currency, subtotal, total, amount_due,
    issue_date, due_date, period_index, period_start, period_end)
  SELECT invoice_id, $1, customer_id, id, 'INV-' || lpad((first + place)::text, 4, '0'), 'renewal',
    'scheduled', 'NZD', 125, 125, 125,
    current_date, current_date + 14, current_period + 1, renewal_date,
      renewal_date + interval '1 month' FROM numbered, counter
  RETURNING id
), line AS (
  INSERT INTO invoice_lines (id, organisation_id, invoice_id, position, kind, name, description,
    units, unit_price, amount, period_start,
    period_end, revenue_account, tax_type)
  SELECT gen_random_uuid(), $1, invoice_id, 0, 'plan', 'Team', '10 × 12.50', 10, 12.5, 125,
    renewal_date, renewal_date + interval '1 month',
    '200', 'OUTPUT2' FROM numbered
), operation AS (
  INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id)
  SELECT gen_random_uuid(), $1, 'create_invoice', 'ready', id, invoice_id FROM numbered
)
SELECT count(*)::int AS renewed FROM invoice`;

/** Renews up to a chunk of an organisation's due subscriptions. Returns how many. */
export async function renewBarely(pool: pg.Pool, organisationId: string): Promise<number> {
  const { rows } = await pool.query<{ renewed: number }>({
    name: "renew_barely",
    text: floorText,
    values: [organisationId, chunkSize],
  });
  return rows[0]?.renewed ?? 0;
}
