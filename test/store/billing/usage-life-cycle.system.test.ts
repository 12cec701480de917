/**
 * Usage through a subscription's life: before its start, after its end and its restoration, and on
 * inactive meters and plans. USAGE-5, USAGE-7.
 */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { parseDecimal } from "../../../src/domain/money/decimal.ts";
import type { UsageVerdict } from "../../../src/domain/usage/ingest.ts";
import { readQuantity, readTimestamp } from "../../../src/domain/usage/parse.ts";
import { createStore } from "../../../src/store/tenant.ts";
import { setMeterStatus } from "../../scenario/usage-builder.ts";
import { tables } from "../../support/rows.ts";
import { tenantWrites } from "../../support/tenant-writes.ts";
import { usageTest as test } from "./usage-fixture.ts";

const codes = (verdicts: readonly UsageVerdict[]): readonly string[] =>
  verdicts.map((verdict) => (verdict.status === "rejected" ? verdict.code : verdict.status));

test("a pending subscription takes usage from the first instant of its start date", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-01");
  await fixture.meter(organisation);
  const id = await fixture.subscribe(organisation, {
    startDate: "2026-03-10",
    timezone: "Pacific/Kiritimati",
  });
  // Its start date begins in Kiritimati at ten o'clock UTC of the day before. The reporter's clock
  // is ahead.
  await fixture.setClock(organisation, "2026-03-09T09:59:30Z");
  const verdicts = await fixture.report(organisation, id, [
    ["1", "2026-03-09T09:59:59.999999Z"],
    ["2", "2026-03-09T10:00:00Z"],
    ["4", "2026-03-09T10:00:30Z"],
    ["8", "2026-03-09T10:00:30.000001Z"],
  ]);
  expect(codes(verdicts)).toEqual([
    "before_subscription_start",
    "created",
    "created",
    "timestamp_in_future",
  ]);
  expect((await fixture.row(id)).status).toBe("pending");
  await fixture.setClock(organisation, "2026-04-09T10:00:00Z");
  await fixture.bill(organisation);
  expect(await fixture.bills(id)).toEqual(["0: 2 of 6.0000 in 0, 3.0000 on INV-0002"]);
});

test("a restored subscription takes rejected usage under the same event ids", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  await fixture.meter(organisation);
  const id = await fixture.subscribe(organisation, { discountPercent: parseDecimal("50") });
  const now = new Date("2026-03-12T15:30:00Z");
  const { usage } = createStore(fixture.pool).tenant(organisation, now);
  await fixture.setClock(organisation, now.toISOString());
  await fixture.use(organisation, id, ["4", "2026-03-12"]);
  const writes = tenantWrites(fixture.pool, organisation);
  const request = {
    when: "now",
    deleteUnsentInvoices: false,
    voidApprovedInvoices: false,
  } as const;
  expect(await writes.end({ id, now }, request)).toMatchObject({ kind: "ended" });

  const later = new Date("2026-03-12T20:00:00Z");
  await fixture.setClock(organisation, later.toISOString());
  await fixture.use(organisation, id, ["1", "2026-03-12T15:29:59Z"]);
  const [quantity, occurredAt] = [readQuantity("2"), readTimestamp("2026-03-12T18:00:00Z")];
  if (quantity === null || occurredAt === null) throw new Error("no event");
  const meter = { by: "code", value: "api-calls" } as const;
  const between = [{ eventId: randomUUID(), subscription: id, meter, quantity, occurredAt }];
  expect(codes(await usage.report(between, later))).toEqual(["after_subscription_end"]);
  await writes.restore({ id, now: later });
  expect(codes(await usage.report(between, later))).toEqual(["created"]);
  expect(codes(await usage.report(between, later))).toEqual(["duplicate"]);

  await fixture.setClock(organisation, "2026-03-13");
  expect(await fixture.bill(organisation)).toEqual([]);
  await fixture.setClock(organisation, "2026-04-10");
  await fixture.bill(organisation);
  expect(await fixture.bills(id)).toEqual([
    "0: 1 of 4.0000 in 0, 2.0000 on INV-0002",
    "1: 2 of 3.0000 in 0, 1.5000 on INV-0003",
  ]);
  // Late usage is billed by the renewal, and the plan's discount does not apply to usage.
  expect((await fixture.invoices(id)).map(({ type, lines }) => [type, ...lines])).toEqual([
    ["first", "plan 62.5000"],
    ["usage", "usage 2.0000"],
    ["renewal", "plan 62.5000", "usage 1.5000"],
  ]);
});

test("the usage of an inactive meter is billed, and an inactive plan takes usage", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  await fixture.meter(organisation);
  await fixture.meter(organisation, { code: "storage", price: "2" });
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2026-03-20");
  await fixture.use(organisation, id, ["4", "2026-03-20"]);
  await setMeterStatus(fixture.pool, organisation, "api-calls", "inactive");
  await tables(fixture.pool).plan.updateMany({
    where: { organisationId: organisation },
    data: { status: "inactive" },
  });
  const verdicts = await fixture.report(organisation, id, [
    ["1", "2026-03-20"],
    ["3", "2026-03-20", "storage"],
  ]);
  expect(codes(verdicts)).toEqual(["meter_inactive", "created"]);
  await fixture.setClock(organisation, "2026-04-10");
  await fixture.bill(organisation);
  expect((await fixture.invoices(id)).at(-1)?.lines).toEqual([
    "plan 125.0000",
    "usage 2.0000",
    "usage 6.0000",
  ]);
});
