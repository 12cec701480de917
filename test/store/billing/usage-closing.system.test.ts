/**
 * Usage that a close bills, in PostgreSQL: the sums over all partitions, without what was billed
 * before. INVARIANT-4, USAGE-9, USAGE-10.
 */
import { expect } from "vitest";
import { decideEnded } from "../../../src/domain/subscriptions/end.ts";
import { loadStates } from "../../../src/store/billing/billing-state.ts";
import { lockSubscriptions } from "../../../src/store/database/lock-order.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { saveEnded } from "../../../src/store/subscriptions/terminations.ts";
import { createStore } from "../../../src/store/tenant.ts";
import { setOrganisation, tables } from "../../support/rows.ts";
import { tenantWrites } from "../../support/tenant-writes.ts";
import { usageTest as test, type UsageFixture } from "./usage-fixture.ts";

async function end(
  fixture: UsageFixture,
  organisation: string,
  subscriptionId: string,
  now: string,
  when: "now" | "period_end" = "now",
): Promise<void> {
  const request = { when, deleteUnsentInvoices: false, voidApprovedInvoices: false };
  const { kind } = await tenantWrites(fixture.pool, organisation).end(
    { id: subscriptionId, now },
    request,
  );
  expect(kind).toBe("ended");
}

test("a close sums a period's events over every partition, without voided ones", async ({
  fixture,
}) => {
  const [organisation, id] = await fixture.metered();
  await fixture.meter(organisation, { code: "storage", unitLabel: "GB", price: "2" });
  await fixture.setClock(organisation, "2026-03-20");
  const uses = Array.from({ length: 300 }, () => ["0.0001", "2026-03-20"] as const);
  await fixture.use(
    organisation,
    id,
    ...uses,
    ["3.0001", "2026-03-10T00:00:00Z"],
    ["1.5", "2026-03-20", "storage"],
  );
  const { rows } = await fixture.pool.query(
    "SELECT count(DISTINCT tableoid)::int AS parts FROM usage_events WHERE subscription_id = $1",
    [id],
  );
  expect(rows[0].parts).toBe(16);
  const voided = `UPDATE usage_events SET voided_at = now(), void_reason = 'twice'
    WHERE (organisation_id, event_id) IN (
      SELECT organisation_id, event_id FROM usage_events
      WHERE subscription_id = $1 AND quantity = 0.0001 LIMIT 1)`;
  await fixture.pool.query(voided, [id]);
  // The reporter's clock is ahead: this event belongs to the next period.
  await fixture.setClock(organisation, "2026-04-09T23:59:30Z");
  await fixture.use(organisation, id, ["7", "2026-04-10T00:00:00Z"]);
  await fixture.setClock(organisation, "2026-04-10");
  expect(await fixture.bill(organisation)).toMatchObject([{ performed: 1, issued: 1 }]);
  expect((await fixture.bills(id)).toSorted()).toEqual([
    "0: 1 of 1.5000 in 0, 3.0000 on INV-0002",
    "0: 300 of 3.0300 in 0, 1.5200 on INV-0002",
  ]);
  expect(await fixture.row(id)).toMatchObject({ usage_bill: 1, usage_billed: 1 });
  await fixture.use(organisation, id, ["1", "2026-04-09T23:59:59.999999Z"], ["2", "2026-04-10"]);
  await fixture.setClock(organisation, "2026-05-10");
  await fixture.bill(organisation);
  expect((await fixture.bills(id)).slice(2)).toEqual([
    "1: 1 of 1.0000 in 0, 0.5000 on INV-0003",
    "1: 2 of 9.0000 in 1, 4.5000 on INV-0003",
  ]);
  expect((await fixture.invoices(id)).map(({ type, lines }) => [type, ...lines])).toEqual([
    ["first", "plan 125.0000"],
    ["renewal", "plan 125.0000", "usage 1.5200", "usage 3.0000"],
    ["renewal", "plan 125.0000", "usage 0.5000", "usage 4.5000"],
  ]);
  // The third bill of the first period continues from the second.
  await fixture.use(organisation, id, ["2", "2026-04-01"]);
  await fixture.setClock(organisation, "2026-06-10");
  await fixture.bill(organisation);
  expect((await fixture.bills(id)).slice(4)).toEqual(["2: 1 of 2.0000 in 0, 1.0000 on INV-0004"]);
});

test("a close of many subscriptions bills each for its own usage", async ({ fixture }) => {
  const [organisation, first] = await fixture.metered();
  const [other, foreign] = await fixture.metered();
  const ids = [first];
  for (let count = 1; count < 12; count += 1) ids.push(await fixture.subscribe(organisation));
  for (const owner of [organisation, other]) await fixture.setClock(owner, "2026-03-11");
  for (const [index, id] of ids.entries())
    if (index > 0) await fixture.use(organisation, id, [`${index}`, "2026-03-11"]);
  await fixture.use(other, foreign, ["1000", "2026-03-11"]);
  await fixture.setClock(organisation, "2026-04-10");
  expect(await fixture.bill(organisation)).toMatchObject([{ performed: 12 }]);
  for (const [index, id] of ids.entries()) {
    const bills = (await fixture.bills(id)).map((bill) => bill.replace(/ on INV-\d+$/, ""));
    expect(bills).toEqual(
      index === 0 ? [] : [`0: 1 of ${index}.0000 in 0, ${(index / 2).toFixed(4)}`],
    );
  }
  expect(await fixture.bills(foreign)).toEqual([]);
});

test("a close never bills usage of a period that began in Setup Mode", async ({ fixture }) => {
  const [organisation, id] = await fixture.metered();
  await fixture.setClock(organisation, "2026-04-09");
  await fixture.use(organisation, id, ["4", "2026-04-09"]);
  await setOrganisation(fixture.pool, organisation, { setupMode: true });
  await fixture.setClock(organisation, "2026-04-20");
  expect(await fixture.bill(organisation)).toMatchObject([{ performed: 1, issued: 0 }]);
  await fixture.use(organisation, id, ["100", "2026-04-20"], ["6", "2026-04-01"]);
  expect(await fixture.row(id)).toMatchObject({ usage_bill: 1, usage_billed: 0 });
  await setOrganisation(fixture.pool, organisation, { setupMode: false });
  await fixture.setClock(organisation, "2026-05-10");
  await fixture.bill(organisation);
  expect(await fixture.bills(id)).toEqual([
    "0: 1 of 4.0000 in 0, 2.0000 on INV-0002",
    "1: 1 of 6.0000 in 0, 3.0000 on INV-0002",
    "1: 1 of 100.0000 in 1, 0.0000 on nothing",
  ]);
  expect((await fixture.invoices(id))[1]).toMatchObject({ type: "renewal", start: "2026-05-10" });
});

test("usage that is reported after an end is billed on one more invoice the next day", async ({
  fixture,
}) => {
  const [organisation, id] = await fixture.metered({ timezone: "America/New_York" });
  await fixture.setClock(organisation, "2026-03-12T15:30:00Z");
  await fixture.use(organisation, id, ["4", "2026-03-12T15:00:00Z"]);
  await end(fixture, organisation, id, "2026-03-12T15:30:00Z");
  expect(await fixture.row(id)).toMatchObject({
    status: "ended",
    ended_at: new Date("2026-03-12T15:30:00Z"),
    due_at: null,
    usage_bill: 1,
    usage_billed: 1,
  });
  expect(await fixture.bills(id)).toEqual(["0: 1 of 4.0000 in 0, 2.0000 on INV-0002"]);
  await fixture.setClock(organisation, "2026-03-12T20:00:00Z");
  const late = await fixture.report(organisation, id, [
    ["1", "2026-03-12T15:29:59.999999Z"],
    ["1", "2026-03-12T15:30:00Z"],
  ]);
  expect(late).toMatchObject([
    { status: "created" },
    { status: "rejected", code: "after_subscription_end" },
  ]);
  const midnight = new Date("2026-03-13T04:00:00Z");
  expect((await fixture.row(id)).due_at).toEqual(midnight);
  expect(await fixture.bill(organisation)).toEqual([]);
  // A refused end of an ended subscription bills nothing before that day.
  await expect(end(fixture, organisation, id, "2026-03-12T21:00:00Z")).rejects.toThrow(
    /has ended already/,
  );
  expect(await fixture.bills(id)).toHaveLength(1);
  await fixture.setClock(organisation, midnight.toISOString());
  expect(await fixture.bill(organisation)).toMatchObject([{ performed: 1, issued: 1 }]);
  expect((await fixture.bills(id))[1]).toBe("1: 1 of 1.0000 in 0, 0.5000 on INV-0003");
  expect(await fixture.row(id)).toMatchObject({
    status: "ended",
    due_at: null,
    usage_bill: 2,
    usage_billed: 2,
  });
  expect((await fixture.invoices(id)).map(({ type }) => type)).toEqual(["first", "usage", "usage"]);
  expect(await fixture.bill(organisation)).toEqual([]);
});

test("an end that finishes after the renewal date bills no later usage", async ({ fixture }) => {
  const [organisation, id] = await fixture.metered({ timezone: "Europe/Paris" });
  const settings = await createStore(fixture.pool).tenant(organisation, new Date()).settings();
  // The subscription is not renewed while its end runs.
  await fixture.setClock(organisation, "2026-04-11");
  await fixture.use(organisation, id, ["4", "2026-04-09"], ["6", "2026-04-11"]);
  const now = new Date("2026-04-11T12:00:00Z");
  await inTransaction(fixture.pool, async (client) => {
    await lockSubscriptions(client, organisation, [id]);
    const [state] = await loadStates(client, settings, { ids: [id], now, usage: "of_running" });
    if (state === undefined) throw new Error("no such subscription");
    await saveEnded(client, state, decideEnded(state, "now"), now);
  });
  const row = await fixture.row(id);
  expect([row.end_date, row.ended_at]).toEqual(["2026-04-10", new Date("2026-04-09T22:00:00Z")]);
  expect(await fixture.bills(id)).toEqual(["0: 1 of 4.0000 in 0, 2.0000 on INV-0002"]);
  expect((await fixture.invoices(id))[1]).toMatchObject({
    type: "usage",
    start: "2026-03-10",
    subtotal: "2.0000",
  });
  expect(row).toMatchObject({ usage_bill: 1, usage_billed: 1 });
  const late = await fixture.report(organisation, id, [
    ["1", "2026-04-10"],
    ["1", "2026-04-09"],
  ]);
  expect(late).toMatchObject([{ code: "after_subscription_end" }, { status: "created" }]);
});

test("a run adds usage to the draft that was issued ahead, and a request does not", async ({
  fixture,
}) => {
  const [organisation, id] = await fixture.metered({ invoice_create_days: 5 });
  const other = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2026-04-07");
  await fixture.bill(organisation);
  await fixture.use(organisation, id, ["4", "2026-04-07"]);
  await fixture.use(organisation, other, ["6", "2026-04-07"]);
  const inLedger =
    "SET status = 'draft', ledger_invoice_id = gen_random_uuid() WHERE organisation_id = $1";
  await fixture.pool.query(`UPDATE invoices ${inLedger}`, [organisation]);
  await fixture.setClock(organisation, "2026-04-10");
  await end(fixture, organisation, id, "2026-04-10T12:00:00Z", "period_end");
  expect(await fixture.bills(id)).toEqual(["0: 1 of 4.0000 in 0, 2.0000 on INV-0005"]);
  expect((await fixture.invoices(id)).map(({ type }) => type)).toEqual([
    "first",
    "renewal",
    "usage",
  ]);
  expect(await fixture.bill(organisation)).toMatchObject([{ performed: 1, issued: 0 }]);
  expect(await fixture.bills(other)).toEqual(["0: 1 of 6.0000 in 0, 3.0000 on INV-0004"]);
  expect((await fixture.invoices(other))[1]?.lines).toEqual(["plan 125.0000", "usage 3.0000"]);
});

test("a close of many subscriptions adds usage to no draft", async ({ fixture }) => {
  const [organisation, first] = await fixture.metered({ invoice_create_days: 5 });
  const ids = [first];
  while (ids.length < 26) ids.push(await fixture.subscribe(organisation));
  const bad = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2026-04-07");
  await fixture.bill(organisation);
  for (const id of ids) await fixture.use(organisation, id, ["4", "2026-04-07"]);
  // A subscription that fails makes the run bill the others one by one. Each draft would need two
  // calls to the ledger.
  await fixture.use(organisation, bad, ["9999999999999999", "2026-04-07"]);
  const inLedger =
    "SET status = 'draft', ledger_invoice_id = gen_random_uuid() WHERE organisation_id = $1";
  await fixture.pool.query(`UPDATE invoices ${inLedger}`, [organisation]);
  await fixture.setClock(organisation, "2026-04-10");
  const parked = [{ subscriptionId: bad }];
  expect(await fixture.bill(organisation)).toMatchObject([
    { claimed: 27, performed: 26, issued: 26, parked },
  ]);
  for (const id of ids) {
    expect((await fixture.invoices(id)).map(({ type }) => type)).toEqual([
      "first",
      "renewal",
      "usage",
    ]);
  }
});

test("an amount that is too large parks the subscription until events are voided", async ({
  fixture,
}) => {
  const [organisation, id] = await fixture.metered();
  await fixture.setClock(organisation, "2026-03-20");
  await fixture.use(organisation, id, ["9999999999999999", "2026-03-20"], ["2", "2026-03-20"]);
  await expect(end(fixture, organisation, id, "2026-03-20T12:00:00Z")).rejects.toThrow(
    /Events of API calls have to be voided/,
  );
  await fixture.setClock(organisation, "2026-04-10");
  const [outcome] = await fixture.bill(organisation);
  expect(outcome?.parked).toMatchObject([
    { subscriptionId: id, reason: expect.stringContaining("have to be voided") },
  ]);
  await fixture.pool.query(
    `UPDATE usage_events SET voided_at = now(), void_reason = 'no'
      WHERE subscription_id = $1 AND quantity > 2`,
    [id],
  );
  await tables(fixture.pool).subscription.updateMany({
    where: { id },
    data: { parkedUntil: new Date() },
  });
  await fixture.bill(organisation);
  expect(await fixture.bills(id)).toEqual(["0: 1 of 2.0000 in 0, 1.0000 on INV-0002"]);
});

test("a sum of more than fifteen digits is stored on its line", async ({ fixture }) => {
  const organisation = await fixture.sandbox("2026-03-10");
  await fixture.meter(organisation, { price: "0.0001" });
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2026-03-20");
  await fixture.use(
    organisation,
    id,
    ["999999999999999.9999", "2026-03-20"],
    ["99999999999999999", "2026-03-20"],
  );
  await fixture.setClock(organisation, "2026-04-10");
  expect(await fixture.bill(organisation)).toMatchObject([{ parked: [] }]);
  expect(await fixture.bills(id)).toEqual([
    "0: 2 of 100999999999999998.9999 in 0, 10100000000000.0000 on INV-0002",
  ]);
});
