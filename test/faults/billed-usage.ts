/**
 * Usage after a fault: every stored event is in its sum and on one bill, each closed bill on one
 * document, and nothing else is billed. INVARIANT-4, INVARIANT-10.
 */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import type { TestSystem } from "../support/system.ts";
import { expectSumsOfEvents } from "../support/usage-sums.ts";

// One statement, so that it sees one instant, even while usage is stored and billed. INVARIANT-4.
const faultsText = `
WITH stored AS (
  SELECT e.subscription_id, e.bill, e.period_index, e.meter_id, count(*) AS events, sum(e.quantity)
    AS quantity
  FROM usage_events e JOIN subscriptions s ON s.id = e.subscription_id
  WHERE e.organisation_id = $1 AND e.voided_at IS NULL AND e.bill < s.usage_billed
    GROUP BY 1, 2, 3, 4
), billed AS (
  SELECT b.*, p.start_date FROM usage_bills b
    LEFT JOIN periods p ON p.organisation_id = $1 AND p.subscription_id = b.subscription_id
      AND p.index = b.period_index
  WHERE b.organisation_id = $1
), lines AS (
  SELECT l.*, i.subscription_id FROM invoice_lines l JOIN invoices i ON i.organisation_id = $1
    AND i.id = l.invoice_id
  WHERE l.organisation_id = $1 AND l.kind = 'usage' AND i.status NOT IN ('voided', 'deleted')
), credits AS (
  SELECT l.* FROM credit_note_lines l WHERE l.organisation_id = $1 AND l.meter_id IS NOT NULL
)
SELECT 'billed as it was stored' AS broken, to_json(b) AS bill, to_json(s) AS other
FROM stored s FULL JOIN billed b USING (subscription_id, bill, period_index, meter_id)
WHERE (s.events, s.quantity) IS DISTINCT FROM (b.events, b.quantity)
UNION ALL SELECT 'on one line of a live invoice', to_json(b), NULL FROM billed b
WHERE (b.invoice_id IS NOT NULL OR b.amount > 0) AND 1 <> (SELECT count(*) FROM lines l
  WHERE (l.invoice_id, l.subscription_id, l.meter_id, l.period_start, l.quantity, l.amount)
    = (b.invoice_id, b.subscription_id, b.meter_id, b.start_date, b.quantity, b.amount))
UNION ALL SELECT 'on one line of a credit note', to_json(b), NULL FROM billed b
WHERE (b.credit_note_id IS NOT NULL OR b.amount < 0) AND 1 <> (SELECT count(*) FROM credits l
  WHERE (l.credit_note_id, l.meter_id, l.amount) = (b.credit_note_id, b.meter_id, -b.amount))
UNION ALL SELECT 'each line is of a bill', to_json(l), NULL FROM lines l
WHERE NOT EXISTS (SELECT 1 FROM billed b WHERE (b.invoice_id, b.meter_id, b.start_date) =
  (l.invoice_id, l.meter_id, l.period_start))
UNION ALL SELECT 'each credit is of a bill', to_json(l), NULL FROM credits l
WHERE NOT EXISTS (SELECT 1 FROM billed b WHERE (b.credit_note_id, b.meter_id) = (l.credit_note_id,
  l.meter_id))`;

/**
 * Asserts that every sum equals its events, that every closed bill covers the usage stored for it
 * once and stands on one line of one live document, and that no line lacks a bill.
 */
export async function expectUsageBilledOnce(
  { pool }: Pick<TestSystem, "pool">,
  { organisationId }: CreatedOrganisation,
): Promise<void> {
  await expectSumsOfEvents({ pool });
  expect((await pool.query(faultsText, [organisationId])).rows).toEqual([]);
}

/**
 * A subscription's usage of one meter: all that is stored, what bills have taken, and what is still
 * to be billed.
 */
interface UsageSum {
  readonly subscription_id: string;
  readonly code: string;
  readonly events: number;
  readonly stored: string;
  readonly billed: string;
  readonly open: string;
  /** What the bills come to. */
  readonly amount: string;
}

/** The sums of the organisation's usage, as of one instant. */
export async function usageSums(
  { pool }: Pick<TestSystem, "pool">,
  { organisationId }: CreatedOrganisation,
): Promise<readonly UsageSum[]> {
  const { rows } = await pool.query<UsageSum>(
    `SELECT s.id AS subscription_id, m.code, count(*)::int AS events, sum(e.quantity)::text AS
      stored,
        (SELECT coalesce(sum(b.quantity), 0.0000)::text FROM usage_bills b
          WHERE b.subscription_id = s.id AND b.meter_id = m.id) AS billed,
        coalesce(sum(e.quantity) FILTER (WHERE e.bill >= s.usage_billed), 0.0000)::text AS open,
        (SELECT coalesce(sum(b.amount), 0.0000)::text FROM usage_bills b
          WHERE b.subscription_id = s.id AND b.meter_id = m.id) AS amount
      FROM usage_events e JOIN subscriptions s ON s.id = e.subscription_id JOIN meters m
        ON m.id = e.meter_id
      WHERE e.organisation_id = $1 AND e.voided_at IS NULL GROUP BY s.id, m.id
        ORDER BY s.seq, m.code`,
    [organisationId],
  );
  return rows;
}
