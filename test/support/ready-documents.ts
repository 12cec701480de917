/**
 * Invoices that are pending for the ledger without a waiting caller, as renewals leave them:
 * thousands of them, inserted by SQL.
 */
import type pg from "pg";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { inTransaction } from "../../src/store/database/pool.ts";

const addText = `
WITH day AS (
  SELECT (now() AT TIME ZONE 'UTC')::date AS start
), customers AS (
  SELECT id, row_number() OVER (ORDER BY seq) AS place, count(*) OVER () AS all_of_them
    FROM customers WHERE organisation_id = $1
), subscription AS (
  INSERT INTO subscriptions (id, organisation_id, customer_id, plan_id, status, currency,
    interval_unit, interval_count, timezone,
    start_date, billing_day, current_period, renewal_date, units, minimum_units,
    discount_percent, due_at, request_hash)
  SELECT gen_random_uuid(), $1, c.id, (SELECT id FROM plans WHERE organisation_id = $1
    AND code = 'team'), 'active', 'NZD', 'year', 1,
    'UTC', day.start, extract(day FROM day.start), 0, day.start + interval '1 year', 10, 0,
    0, now() + interval '1 year', '\\x00'
  FROM generate_series(1, $2::int) n, day, customers c WHERE c.place = 1 + n % c.all_of_them
  RETURNING id, customer_id, start_date, renewal_date
), numbered AS (
  SELECT *, 'READY-' || lpad((row_number() OVER () + $3::int)::text, 6, '0') AS number
    FROM subscription
), period AS (
  INSERT INTO periods (organisation_id, subscription_id, index, previous_index, start_date,
    end_date, billed_units)
  SELECT $1, id, 0, NULL, start_date, renewal_date, 10 FROM numbered
), invoice AS (
  INSERT INTO invoices (id, organisation_id, customer_id, subscription_id, number, type, status,
    currency, subtotal, total, amount_due,
    issue_date, due_date, period_index, period_start, period_end)
  SELECT gen_random_uuid(), $1, customer_id, id, number, 'first', 'scheduled', 'NZD', 125, 125,
    125, start_date, start_date + 14, 0,
    start_date, renewal_date FROM numbered RETURNING id, subscription_id, number, period_start,
      period_end
), line AS (
  INSERT INTO invoice_lines (id, organisation_id, invoice_id, position, kind, name, description,
    units, unit_price, amount, period_start,
    period_end, revenue_account, tax_type, facts)
  SELECT gen_random_uuid(), $1, id, 0, 'plan', 'Team', '10 × 12.50', 10, 12.5, 125, period_start,
    period_end, '200', 'OUTPUT2', '{"r":"charge/1","q":10,"m":"12.5","g":"seat"}' FROM invoice
)
INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id)
SELECT gen_random_uuid(), $1, 'create_invoice', 'ready', subscription_id, id FROM invoice
  ORDER BY number`;

/**
 * A year's invoice each for so many new subscriptions, `READY-000001` and on after the `before`
 * that are there already.
 */
export async function addReadyDocuments(
  pool: pg.Pool,
  { organisationId }: Pick<CreatedOrganisation, "organisationId">,
  count: number,
  before = 0,
): Promise<void> {
  await inTransaction(pool, (client) => client.query(addText, [organisationId, count, before]));
}
