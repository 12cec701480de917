/**
 * Starts the servers of the `system` project once for the whole run and stops them at its end: one
 * PostgreSQL with a migrated template database, and one Temporal dev server in memory.
 * TEST_DATABASE_URL and TEST_TEMPORAL_ADDRESS name servers to use instead (allowed to create
 * databases and namespaces). It also builds the programs that tests start: TEST_FROM_SOURCES=1
 * starts them from the sources instead.
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { startPostgres } from "../../packages/dev/src/postgres/postgres.ts";
import { startTemporal } from "../../packages/dev/src/temporal/temporal-server.ts";
import { migrate, withDatabase } from "../../src/store/database/migrations/migrate.ts";
import { searchAttributes } from "../../src/worker/temporal/search-attributes.ts";
import { buildPrograms } from "./built-programs.ts";
import { freePort } from "./ports.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Any database of the server that tests may create databases on. */
    postgresUrl: string;
    /** The migrated, empty database that `freshDatabase` copies. */
    templateDatabase: string;
    /** What the names of its copies begin with. */
    databasePrefix: string;
    /** The Temporal server on which `testTemporal` creates a namespace for each file. */
    temporalAddress: string;
    /** The events of a history from which that server asks for a new run. */
    longHistory: number;
  }
}

/** Durability has separate tests, which start another server; here it would only cost time. */
const fastSettings = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  // Four files at once have several processes each, whose pools of up to 20 may all be full.
  max_connections: "500",
};

/** The default of Temporal servers. */
const defaultLongHistory = 4_096;

/**
 * Runs that go on in a new one are the same at any length, and at the default one they take a
 * minute each.
 */
const ownLongHistory = 192;

/**
 * A server of one machine needs one partition of each task queue. With four, the queues of every
 * namespace that a file left, which nothing polls, keep a tenth of a core busy for ten of them.
 */
const onePartition = ["Read", "Write"].map((kind) => `matching.numTaskqueue${kind}Partitions=1`);

/**
 * Called by vitest before the first file; what it returns is called after the last, also when tests
 * failed.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "billing-test-"));
  // Hundreds of processes load the same modules: each is compiled and stripped of its types once,
  // and kept for the next run.
  process.env.NODE_COMPILE_CACHE ??= join(
    import.meta.dirname,
    "../../node_modules/.cache/compiled",
  );
  const stops: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true })];
  const stopAll = async (): Promise<void> => {
    for (const stop of stops.splice(0).reverse()) await stop();
  };
  try {
    const [postgresUrl, temporalAddress] = await bothOrNone([
      providePostgres(folder, stops),
      provideTemporal(stops),
    ]);
    // Read by `programPath`, also in the processes of the tests.
    if (!process.env.TEST_FROM_SOURCES) process.env.TEST_PROGRAMS = await buildPrograms();
    const run = randomUUID().slice(0, 8);
    const [templateDatabase, databasePrefix] = [`template_${run}`, `test_${run}_`];
    await migrate(withDatabase(postgresUrl, templateDatabase));
    stops.push(() => dropAll(postgresUrl, [templateDatabase, `${databasePrefix}%`]));
    project.provide("postgresUrl", postgresUrl);
    project.provide("templateDatabase", templateDatabase);
    project.provide("databasePrefix", databasePrefix);
    project.provide("temporalAddress", temporalAddress);
    project.provide(
      "longHistory",
      process.env.TEST_TEMPORAL_ADDRESS ? defaultLongHistory : ownLongHistory,
    );
    return stopAll;
  } catch (error) {
    await stopAll();
    throw error;
  }
}

async function providePostgres(folder: string, stops: (() => Promise<void>)[]): Promise<string> {
  const passed = process.env.TEST_DATABASE_URL;
  if (passed) return passed;
  const postgres = await startPostgres({
    dataFolder: join(folder, "postgres"),
    port: await freePort(),
    database: "postgres",
    log: (line) => console.log(line),
    serverSettings: fastSettings,
  });
  stops.push(() => postgres.stop());
  return postgres.url;
}

async function provideTemporal(stops: (() => Promise<void>)[]): Promise<string> {
  const passed = process.env.TEST_TEMPORAL_ADDRESS;
  if (passed) return passed;
  const temporal = await startTemporal({
    port: await freePort(),
    namespace: "tests",
    searchAttributes,
    dynamicConfig: [...onePartition, `limit.historyCount.suggestContinueAsNew=${ownLongHistory}`],
    log: (line) => console.log(line),
  });
  stops.push(() => temporal.stop());
  return temporal.address;
}

/** Waits for both even when one fails, so that a server that comes up late is stopped as well. */
async function bothOrNone(starts: [Promise<string>, Promise<string>]): Promise<[string, string]> {
  await Promise.allSettled(starts);
  return Promise.all(starts);
}

/** Also those of files that could not drop their own, and of systems that many files shared. */
async function dropAll(serverUrl: string, patterns: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: withDatabase(serverUrl, "postgres") });
  await client.connect();
  const { rows } = await client.query(
    "SELECT datname FROM pg_database WHERE datname LIKE ANY ($1)",
    [patterns],
  );
  for (const { datname } of rows)
    await client.query(`DROP DATABASE IF EXISTS ${datname} WITH (FORCE)`);
  await client.end();
}
