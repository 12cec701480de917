/**
 * Transactions that PostgreSQL aborts, or whose connection fails. They run again if they are not at
 * fault, and are never stored in part.
 */
import pg from "pg";
import { describe, expect } from "vitest";
import { createChanges } from "../../../src/store/admin/changes.ts";
import { CommitRefused } from "../../../src/store/database/connection.ts";
import { sqlState } from "../../../src/store/database/errors.ts";
import { newId } from "../../../src/store/database/ids.ts";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { perFile } from "../../support/file-fixture.ts";
import { databaseTest } from "../../support/fixtures.ts";

const test = databaseTest.extend("changes", perFile, ({ pool }) => createChanges(pool));

test.beforeEach(async ({ pool }) => {
  await pool.query("CREATE TABLE IF NOT EXISTS stored (what text); TRUNCATE stored");
});

const actor = {
  operatorId: null,
  operatorName: "Test",
  tokenId: null,
  operation: "Test",
  requestId: null,
};
const conflict = "DO $$ BEGIN RAISE EXCEPTION 'a conflict' USING ERRCODE = '40001'; END $$";
const nothingChanged = { result: "done", changes: [] };

async function stored(pool: pg.Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ what: string }>("SELECT what FROM stored ORDER BY what");
  return rows.map(({ what }) => what);
}

/** An operator's change with its entry in the audit log. */
const logged = {
  result: "done",
  changes: [
    { targetKind: "operator", targetId: newId(), organisationId: null, before: null, after: {} },
  ],
} as const;

async function entries(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>("SELECT count(*)::int FROM audit_log");
  return rows[0]?.count ?? 0;
}

describe("a transaction that PostgreSQL aborted", () => {
  test("by a deadlock runs again, and stores the rows of its second run", async ({
    database,
    pool,
  }) => {
    const other = new pg.Client({ connectionString: database.url });
    await other.connect();
    // The other session never detects the deadlock, so PostgreSQL aborts ours.
    await other.query("SET deadlock_timeout = '10min'");
    await other.query("BEGIN");
    await other.query("SELECT pg_advisory_xact_lock(2)");
    let runs = 0;
    let waiting: Promise<unknown> = Promise.resolve();
    const result = await inTransaction(pool, async (client) => {
      runs += 1;
      await client.query("SELECT pg_advisory_xact_lock(1)");
      if (runs === 1)
        waiting = other.query("SELECT pg_advisory_xact_lock(1)").then(() => other.query("COMMIT"));
      await client.query("INSERT INTO stored VALUES ($1)", [`run ${runs}`]);
      await client.query("SELECT pg_advisory_xact_lock(2)");
      return runs;
    });
    await waiting;
    await other.end();
    expect(result).toBe(2);
    expect(await stored(pool)).toEqual(["run 2"]);
  });

  test("each time fails after five repeats, with PostgreSQL's error", async ({ pool }) => {
    let runs = 0;
    const failed = inTransaction(pool, async (client) => {
      runs += 1;
      await client.query(conflict);
    });
    expect(sqlState(await failed.catch((error: unknown) => error))).toBe("40001");
    expect(runs).toBe(6);
  });

  test("by a conflict runs an operator's change again, which has one audit entry", async ({
    pool,
    changes,
  }) => {
    const before = await entries(pool);
    let runs = 0;
    await changes.run(actor, async (tx) => {
      runs += 1;
      if (runs < 3) await tx.query(conflict);
      return logged;
    });
    expect([runs, (await entries(pool)) - before]).toEqual([3, 1]);
  });

  test("each time fails after five repeats for an operator's change too", async ({ changes }) => {
    let runs = 0;
    const failed = changes.run(actor, async (tx) => {
      runs += 1;
      await tx.query(conflict);
      return nothingChanged;
    });
    expect(sqlState(await failed.catch((error: unknown) => error))).toBe("40001");
    expect(runs).toBe(6);
  });

  test("is not run again for any other error", async ({ pool }) => {
    let runs = 0;
    const failed = inTransaction(pool, async (client) => {
      runs += 1;
      await client.query("SELECT 1 / 0");
    });
    expect(sqlState(await failed.catch((error: unknown) => error))).toBe("22012");
    expect(runs).toBe(1);
  });
});

describe("a transaction that ignored an error", () => {
  test("fails at its COMMIT, which PostgreSQL answers with a rollback", async ({ pool }) => {
    const failed = inTransaction(pool, async (client) => {
      await client.query("INSERT INTO stored VALUES ('first')");
      await client.query("SELECT 1 / 0").catch(() => undefined);
    });
    await expect(failed).rejects.toThrow(CommitRefused);
    expect(await stored(pool)).toEqual([]);
  });

  test("fails for an operator's change too", async ({ pool, changes }) => {
    const failed = changes.run(actor, async (tx) => {
      await tx.query("INSERT INTO stored VALUES ('first')");
      await tx.query("SELECT 1 / 0").catch(() => undefined);
      return nothingChanged;
    });
    await expect(failed).rejects.toThrow("the transaction was broken off before its COMMIT");
    expect(await stored(pool)).toEqual([]);
  });
});

test("an operator's change that timed out is not committed by the next change", async ({
  pool,
  changes,
}) => {
  const hung = changes.run(actor, async (tx) => {
    await tx.query("INSERT INTO stored VALUES ('hung')");
    await tx.query("SET LOCAL statement_timeout = 0");
    // Longer than the wait for any answer, with the rollback after it.
    await tx.query("SELECT pg_sleep(30)");
    return nothingChanged;
  });
  await expect(hung).rejects.toThrow("Query read timeout");
  for (const what of ["second", "third", "fourth", "fifth"]) {
    await changes.run(actor, async (tx) => {
      await tx.query(`INSERT INTO stored VALUES ('${what}')`);
      return nothingChanged;
    });
  }
  expect(await stored(pool)).toEqual(["fifth", "fourth", "second", "third"]);
});
