/** The time limits of connections and queries. They spare a busy process, not a silent database. */
import type { AddressInfo } from "node:net";
import { createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect } from "vitest";
import { type Statement, startTimeLimit } from "../../../src/store/database/connection.ts";
import { createPool, type Pool } from "../../../src/store/database/pool.ts";
import { perFile } from "../../support/file-fixture.ts";
import { databaseTest } from "../../support/fixtures.ts";
import { allow } from "../../support/slowness.ts";

const pools: Pool[] = [];
const servers: Server[] = [];
const sockets = new Set<Socket>();
const test = databaseTest.extend("databaseUrl", perFile, ({ database }) => database.url);

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) server.close();
  await Promise.all(pools.splice(0).map((pool) => pool.end()));
});

/** Longer than an answer of the database takes, also on a slow machine. */
const limitMs = allow(200);

function open(databaseUrl: string, url = databaseUrl): Pool {
  const pool = createPool(
    { databaseUrl: url, size: 1, name: "test", connectTimeoutMs: limitMs },
    () => undefined,
  );
  pools.push(pool);
  return pool;
}

/** Keeps this process from reading anything, as a flood of requests does. */
function beBusy(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1.5 * limitMs);
}

/** Starts a server that accepts connections and never answers. Returns its URL. */
async function silentServer(): Promise<string> {
  const server = createServer((socket) => sockets.add(socket.on("error", () => undefined)));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `postgresql://u:p@127.0.0.1:${(server.address() as AddressInfo).port}/d`;
}

const select = (text: string): Statement => ({ text, timeLimitMs: limitMs });

describe("a process that was busy for longer than the limit", () => {
  test("gets its new connection", async ({ databaseUrl }) => {
    const connecting = open(databaseUrl).connect();
    beBusy();
    (await connecting).release();
  });

  test("gets a connection for which it waited", async ({ databaseUrl }) => {
    const pool = open(databaseUrl);
    const first = await pool.connect();
    const second = pool.connect();
    first.release();
    beBusy();
    (await second).release();
  });

  test("gets the answer of a query, by the pool and on a connection", async ({ databaseUrl }) => {
    const pool = open(databaseUrl);
    await pool.query("SELECT 1");
    const byPool = pool.query(select("SELECT 1 AS one"));
    await new Promise(setImmediate);
    beBusy();
    expect((await byPool).rows).toEqual([{ one: 1 }]);
    const connection = await pool.connect();
    const onConnection = connection.query(select("SELECT 2 AS two"));
    beBusy();
    expect((await onConnection).rows).toEqual([{ two: 2 }]);
    connection.release();
  });

  test("ends no limit in one step", async () => {
    let ended = false;
    const stop = startTimeLimit(limitMs, () => {
      ended = true;
    });
    beBusy();
    await new Promise((resolve) => setTimeout(resolve, 0));
    await new Promise(setImmediate);
    expect(ended).toBe(false);
    stop();
  });
});

describe("a database that is silent past the limit", () => {
  test("is unreachable, and its connection is closed", async ({ databaseUrl }) => {
    const pool = open(databaseUrl, await silentServer());
    await expect(pool.connect()).rejects.toThrow("timeout exceeded when trying to connect");
    await expect.poll(() => pool.totalCount).toBe(0);
  });

  test("whose connections are all taken refuses the next caller, and leaks none", async ({
    databaseUrl,
  }) => {
    const pool = open(databaseUrl);
    const taken = await pool.connect();
    await expect(pool.connect()).rejects.toThrow("timeout exceeded when trying to connect");
    taken.release();
    expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    await expect.poll(() => [pool.idleCount, pool.waitingCount]).toEqual([1, 0]);
  });

  test("fails the query, and the connection is not used again", async ({ databaseUrl }) => {
    const pool = open(databaseUrl);
    const pid = "SELECT pg_backend_pid() AS pid";
    const before = (await pool.query<{ pid: number }>(pid)).rows[0]?.pid;
    await expect(pool.query(select("SELECT pg_sleep(600)"))).rejects.toThrow("Query read timeout");
    expect((await pool.query<{ pid: number }>(pid)).rows[0]?.pid).not.toBe(before);
    const connection = await pool.connect();
    await expect(connection.query(select("SELECT pg_sleep(600)"))).rejects.toThrow(
      "Query read timeout",
    );
    connection.release();
    await expect(connection.query("SELECT 1")).rejects.toThrow();
  });
});
