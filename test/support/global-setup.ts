/**
 * Starts the servers of the `system` project once for the whole run and stops them at its end: one PostgreSQL with a migrated template
 * database. TEST_DATABASE_URL names a PostgreSQL to use instead (its role must be allowed to create databases).
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { startPostgres } from "../../src/embedded/postgres.ts";
import { migrate, withDatabase } from "../../src/store/migrate.ts";
import { freePort } from "./ports.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Any database of the server that tests may create databases on. */
    postgresUrl: string;
    /** The migrated, empty database that `freshDatabase` copies. */
    templateDatabase: string;
  }
}

/** Durability has its own tests, which start a server of their own; here it would only cost time. */
const fastSettings = { fsync: "off", synchronous_commit: "off", full_page_writes: "off" };

/** Called by vitest before the first file; what it returns is called after the last, also when tests failed. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "billing-test-"));
  const stops: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true })];
  const stopAll = async (): Promise<void> => {
    for (const stop of stops.splice(0).reverse()) await stop();
  };
  try {
    const postgresUrl = await providePostgres(folder, stops);
    const templateDatabase = `template_${randomUUID().replaceAll("-", "")}`;
    await migrate(withDatabase(postgresUrl, templateDatabase));
    stops.push(() => drop(postgresUrl, templateDatabase));
    project.provide("postgresUrl", postgresUrl);
    project.provide("templateDatabase", templateDatabase);
    return stopAll;
  } catch (error) {
    await stopAll();
    throw error;
  }
}

async function providePostgres(folder: string, stops: (() => Promise<void>)[]): Promise<string> {
  const given = process.env.TEST_DATABASE_URL;
  if (given) return given;
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

async function drop(serverUrl: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: withDatabase(serverUrl, "postgres") });
  await client.connect();
  await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  await client.end();
}
