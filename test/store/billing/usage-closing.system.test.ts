/**
 * Usage as closes read and lock it, in PostgreSQL itself: sums over all parts, what was billed before, who waits, and what a close costs.
 * facts-performance §§3.3 and 3.4. */
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decideEnded } from "../../../src/domain/subscriptions/end.ts";
import { billChunk } from "../../../src/store/billing/billing-run.ts";
import { loadStates } from "../../../src/store/billing/billing-state.ts";
import { lockToStore } from "../../../src/store/billing/usage-locks.ts";
import { lockSubscriptions } from "../../../src/store/database/lock-order.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { saveEnded } from "../../../src/store/subscriptions/terminations.ts";
import { createStore } from "../../../src/store/tenant.ts";
import { until } from "../../support/system.ts";
import { tenantWrites } from "../../support/tenant-writes.ts";
import { listeningPool, type UsageFixture, usageFixture } from "./usage-fixture.ts";

let fixture: UsageFixture;

beforeAll(async () => {
  fixture = await usageFixture();
});

afterAll(() => fixture?.drop());

/** A sandbox with its subscription to `team`, from 10 March on, with the meter `api-calls`. */
async function metered(
  changes: Record<string, unknown> = {},
): Promise<readonly [organisation: string, id: string]> {
  const organisation = await fixture.sandbox("2026-03-10", changes);
  await fixture.meter(organisation);
  return [organisation, await fixture.subscribe(organisation)];
}

/** How many wait for an advisory lock. */
async function waiting(): Promise<number> {
  const { rows } = await fixture.pool.query(
    "SELECT count(*)::int AS waiting FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
  );
  return rows[0].waiting;
}

async function end(
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

describe("a close", () => {
  test("sums the events of a period over every part, without those that were voided, and goes on from it with what is late", async () => {
    const [organisation, id] = await metered();
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
    const voided = `UPDATE usage_events SET voided_at = now(), void_reason = 'twice' WHERE (organisation_id, event_id) IN (
      SELECT organisation_id, event_id FROM usage_events WHERE subscription_id = $1 AND quantity = 0.0001 LIMIT 1)`;
    await fixture.pool.query(voided, [id]);
    // A clock that is ahead: of the period after.
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
    // A third bill of the first period goes on from the second.
    await fixture.use(organisation, id, ["2", "2026-04-01"]);
    await fixture.setClock(organisation, "2026-06-10");
    await fixture.bill(organisation);
    expect((await fixture.bills(id)).slice(4)).toEqual(["2: 1 of 2.0000 in 0, 1.0000 on INV-0004"]);
  });

  test("of many at once takes each one's own, also of organisations side by side", async () => {
    const [organisation, first] = await metered();
    const [other, foreign] = await metered();
    const ids = [first];
    for (let count = 1; count < 12; count += 1) ids.push(await fixture.subscribe(organisation));
    for (const owner of [organisation, other]) await fixture.setClock(owner, "2026-03-11");
    for (const [index, id] of ids.entries())
      if (index > 0) await fixture.use(organisation, id, [`${index}`, "2026-03-11"]);
    await fixture.use(other, foreign, ["1000", "2026-03-11"]);
    await fixture.setClock(organisation, "2026-04-10");
    expect(await fixture.bill(organisation)).toMatchObject([{ performed: 12 }]);
    for (const [index, id] of ids.entries()) {
      const told = (await fixture.bills(id)).map((bill) => bill.replace(/ on INV-\d+$/, ""));
      expect(told).toEqual(
        index === 0 ? [] : [`0: 1 of ${index}.0000 in 0, ${(index / 2).toFixed(4)}`],
      );
    }
    expect(await fixture.bills(foreign)).toEqual([]);
  });

  test("never bills what was used in a period that began in Setup Mode, and what waited since before it only afterwards", async () => {
    const [organisation, id] = await metered();
    await fixture.setClock(organisation, "2026-04-09");
    await fixture.use(organisation, id, ["4", "2026-04-09"]);
    await fixture.pool.query("UPDATE organisations SET setup_mode = true WHERE id = $1", [
      organisation,
    ]);
    await fixture.setClock(organisation, "2026-04-20");
    expect(await fixture.bill(organisation)).toMatchObject([{ performed: 1, issued: 0 }]);
    await fixture.use(organisation, id, ["100", "2026-04-20"], ["6", "2026-04-01"]);
    expect(await fixture.row(id)).toMatchObject({ usage_bill: 1, usage_billed: 0 });
    await fixture.pool.query("UPDATE organisations SET setup_mode = false WHERE id = $1", [
      organisation,
    ]);
    await fixture.setClock(organisation, "2026-05-10");
    await fixture.bill(organisation);
    expect(await fixture.bills(id)).toEqual([
      "0: 1 of 4.0000 in 0, 2.0000 on INV-0002",
      "1: 1 of 6.0000 in 0, 3.0000 on INV-0002",
      "1: 1 of 100.0000 in 1, 0.0000 on nothing",
    ]);
    expect((await fixture.invoices(id))[1]).toMatchObject({ type: "renewal", start: "2026-05-10" });
  });

  test("at an end takes what the next bill had too, and what is reported after it goes on one more, the next day", async () => {
    const [organisation, id] = await metered({ timezone: "America/New_York" });
    await fixture.setClock(organisation, "2026-03-12T15:30:00Z");
    await fixture.use(organisation, id, ["4", "2026-03-12T15:00:00Z"]);
    await end(organisation, id, "2026-03-12T15:30:00Z");
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
    // An end that is refused, because it has ended, performs nothing before its day either.
    await expect(end(organisation, id, "2026-03-12T21:00:00Z")).rejects.toThrow(
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
    expect((await fixture.invoices(id)).map(({ type }) => type)).toEqual([
      "first",
      "usage",
      "usage",
    ]);
    expect(await fixture.bill(organisation)).toEqual([]);
  });

  test("at an end that the ledger kept past the renewal date ends where the period did, and bills nothing since", async () => {
    const [organisation, id] = await metered({ timezone: "Europe/Paris" });
    const settings = await createStore(fixture.pool).tenant(organisation, new Date()).settings();
    // Nobody renews it meanwhile: its end is on its way.
    await fixture.setClock(organisation, "2026-04-11");
    await fixture.use(organisation, id, ["4", "2026-04-09"], ["6", "2026-04-11"]);
    const now = new Date("2026-04-11T12:00:00Z");
    await inTransaction(fixture.pool, async (client) => {
      await lockSubscriptions(client, organisation, [id]);
      const [loaded] = await loadStates(client, settings, { ids: [id], now, closing: true });
      if (loaded === undefined) throw new Error("no such subscription");
      const ended = { ...decideEnded(loaded.state, "now"), currentPeriod: loaded.currentPeriod };
      await saveEnded(client, organisation, ended, now);
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

  test("joins the draft that was issued ahead, but not where a request is the first of the day: that would be refused for it", async () => {
    const [organisation, id] = await metered({ invoice_create_days: 5 });
    const other = await fixture.subscribe(organisation);
    await fixture.setClock(organisation, "2026-04-07");
    await fixture.bill(organisation);
    await fixture.use(organisation, id, ["4", "2026-04-07"]);
    await fixture.use(organisation, other, ["6", "2026-04-07"]);
    const inLedger =
      "SET status = 'draft', ledger_invoice_id = gen_random_uuid() WHERE organisation_id = $1";
    await fixture.pool.query(`UPDATE invoices ${inLedger}`, [organisation]);
    await fixture.setClock(organisation, "2026-04-10");
    await end(organisation, id, "2026-04-10T12:00:00Z", "period_end");
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

  test("joins no draft where many are due at once, each of which would be two calls to the ledger", async () => {
    const [organisation, first] = await metered({ invoice_create_days: 5 });
    const ids = [first];
    while (ids.length < 26) ids.push(await fixture.subscribe(organisation));
    const bad = await fixture.subscribe(organisation);
    await fixture.setClock(organisation, "2026-04-07");
    await fixture.bill(organisation);
    for (const id of ids) await fixture.use(organisation, id, ["4", "2026-04-07"]);
    // One at fault has the others performed one by one: they are as many.
    await fixture.use(organisation, bad, ["9999999999999999", "2026-04-07"]);
    const inLedger =
      "SET status = 'draft', ledger_invoice_id = gen_random_uuid() WHERE organisation_id = $1";
    await fixture.pool.query(`UPDATE invoices ${inLedger}`, [organisation]);
    await fixture.setClock(organisation, "2026-04-10");
    const parked = [{ subscriptionId: bad }];
    expect(await fixture.bill(organisation)).toMatchObject([
      { taken: 27, performed: 26, issued: 26, parked },
    ]);
    for (const id of ids) {
      expect((await fixture.invoices(id)).map(({ type }) => type)).toEqual([
        "first",
        "renewal",
        "usage",
      ]);
    }
  });

  test("that is refused for its amount sets the subscription aside, and what was voided lets it go on", async () => {
    const [organisation, id] = await metered();
    await fixture.setClock(organisation, "2026-03-20");
    await fixture.use(organisation, id, ["9999999999999999", "2026-03-20"], ["2", "2026-03-20"]);
    await expect(end(organisation, id, "2026-03-20T12:00:00Z")).rejects.toThrow(
      /Events of it have to be voided/,
    );
    await fixture.setClock(organisation, "2026-04-10");
    const [outcome] = await fixture.bill(organisation);
    expect(outcome?.parked).toMatchObject([
      { subscriptionId: id, reason: expect.stringContaining("have to be voided") },
    ]);
    await fixture.pool.query(
      "UPDATE usage_events SET voided_at = now(), void_reason = 'no' WHERE subscription_id = $1 AND quantity > 2",
      [id],
    );
    await fixture.pool.query("UPDATE subscriptions SET parked_until = now() WHERE id = $1", [id]);
    await fixture.bill(organisation);
    expect(await fixture.bills(id)).toEqual(["0: 1 of 2.0000 in 0, 1.0000 on INV-0002"]);
  });

  test("stores a sum of more than fifteen digits on its line", async () => {
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
});

describe("storing and closing", () => {
  test("whoever stores before a close is waited for, and is in the bill", async () => {
    const [organisation, id] = await metered();
    const { rows } = await fixture.pool.query("SELECT id FROM meters WHERE organisation_id = $1", [
      organisation,
    ]);
    await fixture.setClock(organisation, "2026-04-10");
    const closing = await inTransaction(fixture.pool, async (client) => {
      await client.query(lockToStore([id]));
      const values = [organisation, id, rows[0].id];
      await client.query(
        "INSERT INTO usage_events (organisation_id, event_id, subscription_id, meter_id, period_index, bill, quantity, occurred_at) VALUES ($1, 'in time', $2, $3, 0, 0, 5, '2026-04-09')",
        values,
      );
      const begun = billChunk(fixture.pool, organisation);
      await until("the close waits", async () => (await waiting()) === 1);
      return { begun };
    });
    expect(await closing.begun).toMatchObject({ performed: 1 });
    expect(await fixture.bills(id)).toEqual(["0: 1 of 5.0000 in 0, 2.5000 on INV-0002"]);
  });

  test("whoever stores during a close waits for it, and is in the next bill", async () => {
    const [organisation, id] = await metered();
    await fixture.setClock(organisation, "2026-04-10");
    let storing: Promise<void> | null = null;
    const outcome = await billChunk(fixture.pool, organisation, {
      onPerformed: async () => {
        storing = fixture.use(organisation, id, ["5", "2026-04-09"], ["1", "2026-04-10"]);
        await until("who stores waits", async () => (await waiting()) === 1);
      },
    });
    expect(outcome).toMatchObject({ performed: 1 });
    await storing;
    expect(await fixture.bills(id)).toEqual([]);
    await fixture.setClock(organisation, "2026-05-10");
    await fixture.bill(organisation);
    expect(await fixture.bills(id)).toEqual([
      "1: 1 of 5.0000 in 0, 2.5000 on INV-0003",
      "1: 1 of 1.0000 in 1, 0.5000 on INV-0003",
    ]);
  });

  test("a plan without meters takes no lock and costs no statement more", async () => {
    const statements = async (isMetered: boolean) => {
      const own = await fixture.sandbox("2026-03-10");
      if (isMetered) await fixture.meter(own);
      await fixture.subscribe(own);
      await fixture.setClock(own, "2026-04-10");
      const sent: string[] = [];
      let locks = -1;
      await billChunk(
        listeningPool(fixture.pool, ({ name, text }) => void sent.push(name ?? text.slice(0, 20))),
        own,
        {
          onPerformed: async (client) => {
            const { rows } = await client.query(
              "SELECT count(*)::int AS locks FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
            );
            locks = rows[0].locks;
          },
        },
      );
      return { sent: sent.filter((text) => !text.startsWith("SELECT count(*)")), locks };
    };
    const plain = await statements(false);
    const metered = await statements(true);
    expect([plain.locks, metered.locks]).toEqual([0, 1]);
    expect(metered.sent.filter((text) => !plain.sent.includes(text))).toEqual([
      expect.stringContaining("SET LOCAL"),
      "load_open_usage",
    ]);
    expect(plain.sent.filter((text) => !metered.sent.includes(text))).toEqual([]);
    expect(plain.sent.length).toBe(metered.sent.length - 2);
  });

  test("the sums are read from the index alone, whenever the statement was planned", async () => {
    const [organisation, id] = await metered();
    await fixture.setClock(organisation, "2026-04-10");
    const sent: pg.QueryConfig[] = [];
    await billChunk(
      listeningPool(fixture.pool, (statement) => void sent.push(statement)),
      organisation,
    );
    const at = sent.findIndex(({ name }) => name === "load_open_usage");
    const [lock, sums] = [sent[at - 1]?.text ?? "", sent[at]?.text ?? ""];
    const plan = async (mode: string): Promise<string> =>
      inTransaction(fixture.pool, async (client) => {
        await client.query(`SET LOCAL plan_cache_mode = ${mode}`);
        await client.query(lock);
        await client.query(`PREPARE sums AS ${sums}`);
        const { rows } = await client.query(
          `EXPLAIN EXECUTE sums ('${organisation}', ARRAY['${id}']::uuid[])`,
        );
        await client.query("DEALLOCATE sums");
        return rows.map((row) => row["QUERY PLAN"]).join("\n");
      });
    const readsIndex = async (scan: RegExp) => {
      for (const mode of ["force_custom_plan", "force_generic_plan"]) {
        const text = await plan(mode);
        expect(text).not.toMatch(/Seq Scan/);
        expect(text.match(scan)).toHaveLength(16);
      }
    };
    // As it is planned over tables that have little in them, and over many events that were vacuumed.
    await fixture.pool.query("ANALYZE usage_events");
    await readsIndex(
      /(Index Only Scan using|Index Scan using|Bitmap Index Scan on) usage_events_\d+_\w+/g,
    );
    // Only what is surely on the disk is found in the maps.
    await inTransaction(fixture.pool, async (client) => {
      await client.query("SET LOCAL synchronous_commit = on");
      await client.query(
        `INSERT INTO usage_events (organisation_id, event_id, subscription_id, meter_id, period_index, bill, quantity, occurred_at)
         SELECT $1, 'many ' || n, $2, m.id, 1, 1, 1, '2026-04-12' FROM generate_series(1, 20000) n, meters m WHERE m.organisation_id = $1`,
        [organisation, id],
      );
    });
    await until("the maps know every page", async () => {
      // Another transaction of this database, PostgreSQL's own look at a table too, keeps pages off the maps.
      await fixture.pool.query("VACUUM ANALYZE usage_events");
      const { rows } = await fixture.pool.query(
        `SELECT sum(relpages - relallvisible)::int AS unknown FROM pg_class
          WHERE oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'usage_events'::regclass)`,
      );
      return rows[0].unknown === 0;
    });
    await readsIndex(/Index Only Scan using usage_events_\d+_\w+/g);
  });
});
