/**
 * The billing run in PostgreSQL: each period is billed once, by any number of workers. INVARIANT-1,
 * PERIOD-4.
 */
import { expect } from "vitest";
import { addDueSubscriptions } from "../../../bench/support/due-subscriptions.ts";
import { billChunk } from "../../../src/store/billing/billing-run.ts";
import { countDue, findDueOrganisations } from "../../../src/store/billing/due-organisations.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { lockWaits, setOrganisation, tables } from "../../support/rows.ts";
import { until } from "../../support/until.ts";
import { type BillingFixture, billingTest as test } from "./billing-fixture.ts";
import { poolAfterClaim } from "./observed-pool.ts";

/** Adds the job of an end that has invoices to remove. */
async function beginEnd(
  fixture: BillingFixture,
  organisationId: string,
  id: string,
): Promise<void> {
  await fixture.pool.query(
    `INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id)
      VALUES (gen_random_uuid(), $1, 'end_subscription', 'ready', $2)`,
    [organisationId, id],
  );
}

test("a due subscription is billed once, and is due again at its next renewal date", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const ids = [
    await fixture.subscribe(organisation),
    await fixture.subscribe(organisation, { planCode: "growth" }),
  ];
  expect(await fixture.bill(organisation)).toEqual([]);
  await fixture.setClock(organisation, "2026-04-10T00:00:00Z");
  expect(await countDue(fixture.pool, organisation)).toEqual({ due: 2, parked: 0 });
  expect(await fixture.bill(organisation)).toEqual([
    { claimed: 2, performed: 2, issued: 2, parked: [] },
  ]);
  for (const id of ids) {
    const [, renewal, ...others] = await fixture.invoices(id);
    expect(renewal).toMatchObject({ type: "renewal", start: "2026-04-10", end: "2026-05-10" });
    expect(others).toEqual([]);
    const row = await fixture.row(id);
    expect([row.renewal_date, row.current_period, row.due_at]).toEqual([
      "2026-05-10",
      1,
      new Date("2026-05-10"),
    ]);
  }
  expect(await countDue(fixture.pool, organisation)).toEqual({ due: 0, parked: 0 });
  expect(await fixture.bill(organisation)).toEqual([]);
});

test("a period is due when its day begins in the subscription's zone", async ({ fixture }) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const id = await fixture.subscribe(organisation, { timezone: "America/New_York" });
  await fixture.setClock(organisation, "2026-04-10T03:59:59Z");
  expect(await fixture.bill(organisation)).toEqual([]);
  await fixture.setClock(organisation, "2026-04-10T04:00:00Z");
  expect(await fixture.bill(organisation)).toHaveLength(1);
  expect((await fixture.row(id)).due_at).toEqual(new Date("2026-05-10T04:00:00Z"));
});

test("missed periods are billed in order, two years in one chunk", async ({ fixture }) => {
  const organisation = await fixture.sandbox("2026-01-31");
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2028-07-31");
  const outcomes = await fixture.bill(organisation);
  expect(outcomes.map(({ issued }) => issued)).toEqual([24, 6]);
  const invoices = await fixture.invoices(id);
  expect(invoices.map(({ start }) => start).slice(0, 5)).toEqual([
    "2026-01-31",
    "2026-02-28",
    "2026-03-31",
    "2026-04-30",
    "2026-05-31",
  ]);
  expect(invoices).toHaveLength(31);
  expect(invoices.map(({ number }) => number)).toEqual(
    invoices.map(({ number }) => number).toSorted(),
  );
  for (const [index, { end }] of invoices.slice(0, -1).entries())
    expect(invoices[index + 1]?.start).toBe(end);
  expect(await fixture.row(id)).toMatchObject({
    renewal_date: "2028-08-31",
    due_at: new Date("2028-08-31"),
  });
});

test("an instant in the order replaces the organisation's clock", async ({ fixture }) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const id = await fixture.subscribe(organisation);
  await fixture.bill(organisation, { now: new Date("2026-06-01T00:00:00Z") });
  expect((await fixture.invoices(id)).map(({ start }) => start)).toEqual([
    "2026-03-10",
    "2026-04-10",
    "2026-05-10",
  ]);
});

test("a subscription without anything due gets the instant of its next check", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const id = await fixture.subscribe(organisation);
  await tables(fixture.pool).subscription.updateMany({
    where: { id },
    data: { dueAt: new Date(0) },
  });
  expect(await fixture.bill(organisation)).toEqual([
    { claimed: 1, performed: 0, issued: 0, parked: [] },
  ]);
  expect((await fixture.row(id)).due_at).toEqual(new Date("2026-04-10"));
});

test("the run starts, renews ahead and completes subscriptions", async ({ fixture }) => {
  const organisation = await fixture.sandbox("2026-03-10", { invoice_create_days: 5 });
  const pending = await fixture.subscribe(organisation, { startDate: "2026-03-20" });
  const final = await fixture.subscribe(organisation, { endAfterCycles: 1 });
  const running = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2026-03-20");
  await fixture.bill(organisation);
  expect((await fixture.row(pending)).status).toBe("active");
  await fixture.setClock(organisation, "2026-04-05");
  await fixture.bill(organisation);
  expect(await fixture.invoices(running)).toMatchObject([
    { type: "first" },
    { type: "renewal", start: "2026-04-10" },
  ]);
  expect(await fixture.row(running)).toMatchObject({
    current_period: 0,
    due_at: new Date("2026-04-10"),
  });
  await fixture.setClock(organisation, "2026-04-10");
  await fixture.bill(organisation);
  expect(await fixture.invoices(running)).toHaveLength(2);
  expect(await fixture.row(running)).toMatchObject({
    current_period: 1,
    due_at: new Date("2026-05-05"),
  });
  expect(await fixture.row(final)).toMatchObject({
    status: "complete",
    end_date: "2026-04-10",
    due_at: null,
  });
  expect(await fixture.invoices(final)).toHaveLength(1);
});

test("a period that began in Setup Mode is never billed", async ({ fixture }) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const id = await fixture.subscribe(organisation);
  await setOrganisation(fixture.pool, organisation, { setupMode: true });
  await fixture.setClock(organisation, "2026-04-20");
  expect(await fixture.bill(organisation)).toMatchObject([{ performed: 1, issued: 0 }]);
  await setOrganisation(fixture.pool, organisation, { setupMode: false });
  await fixture.setClock(organisation, "2026-05-20");
  await fixture.bill(organisation);
  expect((await fixture.invoices(id)).map(({ start }) => start)).toEqual([
    "2026-03-10",
    "2026-05-10",
  ]);
});

test("a period that was billed ahead can begin in Setup Mode", async ({ fixture }) => {
  const organisation = await fixture.sandbox("2026-03-10");
  await setOrganisation(fixture.pool, organisation, { invoiceCreateDays: 10 });
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2026-04-05");
  expect(await fixture.bill(organisation)).toMatchObject([{ performed: 1, issued: 1 }]);
  await setOrganisation(fixture.pool, organisation, { setupMode: true });
  await fixture.setClock(organisation, "2026-04-20");
  expect(await fixture.bill(organisation)).toMatchObject([{ performed: 1, issued: 0 }]);
  const text =
    "SELECT array_agg(setup_mode ORDER BY index) AS modes FROM periods WHERE subscription_id = $1";
  expect((await fixture.pool.query(text, [id])).rows).toEqual([{ modes: [false, true] }]);
});

test("four workers bill each period once, with consecutive numbers", async ({ fixture }) => {
  const organisation = await fixture.sandbox("2026-03-10");
  await setOrganisation(fixture.pool, organisation, { testClock: null });
  await addDueSubscriptions(fixture.pool, organisation, 700);
  const { billing } = await inTransaction(fixture.pool, async (client) => {
    // The numbers of the invoices are waited for: each worker has a part before any goes on.
    await client.query(
      `INSERT INTO document_counters AS d (organisation_id, kind, next) VALUES ($1, 'invoice', 1)
        ON CONFLICT (organisation_id, kind) DO UPDATE SET next = d.next`,
      [organisation],
    );
    const four = Array.from({ length: 4 }, () => fixture.bill(organisation, { size: 40 }));
    await until("all four wait", async () => (await lockWaits(fixture.pool)) === 4);
    return { billing: Promise.all(four) };
  });
  const workers = await billing;
  expect(workers.flat().reduce((sum, { performed }) => sum + performed, 0)).toBe(700);
  expect(await fixture.totals(organisation)).toEqual({
    periods: 1_400,
    invoices: 700,
    billed: 700,
    numbers: 700,
    last: 700,
  });
});

test("a locked subscription is left out and does not delay the others", async ({ fixture }) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const [held, free] = [
    await fixture.subscribe(organisation),
    await fixture.subscribe(organisation),
  ];
  await fixture.setClock(organisation, "2026-04-10");
  await inTransaction(fixture.pool, async (client) => {
    await client.query("SELECT 1 FROM subscriptions WHERE id = $1 FOR NO KEY UPDATE", [held]);
    expect(await fixture.bill(organisation)).toMatchObject([{ claimed: 1, performed: 1 }]);
  });
  expect(await fixture.invoices(free)).toHaveLength(2);
  expect(await fixture.invoices(held)).toHaveLength(1);
  await fixture.bill(organisation);
  expect(await fixture.invoices(held)).toHaveLength(2);
});

test("a run leaves out a subscription while its end runs", async ({ fixture }) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const id = await fixture.subscribe(organisation);
  await beginEnd(fixture, organisation, id);
  await fixture.setClock(organisation, "2026-04-10");
  expect(await fixture.bill(organisation)).toEqual([]);
  expect(await findDueOrganisations(fixture.pool, null, 1_000)).not.toContain(organisation);
  const abandoned =
    "UPDATE ledger_jobs SET state = 'abandoned', finished_at = now() WHERE subscription_id = $1";
  await fixture.pool.query(`${abandoned} AND kind = 'end_subscription'`, [id]);
  expect(await findDueOrganisations(fixture.pool, null, 1_000)).toContain(organisation);
  expect(await fixture.bill(organisation)).toHaveLength(1);
});

test("a run leaves out a subscription whose end begins after the claim", async ({ fixture }) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const [ended, other] = [
    await fixture.subscribe(organisation),
    await fixture.subscribe(organisation),
  ];
  await fixture.setClock(organisation, "2026-04-10");
  const pool = poolAfterClaim(fixture.pool, async () => beginEnd(fixture, organisation, ended));
  expect(await billChunk(pool, organisation)).toMatchObject({ claimed: 2, performed: 1 });
  expect(
    [await fixture.invoices(ended), await fixture.invoices(other)].map(({ length }) => length),
  ).toEqual([1, 2]);
  expect(await fixture.bill(organisation)).toEqual([]);
});

test("organisations with due subscriptions are found by their own clocks, in pages", async ({
  fixture,
}) => {
  const ids = [
    await fixture.sandbox("2026-03-10"),
    await fixture.sandbox("2026-03-10"),
    await fixture.sandbox("2026-03-10"),
  ];
  const later = await fixture.sandbox("2026-03-10");
  for (const id of [...ids, later]) await fixture.subscribe(id);
  for (const id of ids) await fixture.setClock(id, "2026-04-10");
  await fixture.setClock(later, "2026-04-09");
  const found: string[] = [];
  for (let after: string | null = null; ; ) {
    const page: readonly string[] = await findDueOrganisations(fixture.pool, after, 2);
    found.push(...page);
    after = page.at(-1) ?? null;
    if (after === null) break;
  }
  expect(found).toEqual(found.toSorted());
  expect(found).toEqual(expect.arrayContaining(ids));
  expect(found).not.toContain(later);
});
