/** Asserts that the sums of usage equal their events. The events are the truth. INVARIANT-10. */
import { expect } from "vitest";
import type { Pool } from "../../src/store/database/pool.ts";

// One statement, so that it sees one instant, even while usage is stored and voided.
const differencesText = `SELECT * FROM (
    SELECT organisation_id, subscription_id, bill, period_index, meter_id, count(*) AS events,
      sum(quantity) AS quantity
    FROM usage_events WHERE voided_at IS NULL GROUP BY 1, 2, 3, 4, 5) e
  FULL JOIN (SELECT organisation_id, subscription_id, bill, period_index, meter_id,
      events - dropped_events AS events, quantity - dropped_quantity AS quantity
    FROM usage_sums WHERE events > dropped_events) s
    USING (organisation_id, subscription_id, bill, period_index, meter_id)
  WHERE (e.events, e.quantity) IS DISTINCT FROM (s.events, s.quantity)`;

/** Asserts that every sum of the database equals its events, and that no sum is missing. */
export async function expectSumsOfEvents({ pool }: { readonly pool: Pool }): Promise<void> {
  expect((await pool.query(differencesText)).rows).toEqual([]);
}
