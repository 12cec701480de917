/**
 * A request that was admitted before the sandbox's clock moved decides and writes by the clock's
 * instant. CLOCK-1.
 */
import { expect } from "vitest";
import { civilDate } from "../../../src/domain/calendar/civil-date.ts";
import { tables } from "../../support/rows.ts";
import { tenantWrites } from "../../support/tenant-writes.ts";
import { usageTest as test } from "./usage-fixture.ts";

const before = "2026-04-05T12:00:00Z";

test("an end that was admitted before the clock moved ends by the clock", async ({ fixture }) => {
  const organisation = await fixture.sandbox("2026-03-10");
  await fixture.meter(organisation);
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2026-04-20");
  await fixture.bill(organisation);
  await fixture.use(organisation, id, ["100", "2026-04-15"]);
  const { end } = tenantWrites(fixture.pool, organisation);
  const request = {
    when: "now",
    deleteUnsentInvoices: false,
    voidApprovedInvoices: false,
  } as const;
  await end({ id, now: before }, request);
  const { status, end_date, ended_at } = await fixture.row(id);
  expect({ status, end_date, ended_at }).toEqual({
    status: "ended",
    end_date: "2026-04-20",
    ended_at: new Date("2026-04-20T12:00:00Z"),
  });
  // Usage of before the end is accepted, as the usage that the end billed.
  await fixture.use(organisation, id, ["1", "2026-04-10"]);
  expect(await fixture.bills(id)).toEqual(["1: 1 of 100.0000 in 1, 50.0000 on INV-0003"]);
});

test("a change that was admitted before the clock moved dates its invoice by the clock", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2026-04-20");
  await fixture.bill(organisation);
  await tenantWrites(fixture.pool, organisation).changeUnits(
    { id, now: before },
    {
      units: 12,
      prorate: true,
      behaviour: null,
      effectiveDate: civilDate("2026-04-20"),
      document: null,
    },
  );
  const change = { subscriptionId: id, type: "change" };
  expect(await tables(fixture.pool).invoice.findMany({ where: change })).toMatchObject([
    { issueDate: new Date("2026-04-20"), createdAt: new Date("2026-04-20T12:00:00Z") },
  ]);
});
