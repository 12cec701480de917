/** Statements that a connection plans once, next to those that are planned for their values. */
import pg from "pg";
import { expect } from "vitest";
import { columns } from "../../../../src/gen/columns.ts";
import {
  createPool,
  inTransaction,
  type Transaction,
} from "../../../../src/store/database/pool.ts";
import { pick } from "../../../../src/store/database/sql/columns.ts";
import { sql } from "../../../../src/store/database/sql/sql.ts";
import { undeclaredQuery } from "../../../../src/store/database/sql/statement.ts";
import { perFile } from "../../../support/file-fixture.ts";
import { databaseTest } from "../../../support/fixtures.ts";

/** A pool with one connection, so that each statement meets what earlier ones left. */
const test = databaseTest.extend("single", perFile, ({ database }, { onCleanup }) => {
  const pool = createPool({ databaseUrl: database.url, size: 1, name: "planned" }, () => undefined);
  onCleanup(() => pool.end());
  return pool;
});

const text = sql`SELECT id FROM organisations WHERE id = ANY ($1::uuid[])`;
const row = pick(columns.organisation, "id");
const once = undeclaredQuery({ name: "once", planned: "once", text, row });
const each = undeclaredQuery({ name: "each", text, row });

/** How often each of the two statements was planned for its values, and had its one plan. */
async function plans(client: Pick<Transaction, "query">) {
  const { rows } = await client.query(
    `SELECT name, custom_plans::int AS custom, generic_plans::int AS generic
      FROM pg_prepared_statements WHERE name IN ('once', 'each') ORDER BY name DESC`,
  );
  return rows;
}

test("a connection plans a marked statement once, and others for their values", async ({
  single,
}) => {
  for (const statement of [once, each, once, once, each]) await statement(single, []);
  expect(await plans(single)).toEqual([
    { name: "once", custom: 0, generic: 3 },
    { name: "each", custom: 2, generic: 0 },
  ]);
});

test("a rollback leaves no statement with the other one's planning", async ({ single }) => {
  const before = await plans(single);
  const after = (times: number) => [
    { ...before[0], generic: before[0].generic + times },
    { ...before[1], custom: before[1].custom + times },
  ];
  const given = new Error("given up");
  const giveUp = inTransaction(single, async (tx) => {
    await once(tx, []);
    throw given;
  });
  await expect(giveUp).rejects.toBe(given);
  await each(single, []);
  await once(single, []);
  // A transaction that an error aborted.
  const fail = inTransaction(single, async (tx) => {
    await each(tx, []);
    await tx.query("SELECT 1 / $1::int", [0]);
  });
  await expect(fail).rejects.toThrow("division by zero");
  await once(single, []);
  await inTransaction(single, async (tx) => {
    await tx.query("SAVEPOINT before");
    await each(tx, []);
    // As Prisma's nested writes send it.
    await tx.query({ text: "ROLLBACK TO SAVEPOINT before", values: [] });
    await once(tx, []);
    await each(tx, []);
  });
  expect(await plans(single)).toEqual(after(4));
});

test("a statement in an aborted transaction is refused", async ({ single }) => {
  const client = await single.connect();
  try {
    await each(client, []);
    await client.query("BEGIN");
    await expect(client.query("SELECT 1 / $1::int", [0])).rejects.toThrow("division by zero");
    await expect(once(client, [])).rejects.toThrow("current transaction is aborted");
    await client.query("ROLLBACK");
    expect(await once(client, [])).toEqual([]);
  } finally {
    client.release();
  }
});

test("no statement is compiled, also where the server would", async ({ database, single }) => {
  const { rows } = await single.query<{ name: string }>("SELECT current_database() AS name");
  const name = pg.escapeIdentifier(rows[0]?.name ?? "");
  await single.query(`ALTER DATABASE ${name} SET jit = on`);
  const settings = { databaseUrl: database.url, size: 1, name: "compiled" };
  const pool = createPool(settings, () => undefined);
  try {
    expect((await pool.query("SHOW jit")).rows).toEqual([{ jit: "off" }]);
  } finally {
    await pool.end();
    await single.query(`ALTER DATABASE ${name} RESET jit`);
  }
});
