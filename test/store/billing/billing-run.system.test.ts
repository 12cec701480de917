/** The billing run in the database: each period once, whoever performs it and however often, and one at fault holds up nobody. */
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addDueSubscriptions } from "../../../bench/support/due-subscriptions.ts";
import { decideDue } from "../../../src/domain/billing/renewal.ts";
import { billChunk } from "../../../src/store/billing/billing-run.ts";
import { countDue, findDueOrganisations } from "../../../src/store/billing/due-organisations.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { type BillingFixture, billingFixture } from "./billing-fixture.ts";

let fixture: BillingFixture;

beforeAll(async () => {
  fixture = await billingFixture();
});

afterAll(() => fixture?.drop());

/** What all subscriptions of an organisation come to: periods, renewal invoices, numbers. */
async function totals(organisationId: string): Promise<Record<string, number>> {
  const { rows } = await fixture.pool.query(
    `SELECT (SELECT count(*)::int FROM periods WHERE organisation_id = $1) AS periods,
      count(*)::int AS invoices, count(DISTINCT (subscription_id, period_index))::int AS billed,
      count(DISTINCT number)::int AS numbers, max(substr(number, 5)::int) AS last
    FROM invoices WHERE organisation_id = $1 AND type = 'renewal'`,
    [organisationId],
  );
  return rows[0];
}

/** Makes what is due for a subscription impossible: its amount is more than an invoice may carry. */
async function spoil(id: string): Promise<void> {
  await fixture.pool.query(
    "UPDATE subscriptions SET units = 1000000000, price_override = 999999999 WHERE id = $1",
    [id],
  );
}

/** As if the pause of one that was parked were over. */
async function endPause(id: string): Promise<void> {
  await fixture.pool.query("UPDATE subscriptions SET parked_until = now() WHERE id = $1", [id]);
}

/** The operation of an end that has invoices to remove. */
async function beginEnd(organisationId: string, id: string): Promise<void> {
  await fixture.pool.query(
    `INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id)
      VALUES (gen_random_uuid(), $1, 'end_subscription', 'ready', $2)`,
    [organisationId, id],
  );
}

/** The world's pool, with something that happens whenever a transaction has taken what is due and not yet looked at it. */
function poolWith(happens: (client: pg.PoolClient) => Promise<void>): pg.Pool {
  const connect = async () => {
    const client = await fixture.pool.connect();
    return new Proxy(client, {
      get: (target, name) => {
        const value = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        if (name !== "query") return value.bind(target);
        return async (statement: pg.QueryConfig) => {
          const result = await target.query(statement);
          if (statement.text?.includes("SKIP LOCKED")) await happens(client);
          return result;
        };
      },
    });
  };
  return { connect } as unknown as pg.Pool;
}

/** Ends the connection under its transaction, as a failover does. */
async function cutOff(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  await fixture.pool.query("SELECT pg_terminate_backend($1)", [rows[0]?.pid]);
}

async function pauseSeconds(id: string): Promise<number> {
  const { rows } = await fixture.pool.query(
    "SELECT round(extract(epoch FROM parked_until - now()))::int AS seconds FROM subscriptions WHERE id = $1",
    [id],
  );
  return rows[0].seconds;
}

describe("what is due", () => {
  test("is performed once, and the next time is when something is due again", async () => {
    const organisation = await fixture.sandbox("2026-03-10");
    const ids = [
      await fixture.subscribe(organisation),
      await fixture.subscribe(organisation, { planCode: "growth" }),
    ];
    expect(await fixture.bill(organisation)).toEqual([]);
    await fixture.setClock(organisation, "2026-04-10T00:00:00Z");
    expect(await countDue(fixture.pool, organisation)).toEqual({ due: 2, parked: 0 });
    expect(await fixture.bill(organisation)).toEqual([
      { taken: 2, performed: 2, issued: 2, parked: [] },
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

  test("is so when the day begins in the subscription's own zone, not a second before", async () => {
    const organisation = await fixture.sandbox("2026-03-10");
    const id = await fixture.subscribe(organisation, { timezone: "America/New_York" });
    await fixture.setClock(organisation, "2026-04-10T03:59:59Z");
    expect(await fixture.bill(organisation)).toEqual([]);
    await fixture.setClock(organisation, "2026-04-10T04:00:00Z");
    expect(await fixture.bill(organisation)).toHaveLength(1);
    expect((await fixture.row(id)).due_at).toEqual(new Date("2026-05-10T04:00:00Z"));
  });

  test("was missed for months, and is caught up in order, two years at a time", async () => {
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

  test("is judged by the instant that is given in place of the clock", async () => {
    const organisation = await fixture.sandbox("2026-03-10");
    const id = await fixture.subscribe(organisation);
    await fixture.bill(organisation, { now: new Date("2026-06-01T00:00:00Z") });
    expect((await fixture.invoices(id)).map(({ start }) => start)).toEqual([
      "2026-03-10",
      "2026-04-10",
      "2026-05-10",
    ]);
  });

  test("is nothing after all: it is looked at again when something is", async () => {
    const organisation = await fixture.sandbox("2026-03-10");
    const id = await fixture.subscribe(organisation);
    await fixture.pool.query("UPDATE subscriptions SET due_at = 'epoch' WHERE id = $1", [id]);
    expect(await fixture.bill(organisation)).toEqual([
      { taken: 1, performed: 0, issued: 0, parked: [] },
    ]);
    expect((await fixture.row(id)).due_at).toEqual(new Date("2026-04-10"));
  });

  test("begins what is pending, raises ahead what the window asks for, completes what has run out", async () => {
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

  test("in Setup Mode raises nothing, also not afterwards for a period that began in it", async () => {
    const organisation = await fixture.sandbox("2026-03-10");
    const id = await fixture.subscribe(organisation);
    await fixture.pool.query("UPDATE organisations SET setup_mode = true WHERE id = $1", [
      organisation,
    ]);
    await fixture.setClock(organisation, "2026-04-20");
    expect(await fixture.bill(organisation)).toMatchObject([{ performed: 1, issued: 0 }]);
    await fixture.pool.query("UPDATE organisations SET setup_mode = false WHERE id = $1", [
      organisation,
    ]);
    await fixture.setClock(organisation, "2026-05-20");
    await fixture.bill(organisation);
    expect((await fixture.invoices(id)).map(({ start }) => start)).toEqual([
      "2026-03-10",
      "2026-05-10",
    ]);
  });

  test("in Setup Mode begins a period that was billed ahead as one of which nothing else is billed", async () => {
    const organisation = await fixture.sandbox("2026-03-10");
    await fixture.pool.query("UPDATE organisations SET invoice_create_days = 10 WHERE id = $1", [
      organisation,
    ]);
    const id = await fixture.subscribe(organisation);
    await fixture.setClock(organisation, "2026-04-05");
    expect(await fixture.bill(organisation)).toMatchObject([{ performed: 1, issued: 1 }]);
    await fixture.pool.query("UPDATE organisations SET setup_mode = true WHERE id = $1", [
      organisation,
    ]);
    await fixture.setClock(organisation, "2026-04-20");
    expect(await fixture.bill(organisation)).toMatchObject([{ performed: 1, issued: 0 }]);
    const text =
      "SELECT array_agg(setup_mode ORDER BY index) AS modes FROM periods WHERE subscription_id = $1";
    expect((await fixture.pool.query(text, [id])).rows).toEqual([{ modes: [false, true] }]);
  });
});

describe("several at once", () => {
  test("four workers on one organisation bill each period once, under numbers without a gap", async () => {
    const organisation = await fixture.sandbox("2026-03-10");
    await fixture.pool.query("UPDATE organisations SET test_clock = NULL WHERE id = $1", [
      organisation,
    ]);
    await addDueSubscriptions(fixture.pool, organisation, 700);
    const workers = await Promise.all(
      Array.from({ length: 4 }, () => fixture.bill(organisation, { size: 40 })),
    );
    expect(workers.flat().reduce((sum, { performed }) => sum + performed, 0)).toBe(700);
    expect(
      workers.filter((outcomes) => outcomes.length > 0).length,
      "they did share the work",
    ).toBeGreaterThan(1);
    expect(await totals(organisation)).toEqual({
      periods: 1_400,
      invoices: 700,
      billed: 700,
      numbers: 700,
      last: 700,
    });
  });

  test("what somebody else holds is left to them, and the rest is not held up", async () => {
    const organisation = await fixture.sandbox("2026-03-10");
    const [held, free] = [
      await fixture.subscribe(organisation),
      await fixture.subscribe(organisation),
    ];
    await fixture.setClock(organisation, "2026-04-10");
    await inTransaction(fixture.pool, async (client) => {
      await client.query("SELECT 1 FROM subscriptions WHERE id = $1 FOR NO KEY UPDATE", [held]);
      expect(await fixture.bill(organisation)).toMatchObject([{ taken: 1, performed: 1 }]);
    });
    expect(await fixture.invoices(free)).toHaveLength(2);
    expect(await fixture.invoices(held)).toHaveLength(1);
    await fixture.bill(organisation);
    expect(await fixture.invoices(held)).toHaveLength(2);
  });

  test("an end that is on its way keeps what is due to itself, until it is over", async () => {
    const organisation = await fixture.sandbox("2026-03-10");
    const id = await fixture.subscribe(organisation);
    await beginEnd(organisation, id);
    await fixture.setClock(organisation, "2026-04-10");
    expect(await fixture.bill(organisation)).toEqual([]);
    expect(await findDueOrganisations(fixture.pool, null, 1_000)).not.toContain(organisation);
    const refused =
      "UPDATE ledger_jobs SET state = 'abandoned', finished_at = now() WHERE subscription_id = $1";
    await fixture.pool.query(`${refused} AND kind = 'end_subscription'`, [id]);
    expect(await findDueOrganisations(fixture.pool, null, 1_000)).toContain(organisation);
    expect(await fixture.bill(organisation)).toHaveLength(1);
  });

  test("an end that begins just as a chunk is taken keeps it too", async () => {
    const organisation = await fixture.sandbox("2026-03-10");
    const [ending, other] = [
      await fixture.subscribe(organisation),
      await fixture.subscribe(organisation),
    ];
    await fixture.setClock(organisation, "2026-04-10");
    const pool = poolWith(async () => beginEnd(organisation, ending));
    expect(await billChunk(pool, organisation)).toMatchObject({ taken: 2, performed: 1 });
    expect(
      [await fixture.invoices(ending), await fixture.invoices(other)].map(({ length }) => length),
    ).toEqual([1, 2]);
    expect(await fixture.bill(organisation)).toEqual([]);
  });
});

describe("one at fault", () => {
  test("is parked with its reason, holds up nobody, is tried again with growing pauses, and billed once mended", async () => {
    const organisation = await fixture.sandbox("2026-03-10");
    const good = await fixture.subscribe(organisation);
    const bad = await fixture.subscribe(organisation);
    const last = await fixture.subscribe(organisation);
    await spoil(bad);
    await fixture.setClock(organisation, "2026-04-10");
    const [outcome, ...others] = await fixture.bill(organisation);
    expect(others).toEqual([]);
    expect(outcome).toMatchObject({ taken: 3, performed: 2, issued: 2 });
    expect(outcome?.parked).toEqual([{ subscriptionId: bad, reason: "numeric field overflow" }]);
    for (const id of [good, last]) expect(await fixture.invoices(id)).toHaveLength(2);
    expect(await fixture.invoices(bad)).toHaveLength(1);
    expect(await fixture.row(bad)).toMatchObject({
      parked_attempts: 1,
      current_period: 0,
      renewal_date: "2026-04-10",
    });
    expect(await pauseSeconds(bad)).toBeLessThanOrEqual(60);
    expect(await countDue(fixture.pool, organisation)).toEqual({ due: 0, parked: 1 });
    expect(await findDueOrganisations(fixture.pool, null, 1_000)).not.toContain(organisation);
    await endPause(bad);
    expect(await fixture.bill(organisation)).toMatchObject([
      { taken: 1, performed: 0, parked: [{}] },
    ]);
    expect((await fixture.row(bad)).parked_attempts).toBe(2);
    expect(await pauseSeconds(bad)).toBeGreaterThan(60);
    await fixture.pool.query(
      "UPDATE subscriptions SET parked_attempts = 40, parked_until = now() WHERE id = $1",
      [bad],
    );
    await fixture.bill(organisation);
    expect(await pauseSeconds(bad)).toBeLessThanOrEqual(3_600);
    await fixture.pool.query(
      "UPDATE subscriptions SET units = 10, price_override = NULL WHERE id = $1",
      [bad],
    );
    await endPause(bad);
    await fixture.bill(organisation);
    expect(await fixture.row(bad)).toMatchObject({
      parked_until: null,
      parked_reason: null,
      parked_attempts: 0,
    });
    expect(await fixture.invoices(bad)).toHaveLength(2);
    expect(await totals(organisation)).toMatchObject({ invoices: 3, billed: 3 });
  });

  test("by our own rules is parked too, and what it had begun to write is gone", async () => {
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

  test("that takes longer than a statement may is parked too, and holds up nobody", async () => {
    const organisation = await fixture.sandbox("2026-03-10");
    const [bad, good] = [
      await fixture.subscribe(organisation),
      await fixture.subscribe(organisation),
    ];
    await fixture.setClock(organisation, "2026-04-10");
    // As PostgreSQL has it at the end of a statement's time: a real limit would meet the others too where the machine is slow.
    await fixture.pool.query(
      `CREATE FUNCTION take_long() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE query_canceled USING MESSAGE = 'canceling statement due to statement timeout'; END $$`,
    );
    await fixture.pool.query(
      `CREATE TRIGGER waits BEFORE INSERT ON periods FOR EACH ROW WHEN (NEW.subscription_id = '${bad}') EXECUTE FUNCTION take_long()`,
    );
    const parked = [
      { subscriptionId: bad, reason: "canceling statement due to statement timeout" },
    ];
    expect(await billChunk(fixture.pool, organisation)).toMatchObject({
      taken: 2,
      performed: 1,
      parked,
    });
    expect(
      [await fixture.invoices(bad), await fixture.invoices(good)].map(({ length }) => length),
    ).toEqual([1, 2]);
    await fixture.pool.query("DROP FUNCTION take_long CASCADE");
  });

  test("of a hundred leaves the other ninety-nine with numbers that follow each other", async () => {
    const organisation = await fixture.sandbox("2026-03-10");
    await fixture.pool.query("UPDATE organisations SET test_clock = NULL WHERE id = $1", [
      organisation,
    ]);
    await addDueSubscriptions(fixture.pool, organisation, 100);
    const { rows } = await fixture.pool.query(
      "SELECT id FROM subscriptions WHERE organisation_id = $1 ORDER BY seq OFFSET 50 LIMIT 1",
      [organisation],
    );
    await spoil(rows[0].id);
    await fixture.pool.query(
      "UPDATE subscriptions SET plan_id = (SELECT id FROM plans WHERE organisation_id = $1 AND code = 'team') WHERE id = $2",
      [organisation, rows[0].id],
    );
    await fixture.bill(organisation);
    expect(await totals(organisation)).toEqual({
      periods: 199,
      invoices: 99,
      billed: 99,
      numbers: 99,
      last: 99,
    });
  });

  test("is told from a database that is lost: the chunk is done again, or fails as a whole, and nothing is parked", async () => {
    const organisation = await fixture.sandbox("2026-03-10");
    const id = await fixture.subscribe(organisation);
    await fixture.setClock(organisation, "2026-04-10");
    await expect(billChunk(poolWith(cutOff), organisation)).rejects.toThrow();
    expect(await fixture.row(id)).toMatchObject({
      parked_until: null,
      parked_attempts: 0,
      current_period: 0,
    });
    let cuts = 0;
    const once = poolWith(async (client) => {
      if (cuts++ === 0) await cutOff(client);
    });
    expect(await billChunk(once, organisation)).toMatchObject({ performed: 1, parked: [] });
    expect(await fixture.invoices(id)).toHaveLength(2);
  });
});

describe("organisations with something due", () => {
  test("are found by their own clocks, page by page", async () => {
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
});
