/** CheckUsageSums over the wire: a sum that differs from its events is named. USAGE-17 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addMeter } from "../../scenario/usage-builder.ts";
import { type BillingFixture, billingFixture } from "../../store/billing/billing-fixture.ts";
import { tables } from "../../support/rows.ts";
import { type Answered, startSystem, type TestSystem } from "../../support/system.ts";
import { type AdminAsk, askWith } from "./request.ts";

let system: TestSystem;
let fixture: BillingFixture;
let reader: AdminAsk;

beforeAll(async () => {
  system = await startSystem({ without: ["worker"] });
  fixture = await billingFixture({ url: system.databaseUrl, drop: async () => undefined });
  reader = askWith(system, await system.operator("read-only", "Rita"));
});

afterAll(async () => {
  await fixture?.drop();
  await system?.stop();
});

const method = "UsageService/CheckUsageSums";

/** A sandbox whose two subscriptions have usage of 1 and 2.5, and of 3. */
async function used() {
  const organisation = await fixture.sandbox("2026-04-16");
  const meter = await addMeter(fixture.pool, organisation);
  const one = await fixture.subscribe(organisation, { startDate: "2026-04-01" });
  const other = await fixture.subscribe(organisation, { startDate: "2026-04-01" });
  await fixture.pool.query(
    `INSERT INTO usage_events (organisation_id, event_id, subscription_id, meter_id, period_index,
        bill, quantity, occurred_at)
      SELECT $1, gen_random_uuid(), r.id, $2, 0, 0, r.quantity, '2026-04-02'
      FROM unnest($3::uuid[], $4::numeric[]) AS r(id, quantity)`,
    [organisation, meter, [one, one, other], [1, 2.5, 3]],
  );
  return { organisation, meter, one, other };
}

test("sums of an organisation that differ from their events are named", async () => {
  const [{ organisation, meter, one, other }, unchanged] = [await used(), await used()];
  const first = await reader.done(method, { organisation });
  expect(first).toMatchObject({ read: 2, hasMore: true });
  expect(first.data ?? []).toEqual([]);
  expect(await reader.done(method, { organisation, cursor: first.nextCursor })).toEqual({});
  await tables(fixture.pool).usageSum.updateMany({
    where: { subscriptionId: one },
    data: { quantity: 4.5 },
  });
  await tables(fixture.pool).usageSum.deleteMany({ where: { subscriptionId: other } });
  const { data = [] } = await reader.done(method, { organisation });
  const named = (data as Answered["json"][]).toSorted((a, b) => (a.quantity > b.quantity ? -1 : 1));
  expect(named).toMatchObject([
    { subscription: one, meter, events: "2", quantity: "3.5000" },
    { subscription: other, meter, events: "1", quantity: "3.0000" },
  ]);
  expect(named.map((row) => [row.summedEvents ?? "0", row.summedQuantity])).toEqual([
    ["2", "4.5000"],
    ["0", "0.0000"],
  ]);
  const theirs = await reader.done(method, { organisation: unchanged.organisation });
  expect(theirs.data ?? []).toEqual([]);
});

test("sums of an unknown organisation, or after no subscription's id, are refused", async () => {
  expect(await reader.refused(method, { organisation: randomUUID() })).toBe(
    "organisation_not_found",
  );
  const { organisation } = await used();
  expect(await reader.refused(method, { organisation, cursor: "x" })).toBe(
    "invalid_parameter cursor",
  );
});
