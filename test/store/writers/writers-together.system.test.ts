/**
 * Every pair of writers at the same time on the same subscriptions and documents, without a
 * deadlock. INVARIANT-5.
 */
import pg from "pg";
import { describe, expect } from "vitest";
import { Refusal } from "../../../src/domain/refusal.ts";
import { lockSubscriptions } from "../../../src/store/database/lock-order.ts";
import { claimInvoices } from "../../../src/store/ledger-jobs/claim-jobs.ts";
import type { PostingOutcome } from "../../../src/store/ledger-jobs/document-outcomes.ts";
import { recordOutcomes } from "../../../src/store/ledger-jobs/record-outcomes.ts";
import { operatorWrites } from "../../support/operator-writes.ts";
import { testPool } from "../../support/pool.ts";
import { jobsOf } from "../../support/rows.ts";
import { stepLimitMs } from "../../support/slowness.ts";
import { until } from "../../support/system.ts";
import { tenantWrites } from "../../support/tenant-writes.ts";
import { expectSumsOfEvents } from "../../support/usage-sums.ts";
import { isWaiting, usageTest as test, type UsageFixture } from "../billing/usage-fixture.ts";
import { auditOf } from "./audited-money.ts";
import { type EveryWriter, everyWriter, writerPools } from "./every-writer.ts";
import { ledgerId } from "./writer-parts.ts";

/**
 * The number of deadlocks that PostgreSQL has resolved in this database. A connection reports its
 * own at the latest when it ends.
 */
async function deadlocks(fixture: UsageFixture): Promise<number> {
  const client = new pg.Client({ connectionString: fixture.url });
  await client.connect();
  try {
    const { rows } = await client.query<{ deadlocks: string }>(
      "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()",
    );
    return Number(rows[0]?.deadlocks);
  } finally {
    await client.end();
  }
}

/** The instances of each of the two writers. */
const atOnce = 2;

/** Hundreds of pairs take as long as several tests. */
const timeout = 4 * stepLimitMs;

test("two writers at the same time never deadlock, fail or bill anything twice", {
  timeout,
}, async ({ fixture }) => {
  const before = await deadlocks(fixture);
  const faults = new Map<string, number>();
  const done = new Map<string, number>();
  const count = (counts: Map<string, number>, what: string) =>
    counts.set(what, (counts.get(what) ?? 0) + 1);
  const write = async (
    writers: EveryWriter["writers"],
    name: string,
    other: string,
  ): Promise<void> => {
    try {
      await writers[name]?.();
      count(done, name);
    } catch (error) {
      if (error instanceof Refusal) return;
      const { code = "", message } = error as Error & { readonly code?: string };
      count(faults, `${name} with ${other}: ${code} ${message}`);
    }
  };
  const pools = writerPools(fixture);
  const audits: Record<string, unknown>[] = [];
  let names: readonly string[] = [""];
  // Each writer has a separate organisation. In a common one, later writers would wait for what
  // earlier ones left to bill.
  for (let index = 0; index < names.length; index += 1) {
    const { organisationId, writers, renew } = await everyWriter(fixture, pools);
    names = Object.keys(writers);
    const first = names[index] ?? "";
    await renew();
    for (const second of names.slice(index)) {
      await renew();
      const both = Array.from({ length: atOnce }, () => [
        write(writers, first, second),
        write(writers, second, first),
      ]);
      await Promise.all(both.flat());
    }
    audits.push(await auditOf(fixture.pool, organisationId));
  }
  await pools.close();
  expect([...faults]).toEqual([]);
  expect((await deadlocks(fixture)) - before).toBe(0);
  // Every writer wrote something.
  expect(names.filter((name) => !done.has(name))).toEqual([]);
  expect(audits).toEqual(names.map(() => ({})));
  await expectSumsOfEvents(fixture);
});

test("forty ends begin while the outcomes of their invoices are recorded", async ({ fixture }) => {
  const { organisationId, ids, outcomes } = await fortyToPost(fixture);
  const now = new Date("2026-03-10T12:00:00Z");
  const options = { when: "now", deleteUnsentInvoices: true, voidApprovedInvoices: true } as const;
  const { result, deadlockCount } = await apart(fixture, async (pool) => {
    const writes = tenantWrites(pool, organisationId);
    const ends = ids.map((id) => writes.end({ id, now }, options));
    const [, ...begun] = await Promise.all([
      recordOutcomes(pool, organisationId, outcomes),
      ...ends,
    ]);
    return begun.map(({ kind }) => kind);
  });
  expect(result).toEqual(ids.map(() => "removing"));
  const jobs = await jobsOf(fixture.pool, { organisationId, kind: "create_invoice" });
  expect(new Set(jobs.map(({ state }) => state))).toEqual(new Set(["done"]));
  expect(deadlockCount).toBe(0);
});

describe("a transaction that holds a subscription", () => {
  test("locks its invoices while the recording of outcomes waits", async ({ fixture }) => {
    const { organisationId, ids, outcomes } = await fortyToPost(fixture);
    const { deadlockCount } = await apart(fixture, async (pool) => {
      const posted = await holding(fixture, organisationId, ids.slice(-1), async (client) => {
        const posting = recordOutcomes(pool, organisationId, outcomes);
        await until("the recording waits", () => isWaiting(fixture));
        await client.query(
          "SELECT 1 FROM invoices WHERE subscription_id = ANY ($1) FOR KEY SHARE",
          [ids],
        );
        return { posting };
      });
      await posted.posting;
    });
    expect(deadlockCount).toBe(0);
  });

  test("locks the next one while a switch of Setup Mode waits for the first", async ({
    fixture,
  }) => {
    const organisationId = await fixture.sandbox("2026-03-10");
    const ids = [
      await fixture.subscribe(organisationId),
      await fixture.subscribe(organisationId),
    ].toSorted();
    // The second one is due first, and its row is first in the table.
    const fallsDueAfter = (id: string | undefined, days: number) =>
      fixture.pool.query(
        "UPDATE subscriptions SET due_at = due_at + $2 * interval '1 day' WHERE id = $1",
        [id, days],
      );
    await fallsDueAfter(ids[1], 1);
    await fallsDueAfter(ids[0], 2);
    await fixture.posted(organisationId);
    const { deadlockCount } = await apart(fixture, async (pool) => {
      const { setSetupMode } = operatorWrites(pool);
      const switched = await holding(fixture, organisationId, ids.slice(0, 1), async (client) => {
        const switching = setSetupMode(organisationId, true);
        await until("the switch waits", () => isWaiting(fixture));
        await lockSubscriptions(client, organisationId, ids.slice(1));
        return { switching };
      });
      expect((await switched.switching).changed).toBe(true);
    });
    expect(deadlockCount).toBe(0);
  });
});

/** Forty subscriptions, and the outcomes of their first invoices: approved. */
async function fortyToPost(fixture: UsageFixture) {
  const organisationId = await fixture.sandbox("2026-03-10", { first_invoice_status: "approved" });
  const ids: string[] = [];
  for (let one = 0; one < 40; one += 1) ids.push(await fixture.subscribe(organisationId));
  const { ready } = await claimInvoices(fixture.pool, organisationId, 60_000);
  const outcomes = ready.map(({ id, attempts, subtotal }): PostingOutcome => {
    const answer = {
      status: "approved",
      subtotal,
      total: subtotal,
      amountDue: subtotal,
      sent: false,
      lines: [],
    };
    return { kind: "invoice_done", jobId: id, attempt: attempts, ledgerId: ledgerId(), ...answer };
  });
  return { organisationId, ids: ids.toSorted(), outcomes };
}

/** Runs the work in a transaction that holds the subscriptions. It is not repeated. */
async function holding<T>(
  fixture: UsageFixture,
  organisationId: string,
  ids: readonly string[],
  work: (client: pg.PoolClient) => Promise<T>,
) {
  const client = await fixture.pool.connect();
  try {
    await client.query("BEGIN");
    await lockSubscriptions(client, organisationId, ids);
    const result = await work(client);
    await client.query("COMMIT");
    return result;
  } finally {
    client.release(true);
  }
}

/** Runs the work on separate connections. Returns its result and the number of deadlocks. */
async function apart<T>(
  fixture: UsageFixture,
  work: (pool: pg.Pool) => Promise<T>,
): Promise<{ result: T; deadlockCount: number }> {
  const before = await deadlocks(fixture);
  const pool = testPool(fixture.url, 8, "apart");
  try {
    const result = await work(pool);
    await pool.end();
    return { result, deadlockCount: (await deadlocks(fixture)) - before };
  } finally {
    if (!pool.ended) await pool.end();
  }
}
