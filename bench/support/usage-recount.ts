/**
 * Checks that the billed usage equals the stored usage. Every sum and amount is recounted by SQL
 * that shares nothing with the billing run. INVARIANT-4
 */
import assert from "node:assert/strict";
import { withClient } from "./usage-due.ts";

const sumsText = `
WITH stored AS MATERIALIZED (
  SELECT subscription_id, bill, period_index, meter_id, count(*) AS events,
    sum(quantity) AS quantity
  FROM usage_events WHERE organisation_id = ANY ($1) AND voided_at IS NULL GROUP BY 1, 2, 3, 4
), billed AS (
  SELECT * FROM usage_bills WHERE organisation_id = ANY ($1)
)
SELECT sum(s.events)::int AS stored, sum(b.events)::int AS billed,
  count(*) FILTER (WHERE b.bill IS NULL)::int AS missing,
  count(*) FILTER (WHERE s.bill IS NULL)::int AS invented,
  count(*) FILTER (WHERE b.events <> s.events OR b.quantity <> s.quantity
    OR b.priced <> s.quantity)::int AS different
FROM stored s FULL JOIN billed b USING (subscription_id, bill, period_index, meter_id)`;

// The cost of each quantity by the prices of its plan, rounded to the cent.
const amountsText = `
WITH priced AS (
  SELECT b.*, p.type, p.price, s.plan_id FROM usage_bills b JOIN subscriptions s
    ON s.id = b.subscription_id
    JOIN plan_meters p ON p.plan_id = s.plan_id AND p.meter_id = b.meter_id
      WHERE b.organisation_id = ANY ($1)
), expected AS (
  SELECT b.amount, b.invoice_id, b.type, round(CASE b.type
    WHEN 'per_unit' THEN b.quantity * b.price
    WHEN 'tiered' THEN (SELECT sum((least(b.quantity, coalesce(t.up_to,
      b.quantity)) - t.below) * t.unit_price) FROM (
        SELECT up_to, unit_price, coalesce(lag(up_to) OVER (ORDER BY position), 0) AS below
          FROM plan_meter_tiers
        WHERE plan_id = b.plan_id AND meter_id = b.meter_id) t WHERE t.below < b.quantity)
    ELSE (SELECT CASE b.type WHEN 'volume' THEN b.quantity * t.unit_price ELSE t.flat_price END
      FROM plan_meter_tiers t
        WHERE t.plan_id = b.plan_id AND t.meter_id = b.meter_id AND (t.up_to IS NULL
          OR b.quantity <= t.up_to) ORDER BY t.position LIMIT 1)
    END, 2) AS expected
  FROM priced b
), invoiced AS (
  SELECT l.invoice_id, sum(l.amount) AS amount FROM invoice_lines l
    WHERE l.organisation_id = ANY ($1) AND l.kind = 'usage' GROUP BY 1
)
SELECT count(DISTINCT type)::int AS types, count(*) FILTER (WHERE amount IS DISTINCT
  FROM expected)::int AS mispriced,
  (SELECT count(*)::int FROM (SELECT invoice_id, sum(amount) AS amount FROM expected GROUP BY 1) e
    FULL JOIN invoiced i USING (invoice_id)
    WHERE e.amount IS DISTINCT FROM i.amount) AS misinvoiced
FROM expected`;

const closedText = `
SELECT count(*)::int AS subscriptions, count(*) FILTER (WHERE usage_bill <> 1 OR usage_billed <> 1
  OR current_period <> 1 OR parked_attempts > 0
  OR due_at <= now())::int AS unclosed,
  (SELECT count(*)::int FROM (SELECT FROM invoices WHERE organisation_id = ANY ($1)
    AND type = 'renewal'
    GROUP BY subscription_id HAVING count(*) = 1) r) AS renewed
FROM subscriptions WHERE organisation_id = ANY ($1)`;

/**
 * Rejects unless each event of these organisations is billed once. It must be in the sum of its
 * subscription, period and meter, at its price and on one invoice.
 */
export async function requireBilledOnce(
  databaseUrl: string,
  organisationIds: readonly string[],
  { subscriptions, events }: { readonly subscriptions: number; readonly events: number },
): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    // Reads the rows by another path than the billed sums did.
    await client.query(
      "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off",
    );
    const sums = await client.query(sumsText, [organisationIds]);
    assert.deepEqual(sums.rows, [
      { stored: events, billed: events, missing: 0, invented: 0, different: 0 },
    ]);
    await client.query("RESET ALL");
    const amounts = await client.query(amountsText, [organisationIds]);
    assert.deepEqual(amounts.rows, [{ types: 4, mispriced: 0, misinvoiced: 0 }]);
    const closed = await client.query(closedText, [organisationIds]);
    assert.deepEqual(closed.rows, [{ subscriptions, unclosed: 0, renewed: subscriptions }]);
  });
}
