/**
 * Usage of a period that begins in Setup Mode is never billed, in whichever way the period begins.
 * SETUP-3.
 */
import { expect } from "vitest";
import { operatorWrites } from "../../support/operator-writes.ts";
import { usageTest as test, type UsageFixture } from "./usage-fixture.ts";

/** Goes to a day and switches Setup Mode, once the ledger has what is due by then. */
async function switchOn(
  fixture: UsageFixture,
  organisation: string,
  day: string,
  on: boolean,
): Promise<void> {
  await fixture.setClock(organisation, day);
  await fixture.bill(organisation);
  await fixture.posted(organisation);
  await operatorWrites(fixture.pool).setSetupMode(organisation, on);
}

/** Uses 100 calls in the period, switches Setup Mode off, and bills the end of the period. */
async function billAfterwards(
  fixture: UsageFixture,
  organisation: string,
  id: string,
  { used, off, end }: { readonly used: string; readonly off: string; readonly end: string },
): Promise<void> {
  await fixture.setClock(organisation, used);
  await fixture.bill(organisation);
  await fixture.use(organisation, id, ["100", used]);
  await switchOn(fixture, organisation, off, false);
  await fixture.setClock(organisation, end);
  await fixture.bill(organisation);
}

const days = { used: "2026-03-12", off: "2026-03-20", end: "2026-04-11" };

test("a subscription that is created in Setup Mode is not billed for its first usage", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  await fixture.meter(organisation);
  await switchOn(fixture, organisation, "2026-03-10", true);
  const id = await fixture.subscribe(organisation);
  await billAfterwards(fixture, organisation, id, days);
  expect(await fixture.bills(id)).toEqual(["0: 1 of 100.0000 in 0, 0.0000 on nothing"]);
});

test("a pending subscription that begins in Setup Mode is not billed for its first usage", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-01");
  await fixture.meter(organisation);
  const id = await fixture.subscribe(organisation, { startDate: "2026-03-10" });
  await switchOn(fixture, organisation, "2026-03-01", true);
  await billAfterwards(fixture, organisation, id, days);
  expect(await fixture.bills(id)).toEqual(["0: 1 of 100.0000 in 0, 0.0000 on nothing"]);
  expect((await fixture.invoices(id)).map(({ type, subtotal }) => `${type} ${subtotal}`)).toEqual([
    "first 125.0000",
    "renewal 125.0000",
  ]);
});

test("a period that was invoiced ahead and begins in Setup Mode bills no usage", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-10", { invoice_create_days: 20 });
  await fixture.meter(organisation);
  const id = await fixture.subscribe(organisation);
  await switchOn(fixture, organisation, "2026-04-01", true);
  const next = { used: "2026-04-11", off: "2026-04-20", end: "2026-05-11" };
  await billAfterwards(fixture, organisation, id, next);
  expect(await fixture.bills(id)).toEqual(["1: 1 of 100.0000 in 1, 0.0000 on nothing"]);
});

test("a pending subscription that begins after Setup Mode is billed for its first usage", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-01");
  await fixture.meter(organisation);
  const id = await fixture.subscribe(organisation, { startDate: "2026-03-10" });
  await switchOn(fixture, organisation, "2026-03-01", true);
  await switchOn(fixture, organisation, "2026-03-09", false);
  await billAfterwards(fixture, organisation, id, days);
  expect(await fixture.bills(id)).toEqual(["0: 1 of 100.0000 in 0, 50.0000 on INV-0002"]);
});
