/** Compares billed usage with its events and with the lines that bill it. INVARIANT-4, USAGE-9. */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import type { TestSystem } from "../support/system.ts";
import { expectSumsOfEvents } from "../support/usage-sums.ts";

/**
 * Asserts that every sum and every bill covers exactly the usage stored for it. Documents that no
 * end removed have the count, the quantity and the amount of their bills.
 */
export async function expectBilledOnce(
  { pool }: Pick<TestSystem, "pool">,
  { organisationId }: CreatedOrganisation,
): Promise<void> {
  await expectSumsOfEvents({ pool });
  const { rows } = await pool.query(
    `SELECT * FROM (SELECT e.subscription_id, e.bill, e.period_index, e.meter_id, count(*) AS
      events, sum(e.quantity) AS quantity
        FROM usage_events e JOIN subscriptions s ON s.id = e.subscription_id
        WHERE e.organisation_id = $1 AND e.voided_at IS NULL AND e.bill < s.usage_billed
          GROUP BY 1, 2, 3, 4) e
      FULL JOIN (SELECT * FROM usage_bills WHERE organisation_id = $1) b USING (subscription_id,
        bill, period_index, meter_id)
      WHERE (e.events, e.quantity) IS DISTINCT FROM (b.events, b.quantity)`,
    [organisationId],
  );
  expect(rows).toEqual([]);
  // The bills that stand on a document are what its lines of usage come to.
  const { rows: documents } = await pool.query(
    `SELECT i.number FROM invoices i WHERE i.organisation_id = $1
        AND (SELECT (count(*), coalesce(sum(l.amount), 0), coalesce(sum(l.quantity), 0))
          FROM invoice_lines l
            WHERE l.invoice_id = i.id AND l.kind = 'usage')
          <> (SELECT (count(*), coalesce(sum(b.amount), 0), coalesce(sum(b.quantity), 0))
            FROM usage_bills b WHERE b.invoice_id = i.id)
        AND i.id NOT IN (SELECT r.invoice_id FROM removals r WHERE r.organisation_id = $1
          AND r.state = 'removed')
      UNION ALL SELECT c.number FROM credit_notes c WHERE c.organisation_id = $1
        AND (SELECT (count(*), coalesce(sum(l.amount), 0)) FROM credit_note_lines l
          WHERE l.credit_note_id = c.id AND l.meter_id IS NOT NULL)
          <> (SELECT (count(*), coalesce(-sum(b.amount), 0)) FROM usage_bills b
            WHERE b.credit_note_id = c.id)`,
    [organisationId],
  );
  expect(documents).toEqual([]);
}
