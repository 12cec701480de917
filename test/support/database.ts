/**
 * A separate database for each test file, copied from the template that the global set-up migrated
 * once.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { inject } from "vitest";
import { withDatabase } from "../../src/store/database/migrations/migrate.ts";
import { allow } from "./slowness.ts";

/**
 * A database that holds the migrated schema and nothing else. `drop` ends its connections and
 * removes it.
 */
export interface FreshDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** A copy waits for another copy of the template; each takes some tens of milliseconds. */
const busyLimitMs = allow(12_000);

/** Creates an empty, migrated database; any number of files may do so at once. */
export async function freshDatabase(): Promise<FreshDatabase> {
  const serverUrl = inject("postgresUrl");
  const name = `${inject("databasePrefix")}${randomUUID().replaceAll("-", "")}`;
  await asAdmin(serverUrl, async (client) => {
    const end = performance.now() + busyLimitMs;
    for (;;) {
      try {
        await client.query(
          `CREATE DATABASE ${name} TEMPLATE ${pg.escapeIdentifier(inject("templateDatabase"))}`,
        );
        return;
      } catch (error) {
        // "source database is being accessed by other users": another file is copying it.
        if (
          !(error instanceof pg.DatabaseError) ||
          error.code !== "55006" ||
          performance.now() > end
        )
          throw error;
        await wait(20);
      }
    }
  });
  return {
    url: withDatabase(serverUrl, name),
    drop: () =>
      asAdmin(serverUrl, (client) =>
        client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
      ).then(() => undefined),
  };
}

async function asAdmin<T>(serverUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: withDatabase(serverUrl, "postgres") });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
