/**
 * Many subscriptions of one sandbox, written as rows after the example of one, and what must be
 * there once months have passed.
 */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import type { TestSystem } from "../support/system.ts";

/** What they differ in: each of these days of March 2026 with each zone, in turn. */
interface Spread {
  readonly days: readonly [first: number, last: number];
  readonly zones: readonly string[];
}

const manyText = `
WITH copy AS (
  SELECT gen_random_uuid() AS id, make_date(2026, 3, $3::int + (i / cardinality($5::text[])) %
    ($4::int - $3::int + 1)) AS start_date,
    ($5::text[])[1 + i % cardinality($5::text[])] AS timezone
  FROM generate_series(1, $2) i
), subscription AS (
  INSERT INTO subscriptions (id, organisation_id, customer_id, plan_id, status, currency,
    interval_unit, interval_count, timezone,
    start_date, billing_day, renewal_date, units, minimum_units, discount_percent, price_override,
      request_hash, due_at)
  SELECT c.id, s.organisation_id, s.customer_id, s.plan_id, s.status, s.currency, s.interval_unit,
    s.interval_count, c.timezone,
    c.start_date, extract(day FROM c.start_date), (c.start_date + interval '1 month')::date,
      s.units, s.minimum_units,
    s.discount_percent, s.price_override, s.request_hash, 'epoch'
  FROM copy c, subscriptions s WHERE s.id = $1
  RETURNING id, organisation_id, start_date, renewal_date, units
)
INSERT INTO periods (organisation_id, subscription_id, index, start_date, end_date, billed_units)
SELECT organisation_id, id, 0, start_date, renewal_date, units FROM subscription`;

/** Adds so many copies of that subscription, each in its first period and due at once. */
export async function addMany(
  { pool }: TestSystem,
  subscriptionId: string,
  count: number,
  { days: [first, last], zones }: Spread,
): Promise<void> {
  await pool.query(manyText, [subscriptionId, count, first, last, zones]);
}

// PostgreSQL's own months are counted from the first day and clamped too, and its zones are its
// own.
const wrongText = `
WITH own AS (SELECT * FROM subscriptions WHERE organisation_id = $1), expected AS (
  SELECT s.id, s.timezone, s.units, s.price_override, k, (s.start_date + k * interval
    '1 month')::date AS start_date,
    (s.start_date + (k + 1) * interval '1 month')::date AS end_date
  FROM own s, generate_series(0, $2) k
), found AS (
  SELECT e.k, e.id, p.subscription_id IS NOT NULL AS is_period, count(i.id) AS invoices,
    bool_and(i.issue_date = e.start_date AND i.due_date = e.start_date + 14
      AND i.period_start = e.start_date
      AND i.period_end = e.end_date AND i.created_at = e.start_date::timestamp AT TIME ZONE
        e.timezone
      AND i.subtotal = e.units * e.price_override) AS is_right
  FROM expected e
    LEFT JOIN periods p ON p.subscription_id = e.id AND p.index = e.k
      AND p.start_date = e.start_date AND p.end_date = e.end_date
    LEFT JOIN invoices i ON i.subscription_id = e.id AND i.type = 'renewal' AND i.period_index = e.k
  GROUP BY e.k, e.id, p.subscription_id
)
SELECT
  (SELECT count(*)::int FROM found WHERE NOT is_period) AS periods_missing,
  (SELECT count(*)::int FROM found WHERE k > 0 AND invoices <> 1 OR k = 0
    AND invoices <> 0) AS not_billed_once,
  (SELECT count(*)::int FROM found WHERE NOT is_right) AS wrongly_billed,
  (SELECT count(*)::int FROM periods p JOIN own s ON s.id = p.subscription_id) - (SELECT
    count(*)::int FROM expected) AS periods_too_many,
  (SELECT count(*)::int FROM own s WHERE s.status <> 'active' OR s.current_period <> $2 OR
    s.parked_until IS NOT NULL
    OR s.renewal_date <> (s.start_date + ($2 + 1) * interval '1 month')::date
    OR s.due_at <> s.renewal_date::timestamp AT TIME ZONE s.timezone) AS wrongly_left,
  (SELECT count(*)::int FROM (SELECT created_at < max(created_at) OVER (ORDER BY seq) AS is_late
    FROM invoices
    WHERE organisation_id = $1 AND type = 'renewal') i WHERE is_late) AS out_of_order`;

/**
 * Asserts that each subscription of the organisation is in its period number `months`, and has each
 * earlier period and its renewal invoice once. Each has its own days, is created at the midnight of
 * its zone, in the order of time, and bills all units at its own price.
 */
export async function expectEachRenewed(
  { pool }: TestSystem,
  { organisationId }: CreatedOrganisation,
  months: number,
): Promise<void> {
  const { rows } = await pool.query(wrongText, [organisationId, months]);
  expect(rows[0]).toEqual({
    periods_missing: 0,
    not_billed_once: 0,
    wrongly_billed: 0,
    periods_too_many: 0,
    wrongly_left: 0,
    out_of_order: 0,
  });
}
