/**
 * An advancing test clock: workers killed at every step and in the middle, a lost start, a second
 * advance, and a concurrent billing run. In every case the clock arrives, and each period is billed
 * once. CLOCK-1.
 */
import { expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { billChunk } from "../../src/store/billing/billing-run.ts";
import { findDueOrganisations } from "../../src/store/billing/due-organisations.ts";
import { inTransaction } from "../../src/store/database/pool.ts";
import type { ClockBuilder } from "../scenario/clock-builder.ts";
import { aloneTest as test } from "../scenario/fixtures.ts";
import { addMany, expectEachRenewed } from "../scenario/many-subscriptions.ts";
import { clockCrashPoints } from "../support/crash-points.ts";
import { tables } from "../support/rows.ts";
import { type TestSystem, until } from "../support/system.ts";

const target = "2026-07-02T06:00:00.000Z";
const advancing = { state: "TEST_CLOCK_STATE_ADVANCING", now: "2026-04-01T12:00:00.000Z" };
const arrived = { state: "TEST_CLOCK_STATE_STANDING", now: target };

/**
 * A sandbox on 1 April with subscriptions over the days of March, each of which renews three times
 * until the target.
 */
async function spread(
  system: TestSystem,
  clocks: ClockBuilder,
  count: number,
): Promise<CreatedOrganisation> {
  const own = await clocks.sandbox();
  const { id } = await clocks.subscribe(own, { start_date: "2026-03-03" });
  await addMany(system, id, count, {
    days: [3, 28],
    zones: ["Europe/Paris", "Asia/Kolkata", "Pacific/Auckland"],
  });
  return own;
}

/** An advance that no worker has begun. */
async function requested(
  system: TestSystem,
  clocks: ClockBuilder,
  own: CreatedOrganisation,
): Promise<void> {
  await system.worker.stop();
  expect(await clocks.advance(own, { to: target })).toMatchObject(advancing);
}

test("workers killed at each step of an advance leave each period billed once", async ({
  system,
  clocks,
}) => {
  const organisations: CreatedOrganisation[] = [];
  for (const _ of clockCrashPoints) organisations.push(await spread(system, clocks, 8));
  await system.worker.stop();
  // Each worker dies of a new advance. Later workers also meet what it left undone.
  for (const [index, point] of clockCrashPoints.entries()) {
    const own = organisations[index] as CreatedOrganisation;
    expect(await clocks.advance(own, { to: target })).toMatchObject(advancing);
    // It may die before it reports that it is ready, so its start is not awaited.
    void system.worker.start({ BILLING_CRASH_AT: point }).catch(() => undefined);
    await system.worker.exited();
  }
  await system.worker.start();
  for (const own of organisations) {
    const clock = await clocks.arrived(own);
    expect(clock).toMatchObject({ ...arrived, advance: { performed: 27, invoicesIssued: 27 } });
    await expectEachRenewed(system, own, 3);
    await clocks.expectEqualDocuments(own);
  }
});

test("the next worker continues an advance from the clock of a killed one", async ({
  system,
  clocks,
}) => {
  const own = await spread(system, clocks, 59);
  await system.worker.stop();
  await system.worker.start({}, true);
  await inTransaction(system.pool, async (client) => {
    await client.query("SET LOCAL idle_in_transaction_session_timeout = 0");
    // The clock passes no work that another process holds. So it is not there before the worker is
    // killed, however fast that is.
    await client.query(
      `SELECT 1 FROM subscriptions WHERE organisation_id = $1 ORDER BY seq LIMIT 1
        FOR NO KEY UPDATE`,
      [own.organisationId],
    );
    await clocks.advance(own, { to: target });
    const middle = await until("the clock is on its way", async () => {
      const clock = await clocks.clock(own);
      return clock.now > "2026-04-02" && clock.advance.performed > 0 && clock;
    });
    await system.worker.kill();
    const left = await clocks.clock(own);
    expect(left).toMatchObject({ state: "TEST_CLOCK_STATE_ADVANCING", advance: { to: target } });
    expect(left.now >= middle.now).toBe(true);
  });
  await system.worker.start();
  expect(await clocks.arrived(own)).toMatchObject({
    ...arrived,
    advance: { performed: 180, invoicesIssued: 180 },
  });
  await expectEachRenewed(system, own, 3);
});

test("the dispatcher begins an advance whose start was lost", async ({ system, clocks }) => {
  const own = await spread(system, clocks, 3);
  const { organisationId } = own;
  // What is there when the process dies right after it has written the advance.
  await system.pool.query(
    `INSERT INTO clock_advances (organisation_id, started_from, target) SELECT id, test_clock, $2
      FROM organisations WHERE id = $1`,
    [organisationId, target],
  );
  expect(await clocks.arrived(own)).toMatchObject({ ...arrived, advance: { performed: 12 } });
  await expectEachRenewed(system, own, 3);
});

test("a second advance is refused while one runs, unless its instant is the same", async ({
  system,
  clocks,
}) => {
  const own = await spread(system, clocks, 3);
  await requested(system, clocks, own);
  const { organisationId: organisation } = own;
  const advance = "TestClockService/AdvanceTestClock";
  const entry = await clocks.operator.lastEntry();
  expect(
    await clocks.operator.refused(advance, { organisation, to: "2026-07-02T06:00:00.001Z" }),
  ).toBe("invalid_state");
  expect(await clocks.operator.refused(advance, { organisation, months: 1 })).toBe("invalid_state");
  const joined = await clocks.advance(own, { to: "2026-07-02T08:00:00+02:00" });
  expect(joined).toEqual(await clocks.clock(own));
  expect(joined).toMatchObject(advancing);
  expect((await clocks.operator.lastEntry()).id).toBe(entry.id);
  await system.worker.start();
  expect(await clocks.arrived(own)).toMatchObject({ ...arrived, advance: { performed: 12 } });
});

test("the billing run bills nothing of an organisation whose clock advances", async ({
  system,
  clocks,
}) => {
  const own = await spread(system, clocks, 3);
  const { organisationId } = own;
  const isFound = async () =>
    (await findDueOrganisations(system.pool, null, 500)).includes(organisationId);
  await system.worker.stop();
  // Even if the minute's run has just read them.
  await tables(system.pool).subscription.updateMany({
    where: { organisationId },
    data: { dueAt: new Date(0) },
  });
  expect(await isFound()).toBe(true);
  await clocks.advance(own, { to: target });
  expect(await isFound()).toBe(false);
  const concurrent = await billChunk(system.pool, organisationId);
  expect(concurrent).toEqual({ claimed: 0, performed: 0, issued: 0, parked: [] });
  const others = await billChunk(system.pool, organisationId, { now: new Date(target) });
  expect(others.claimed).toBe(0);
  await system.worker.start();
  await clocks.arrived(own);
  await expectEachRenewed(system, own, 3);
  expect((await billChunk(system.pool, organisationId, { isOfClock: true })).claimed).toBe(0);
});

test("the clock waits for documents on their way to the ledger, then passes them", async ({
  system,
  clocks,
}) => {
  const own = await clocks.sandbox({ first_invoice_status: "approved", invoice_create_days: 20 });
  const { id } = await clocks.subscribe(own, { start_date: "2026-03-15" });
  const other = await clocks.subscribe(own, { start_date: "2026-04-01" });
  await clocks.posted(own);
  await system.stopLedger();
  // The end has an invoice to remove first, which the ledger does not answer to.
  const end = clocks.end(own, id, { when: "now" }, null);
  await until("the end has begun", () =>
    tables(system.pool).termination.findFirst({ where: { organisationId: own.organisationId } }),
  );
  const clock = await clocks.advanced(own, { to: "2026-06-10" });
  expect(clock.advance.parked).toBeUndefined();
  expect(await clocks.subscription(own, id)).toMatchObject({
    status: "active",
    renewal_date: "2026-04-15",
  });
  expect(await clocks.subscription(own, other.id)).toMatchObject({ renewal_date: "2026-07-01" });
  await end;
  await system.startLedger();
  const over = await until("it has ended", async () => {
    const now = await clocks.subscription(own, id);
    return now.status === "ended" && now;
  });
  expect(over).toMatchObject({ renewal_date: "2026-04-15", renewal_value: "0.0000" });
  expect(await clocks.summaries(own, id)).toHaveLength(2);
});
