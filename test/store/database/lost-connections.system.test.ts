/**
 * What the clients throw if the database cannot be reached or is lost, and what they throw if it
 * answers an error. One function distinguishes them for statements and for typed calls. REQUEST-14.
 */
import { createServer } from "node:net";
import pg from "pg";
import { expect } from "vitest";
import { isDatabaseUnreachable } from "../../../src/store/database/errors.ts";
import { newId } from "../../../src/store/database/ids.ts";
import { createPool, inTransaction, type Pool } from "../../../src/store/database/pool.ts";
import { dbOfAll, loadClient } from "../../../src/store/database/prisma/client.ts";
import { openLine } from "../../scenario/cut-line.ts";
import { databaseTest } from "../../support/fixtures.ts";
import { testPool } from "../../support/pool.ts";
import { freePort } from "../../support/ports.ts";
import { until } from "../../support/until.ts";

const test = databaseTest;

/** A statement, and a typed call that sends several. Each reads or writes `organisations`. */
const first = (executor: pg.Pool | pg.PoolClient) =>
  dbOfAll(executor).organisation.findFirst({ select: { id: true } });
const renamed = (executor: pg.Pool | pg.PoolClient) =>
  dbOfAll(executor).organisation.updateMany({
    where: { id: newId() },
    data: { name: "Other" },
  });
const nested = (executor: pg.Pool | pg.PoolClient) =>
  dbOfAll(executor).organisation.update({
    where: { id: newId() },
    data: { name: "Other", customers: { deleteMany: {} } },
  });
const sql = (executor: pg.Pool | pg.PoolClient) =>
  executor.query("SELECT count(*) FROM organisations");

/** The ways to send: by either client, over the pool and inside a transaction. */
const ways: readonly (readonly [string, (pool: Pool) => Promise<unknown>])[] = [
  ["a statement", sql],
  ["a statement in a transaction", (pool) => inTransaction(pool, sql)],
  ["a typed read", first],
  ["a typed read in a transaction", (pool) => inTransaction(pool, first)],
  ["a typed write", renamed],
  ["a typed write in a transaction", (pool) => inTransaction(pool, renamed)],
  ["a nested write", nested],
  ["a nested write in a transaction", (pool) => inTransaction(pool, nested)],
];

/** A pool whose limits are short. It holds one connection at a time. */
const victimOf = (databaseUrl: string): Pool =>
  createPool(
    { databaseUrl, size: 1, name: "victim", connectTimeoutMs: 300, statementTimeoutMs: 300 },
    () => undefined,
  );

/** Whether the database was unreachable, or what was thrown instead. */
const outcomeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => "nothing was thrown",
    (error: unknown) => (isDatabaseUnreachable(error) ? "unreachable" : String(error)),
  );

/** Runs each way while another session holds the table, and `lose` once it waits for it. */
async function loseEach(
  pool: Pool,
  databaseUrl: string,
  victimUrl: string,
  lose: (pid: number) => Promise<unknown>,
): Promise<Readonly<Record<string, string>>> {
  const holder = new pg.Client({ connectionString: databaseUrl });
  await holder.connect();
  await holder.query("BEGIN; LOCK TABLE organisations IN ACCESS EXCLUSIVE MODE");
  const outcomes: [string, string][] = [];
  for (const [name, way] of ways) {
    // Its statements may wait long: what ends them is what is tried.
    const settings = { databaseUrl: victimUrl, size: 1, name: "victim" };
    const victim = createPool({ ...settings, connectTimeoutMs: 10_000 }, () => undefined);
    const outcome = outcomeOf(way(victim));
    const pid = await until(`${name} waits for the table`, async () => {
      const { rows } = await pool.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity
          WHERE application_name = 'victim' AND wait_event_type = 'Lock'`,
      );
      return rows[0]?.pid ?? false;
    });
    await lose(pid);
    outcomes.push([name, await outcome]);
    await pool.query("SELECT pg_terminate_backend($1)", [pid]);
    await victim.end();
  }
  await holder.end();
  return Object.fromEntries(outcomes);
}

const allUnreachable = Object.fromEntries(ways.map(([name]) => [name, "unreachable"]));

test.beforeEach(({ pool }) => loadClient(pool));

test("a connection that the server ends in each call is a lost database", async ({
  database,
  pool,
}) => {
  const terminate = (pid: number) => pool.query("SELECT pg_terminate_backend($1)", [pid]);
  expect(await loseEach(pool, database.url, database.url, terminate)).toEqual(allUnreachable);
});

test("a connection that is cut in each call is a lost database", async ({ database, pool }) => {
  const line = await openLine(database.url);
  const cut = async () => {
    await line.cut();
    await line.mend();
  };
  expect(await loseEach(pool, database.url, line.url, cut)).toEqual(allUnreachable);
  await line.cut();
});

test("a connection that ended between two calls of a transaction is a lost database", async ({
  database,
  pool,
}) => {
  for (const call of [sql, first, renamed, nested]) {
    const victim = victimOf(database.url);
    const outcome = inTransaction(victim, async (client) => {
      const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      const ended = new Promise((resolve) => client.once("error", resolve));
      await pool.query("SELECT pg_terminate_backend($1)", [rows[0]?.pid]);
      await ended;
      await call(client);
    });
    expect(await outcomeOf(outcome)).toBe("unreachable");
    await victim.end();
  }
});

/** A message of PostgreSQL's protocol: an error before anything else. */
function refusal(code: string): Buffer {
  const body = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mnot now\0\0`);
  const head = Buffer.alloc(5);
  head.write("E", "latin1");
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

test.for([
  ["refuses its port", null],
  ["is silent", "silent"],
  ["hangs up", "closed"],
  ["starts up", "57P03"],
  ["has too many connections", "53300"],
  ["shuts down", "57P01"],
] as const)("a server that %s is a lost database for each call", async ([, how]) => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      if (how === "closed") socket.destroy();
      else if (how !== null && how !== "silent") socket.end(refusal(how));
    });
  });
  const port = await freePort();
  if (how !== null) await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const url = `postgres://nobody@127.0.0.1:${port}/none?sslmode=disable`;
  const outcomes = await Promise.all(
    ways.map(async ([name, way]) => {
      const victim = victimOf(url);
      const outcome = await outcomeOf(way(victim));
      await victim.end();
      return [name, outcome];
    }),
  );
  expect(Object.fromEntries(outcomes)).toEqual(allUnreachable);
  server.close();
});

test("an error that the database answers is no lost database", async ({ database, pool }) => {
  const victim = testPool(database.url, 1);
  const answered = [
    () => victim.query("SELECT 1 / 0"),
    () => victim.query("SET statement_timeout = 300; SELECT pg_sleep(20)"),
    () => inTransaction(victim, (client) => client.query("SELECT * FROM nowhere")),
    () => nested(victim),
    () => dbOfAll(victim).organisation.findFirst({ where: { id: "no uuid" } }),
  ];
  for (const call of answered)
    expect(await outcomeOf(call())).not.toMatch(/unreachable|nothing was thrown/);
  const holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
  await holder.query("BEGIN; LOCK TABLE organisations IN ACCESS EXCLUSIVE MODE");
  await victim.query("SET statement_timeout = 300");
  expect(await outcomeOf(first(victim))).toMatch(/statement timeout/);
  await holder.end();
  await victim.end();
  expect(await outcomeOf(first(pool))).toBe("nothing was thrown");
});
