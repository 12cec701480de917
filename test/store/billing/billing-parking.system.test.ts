/**
 * Parking in the billing run: a subscription that cannot be billed is retried later and never
 * blocks the others. POSTING-8.
 */
import type pg from "pg";
import { expect } from "vitest";
import { addDueSubscriptions } from "../../../bench/support/due-subscriptions.ts";
import { decideDue } from "../../../src/domain/billing/renewal.ts";
import { billChunk } from "../../../src/store/billing/billing-run.ts";
import { countDue, findDueOrganisations } from "../../../src/store/billing/due-organisations.ts";
import { setOrganisation, tables } from "../../support/rows.ts";
import { type BillingFixture, billingTest as test } from "./billing-fixture.ts";
import { poolAfterClaim } from "./observed-pool.ts";

/** Gives a subscription an amount that is larger than an invoice can have. */
async function spoil(fixture: BillingFixture, id: string): Promise<void> {
  await tables(fixture.pool).subscription.updateMany({
    where: { id },
    data: { units: 1_000_000_000, priceOverride: 999_999_999 },
  });
}

/** Ends the pause of a parked subscription. */
async function endPause(fixture: BillingFixture, id: string): Promise<void> {
  await tables(fixture.pool).subscription.updateMany({
    where: { id },
    data: { parkedUntil: new Date() },
  });
}

/** Terminates the connection of a transaction, as a failover does. */
async function terminate(fixture: BillingFixture, client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  await fixture.pool.query("SELECT pg_terminate_backend($1)", [rows[0]?.pid]);
}

async function pauseSeconds(fixture: BillingFixture, id: string): Promise<number> {
  const { rows } = await fixture.pool.query(
    `SELECT round(extract(epoch FROM parked_until - now()))::int AS seconds
      FROM subscriptions WHERE id = $1`,
    [id],
  );
  return rows[0].seconds;
}

test("a parked subscription is retried with growing pauses until it can be billed", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const good = await fixture.subscribe(organisation);
  const bad = await fixture.subscribe(organisation);
  const last = await fixture.subscribe(organisation);
  await spoil(fixture, bad);
  await fixture.setClock(organisation, "2026-04-10");
  const [outcome, ...others] = await fixture.bill(organisation);
  expect(others).toEqual([]);
  expect(outcome).toMatchObject({ claimed: 3, performed: 2, issued: 2 });
  const reason = "The amount of Team comes to 999999999000000000.0000: less than";
  expect(outcome?.parked).toEqual([
    { subscriptionId: bad, reason: expect.stringContaining(reason) },
  ]);
  for (const id of [good, last]) expect(await fixture.invoices(id)).toHaveLength(2);
  expect(await fixture.invoices(bad)).toHaveLength(1);
  expect(await fixture.row(bad)).toMatchObject({
    parked_attempts: 1,
    current_period: 0,
    renewal_date: "2026-04-10",
  });
  expect(await pauseSeconds(fixture, bad)).toBeLessThanOrEqual(60);
  expect(await countDue(fixture.pool, organisation)).toEqual({ due: 0, parked: 1 });
  expect(await findDueOrganisations(fixture.pool, null, 1_000)).not.toContain(organisation);
  await endPause(fixture, bad);
  expect(await fixture.bill(organisation)).toMatchObject([
    { claimed: 1, performed: 0, parked: [{}] },
  ]);
  expect((await fixture.row(bad)).parked_attempts).toBe(2);
  expect(await pauseSeconds(fixture, bad)).toBeGreaterThan(60);
  await tables(fixture.pool).subscription.updateMany({
    where: { id: bad },
    data: { parkedAttempts: 40, parkedUntil: new Date() },
  });
  await fixture.bill(organisation);
  expect(await pauseSeconds(fixture, bad)).toBeLessThanOrEqual(3_600);
  await tables(fixture.pool).subscription.updateMany({
    where: { id: bad },
    data: { units: 10, priceOverride: null },
  });
  await endPause(fixture, bad);
  await fixture.bill(organisation);
  expect(await fixture.row(bad)).toMatchObject({
    parked_until: null,
    parked_reason: null,
    parked_attempts: 0,
  });
  expect(await fixture.invoices(bad)).toHaveLength(2);
  expect(await fixture.totals(organisation)).toMatchObject({ invoices: 3, billed: 3 });
});

test("an error of the rules parks the subscription and rolls its writes back", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const [bad, good] = [
    await fixture.subscribe(organisation),
    await fixture.subscribe(organisation),
  ];
  await fixture.setClock(organisation, "2026-04-10");
  const [outcome] = await fixture.bill(organisation, {
    decide: (facts) => {
      if (facts.subscription.id === bad) throw new Error("no rule for this");
      return decideDue(facts);
    },
  });
  expect(outcome).toMatchObject({
    performed: 1,
    parked: [{ subscriptionId: bad, reason: "no rule for this" }],
  });
  expect(
    [await fixture.invoices(bad), await fixture.invoices(good)].map(({ length }) => length),
  ).toEqual([1, 2]);
});

test("a statement that times out parks the subscription", async ({ fixture }) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const [bad, good] = [
    await fixture.subscribe(organisation),
    await fixture.subscribe(organisation),
  ];
  await fixture.setClock(organisation, "2026-04-10");
  // The trigger throws PostgreSQL's error of a timeout. On a slow machine, a real limit would also
  // abort the other subscriptions.
  await fixture.pool.query(
    `CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'canceling statement due to statement timeout'
        USING ERRCODE = 'query_canceled';
      END $$`,
  );
  await fixture.pool.query(
    `CREATE TRIGGER waits BEFORE INSERT ON periods FOR EACH ROW
      WHEN (NEW.subscription_id = '${bad}') EXECUTE FUNCTION take_long()`,
  );
  const parked = [{ subscriptionId: bad, reason: "canceling statement due to statement timeout" }];
  expect(await billChunk(fixture.pool, organisation)).toMatchObject({
    claimed: 2,
    performed: 1,
    parked,
  });
  expect(
    [await fixture.invoices(bad), await fixture.invoices(good)].map(({ length }) => length),
  ).toEqual([1, 2]);
  await fixture.pool.query("DROP FUNCTION take_long CASCADE");
});

test("the other ninety-nine of a hundred subscriptions get consecutive numbers", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  await setOrganisation(fixture.pool, organisation, { testClock: null });
  await addDueSubscriptions(fixture.pool, organisation, 100);
  const { rows } = await fixture.pool.query(
    "SELECT id FROM subscriptions WHERE organisation_id = $1 ORDER BY seq OFFSET 50 LIMIT 1",
    [organisation],
  );
  await spoil(fixture, rows[0].id);
  await fixture.pool.query(
    `UPDATE subscriptions
      SET plan_id = (SELECT id FROM plans WHERE organisation_id = $1 AND code = 'team')
      WHERE id = $2`,
    [organisation, rows[0].id],
  );
  await fixture.bill(organisation);
  expect(await fixture.totals(organisation)).toEqual({
    periods: 199,
    invoices: 99,
    billed: 99,
    numbers: 99,
    last: 99,
  });
});

test("a lost connection parks nothing: the chunk is repeated or fails as a whole", async ({
  fixture,
}) => {
  const organisation = await fixture.sandbox("2026-03-10");
  const id = await fixture.subscribe(organisation);
  await fixture.setClock(organisation, "2026-04-10");
  await expect(
    billChunk(
      poolAfterClaim(fixture.pool, (client) => terminate(fixture, client)),
      organisation,
    ),
  ).rejects.toThrow();
  expect(await fixture.row(id)).toMatchObject({
    parked_until: null,
    parked_attempts: 0,
    current_period: 0,
  });
  let cuts = 0;
  const once = poolAfterClaim(fixture.pool, async (client) => {
    if (cuts++ === 0) await terminate(fixture, client);
  });
  expect(await billChunk(once, organisation)).toMatchObject({ performed: 1, parked: [] });
  expect(await fixture.invoices(id)).toHaveLength(2);
});
