/**
 * The embedded PostgreSQL keeps its data and recovers from every way in which the start before may
 * have ended.
 */
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freePort } from "../../../test/support/ports.ts";
import {
  type EmbeddedPostgres,
  findRunningPostgres,
  startPostgres,
} from "../src/postgres/postgres.ts";

let folder = "";
let running: EmbeddedPostgres[] = [];
let lines: string[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "postgres-test-"));
  running = [];
  lines = [];
});

afterEach(async () => {
  for (const postgres of running) await postgres.stop();
  await rm(folder, { recursive: true, force: true });
});

async function start(dataFolder = join(folder, "data"), port?: number): Promise<EmbeddedPostgres> {
  const settings = {
    dataFolder,
    port: port ?? (await freePort()),
    database: "postgres",
    log: (line: string) => lines.push(line),
  };
  const postgres = await startPostgres(settings);
  running.push(postgres);
  return postgres;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(sql);
  await client.end();
  return rows;
}

async function startWithRow(): Promise<EmbeddedPostgres> {
  const postgres = await start();
  await query(postgres.url, "CREATE TABLE kept AS SELECT 42 AS value");
  return postgres;
}

async function expectKept(): Promise<void> {
  const again = await start();
  expect(await query(again.url, "SELECT value FROM kept")).toEqual([{ value: 42 }]);
}

test("data of one start is there in the next", async () => {
  const first = await startWithRow();
  await first.stop();
  await expectKept();
  expect(lines).toEqual([]);
});

test("a server that a killed start left running is stopped, and its data is there", async () => {
  const left = await startWithRow();
  await expectKept();
  expect(lines).toEqual([
    `PostgreSQL still runs from an earlier start (process ${left.pid}): stopping it`,
  ]);
  await left.exited;
});

test("a server that was killed under an open connection is recovered", async () => {
  const killed = await startWithRow();
  const client = new pg.Client({ connectionString: killed.url });
  client.on("error", () => undefined);
  await client.connect();
  process.kill(killed.pid, "SIGKILL");
  await killed.exited;
  await expectKept();
});

test("a pid file with the number of another program does not end that program", async () => {
  const first = await startWithRow();
  const pidFile = join(folder, "data/cluster/postmaster.pid");
  const text = await readFile(pidFile, "utf8");
  await first.stop();
  await writeFile(pidFile, text.replace(/^\d+/, String(process.ppid)));
  await expectKept();
  expect(process.kill(process.ppid, 0)).toBe(true);
});

test("PostgreSQL runs in a folder that other users may not enter", async () => {
  const closed = join(folder, "closed");
  await mkdir(closed);
  await chmod(closed, 0o700);
  const postgres = await start(join(closed, "data"));
  expect(await query(postgres.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
});

test("a taken port is an error that names the setting", async () => {
  const other = createServer();
  const port = await freePort();
  await new Promise<void>((done) => other.listen(port, "127.0.0.1", done));
  await expect(start(undefined, port)).rejects.toThrow(
    `The port ${port}, wanted for PostgreSQL, is taken. Set POSTGRES_PORT to a free one.`,
  );
  await new Promise((done) => other.close(done));
});

test("a running server is found by its folder, and not once it has stopped", async () => {
  const postgres = await start();
  expect(await findRunningPostgres(join(folder, "data"), "postgres")).toBe(postgres.url);
  await postgres.stop();
  expect(await findRunningPostgres(join(folder, "data"), "postgres")).toBeUndefined();
});
