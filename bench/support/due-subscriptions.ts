/**
 * Inserts by SQL subscriptions whose renewal is due, with the rows that a year of service leaves:
 * periods, a first invoice, one customer for every ten, and plans of each type in turn.
 */
import type pg from "pg";
import { inTransaction } from "../../src/store/database/pool.ts";

// Constraints and triggers would be checked row by row, although the rows satisfy them. Without
// them a hundred thousand rows take seconds.
const withoutRules = "SET LOCAL session_replication_role = replica";

const seedText = `
WITH customer AS (
  INSERT INTO customers (id, organisation_id, code, name, email, status, ledger_contact_id)
  SELECT gen_random_uuid(), $1, 'DUE-' || gen_random_uuid(), 'Customer ' || n, n || '@due.example',
    'active', gen_random_uuid()
  FROM generate_series(1, ($2::int + 9) / 10) n RETURNING id, seq
), customers AS (
  SELECT id, row_number() OVER (ORDER BY seq) AS place FROM customer
), plan AS (
  SELECT id, type, row_number() OVER (ORDER BY seq) AS place, count(*) OVER () AS plans FROM plans
    WHERE organisation_id = $1
), day AS (
  SELECT (now() AT TIME ZONE 'UTC')::date - 1 AS renewal
), subscription AS (
  INSERT INTO subscriptions (id, organisation_id, customer_id, plan_id, status, currency,
    interval_unit, interval_count, timezone,
    start_date, billing_day, current_period, renewal_date, units, minimum_units, discount_percent,
      due_at, request_hash)
  SELECT gen_random_uuid(), $1, c.id, p.id, 'active', 'NZD', 'month', 1, 'UTC',
    day.renewal - interval '1 month', extract(day FROM day.renewal),
    0, day.renewal, CASE p.type WHEN 'flat_fee' THEN 0 ELSE 1 + n % 40 END, 0, CASE n % 4
      WHEN 0 THEN 12.5 ELSE 0 END, day.renewal, '\\x00'
  FROM generate_series(1, $2::int) n, day, customers c, plan p
  WHERE c.place = 1 + (n - 1) / 10 AND p.place = 1 + n % p.plans
  RETURNING id, customer_id, plan_id, start_date, renewal_date, units
), period AS (
  INSERT INTO periods (organisation_id, subscription_id, index, previous_index, start_date,
    end_date, billed_units)
  SELECT $1, s.id, 0, NULL, s.start_date, s.renewal_date, s.units FROM subscription s
), invoice AS (
  INSERT INTO invoices (id, organisation_id, customer_id, subscription_id, number, type, status,
    currency, subtotal, total, amount_due,
    issue_date, due_date, period_index, period_start, period_end, ledger_invoice_id)
  SELECT gen_random_uuid(), $1, s.customer_id, s.id, 'DUE-' || gen_random_uuid(), 'first',
    'approved', 'NZD', 125, 125, 125,
    s.start_date, s.start_date + 14, 0, s.start_date, s.renewal_date, gen_random_uuid()
  FROM subscription s RETURNING id, period_start, period_end
)
INSERT INTO invoice_lines (id, organisation_id, invoice_id, position, kind, name, description,
  units, unit_price, amount, period_start,
  period_end, revenue_account, tax_type)
SELECT gen_random_uuid(), $1, i.id, 0, 'plan', 'Team', '10 × 12.50', 10, 12.5, 125, i.period_start,
  i.period_end, '200', 'OUTPUT2'
FROM invoice i`;

// Amounts larger than any invoice can hold.
const spoilText = `
UPDATE subscriptions SET units = 1000000000, price_override = 999999999,
  plan_id = (SELECT id FROM plans WHERE organisation_id = $1 AND code = 'team')
WHERE id IN (SELECT id FROM subscriptions WHERE organisation_id = $1 ORDER BY seq LIMIT $2)`;

/** Subscriptions in one statement: far below a statement's time limit. */
const batch = 2_000;

/**
 * Adds so many subscriptions in UTC whose renewal has been due since yesterday. The renewal after
 * it is at least four weeks away, on any day and across any midnight. The first `unbillable`
 * subscriptions of the organisation cost more than can be billed.
 */
export async function addDueSubscriptions(
  pool: pg.Pool,
  organisationId: string,
  count: number,
  unbillable = 0,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query(withoutRules);
    for (let left = count; left > 0; left -= batch)
      await client.query(seedText, [organisationId, Math.min(left, batch)]);
    if (unbillable > 0) await client.query(spoilText, [organisationId, unbillable]);
  });
}
