/** Exporting and dropping usage events over the wire. USAGE-18 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addMeter } from "../../scenario/usage-builder.ts";
import { type BillingFixture, billingFixture } from "../../store/billing/billing-fixture.ts";
import { startSystem, type TestSystem } from "../../support/system.ts";
import { type AdminAsk, askWith } from "./request.ts";

let system: TestSystem;
let fixture: BillingFixture;
let admin: AdminAsk;
let reader: AdminAsk;

beforeAll(async () => {
  system = await startSystem({ without: ["worker"] });
  fixture = await billingFixture({ url: system.databaseUrl, drop: async () => undefined });
  admin = askWith(system, await system.operator("admin", "Ada"));
  reader = askWith(system, await system.operator("read-only", "Rita"));
});

afterAll(async () => {
  await fixture?.drop();
  await system?.stop();
});

const exportEvents = "UsageService/ExportUsageEvents";
const dropEvents = "UsageService/DropUsageEvents";
const proof = { exportEvents: "2", exportChecksum: "0".repeat(64), reason: "Kept in the archive" };

/** A sandbox in May whose April is billed with two events, `one` and `two` of it. */
async function billed() {
  const organisation = await fixture.sandbox("2026-04-16");
  const meter = await addMeter(fixture.pool, organisation);
  const subscription = await fixture.subscribe(organisation, { startDate: "2026-04-01" });
  await fixture.pool.query(
    `INSERT INTO usage_events (organisation_id, event_id, subscription_id, meter_id, period_index,
        bill, quantity, occurred_at)
      SELECT $1, id, $2, $3, 0, 0, 2, '2026-04-02' FROM unnest('{one,two}'::text[]) AS r(id)`,
    [organisation, subscription, meter],
  );
  await fixture.setClock(organisation, "2026-05-16");
  await fixture.bill(organisation);
  return organisation;
}

test("events of a bill are exported by a reader and dropped by an admin, in parts", async () => {
  const [organisation, other] = [await billed(), await billed()];
  const { lines } = await reader.done(exportEvents, { organisation, lastMonth: "2026-04" });
  expect(lines.map((line: string) => JSON.parse(line).id)).toEqual(["one", "two"]);
  expect(await reader.done(exportEvents, { organisation, lastMonth: "2026-03" })).toEqual({});
  const order = { organisation, ...proof };
  expect(await reader.refused(dropEvents, { ...order, lines })).toBe("insufficient_role");
  expect(await admin.done(dropEvents, { ...order, lines: lines.slice(0, 1) })).toEqual({
    dropped: 1,
  });
  expect(await admin.done(dropEvents, { ...order, lines })).toEqual({
    dropped: 1,
    droppedBefore: 1,
  });
  const dropped = { organisation, id: "one" };
  const gone = "usage_event_not_found";
  expect(await reader.refused("UsageService/GetUsageEvent", dropped)).toBe(gone);
  expect(await admin.refused("UsageService/VoidUsageEvent", { ...dropped, reason: "Twice" })).toBe(
    gone,
  );
  const check = "UsageService/CheckUsageSums";
  expect((await reader.done(check, { organisation })).data ?? []).toEqual([]);
  const kept = await reader.done("UsageService/GetUsageEvent", { ...dropped, organisation: other });
  expect(kept.event).toMatchObject({ id: "one", billed: true });
});

test("a month that is not over, other lines and an unknown organisation are refused", async () => {
  const organisation = await billed();
  const early = { organisation, lastMonth: "2026-05" };
  expect(await reader.refused(exportEvents, early)).toBe("invalid_parameter last_month");
  const unknown = { ...early, organisation: randomUUID() };
  expect(await reader.refused(exportEvents, unknown)).toBe("organisation_not_found");
  const lines = (...given: readonly string[]) => ({ organisation, lines: given, ...proof });
  for (const one of [lines("one"), lines("{}"), lines('{"id":"one"}', '{"id":"one"}')])
    expect(await admin.refused(dropEvents, one)).toBe("invalid_parameter lines");
  expect(await admin.refused(dropEvents, lines('{"id":"one"}'))).toBe("invalid_state");
  const nobody = { ...lines('{"id":"one"}'), organisation: randomUUID() };
  expect(await admin.refused(dropEvents, nobody)).toBe("organisation_not_found");
});
