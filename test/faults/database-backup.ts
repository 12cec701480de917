/**
 * A backup of the service's database and its restore, as an operator performs them: processes stop,
 * and the database goes back. The ledger keeps its documents in a separate database.
 */
import pg from "pg";
import { withDatabase } from "../../src/store/database/migrations/migrate.ts";
import type { TestSystem } from "../support/system.ts";

/** A copy of the service's database at one instant. */
export interface DatabaseBackup {
  /** Stops API and worker, and puts the copy in the database's place. Both stay stopped. */
  restore(): Promise<void>;
  drop(): Promise<void>;
}

/** Stops API and worker, copies the database, and starts both again with the settings of `env`. */
export async function backUp(
  system: TestSystem,
  env: NodeJS.ProcessEnv = {},
): Promise<DatabaseBackup> {
  const name = new URL(system.databaseUrl).pathname.slice(1);
  const copy = `${name}_backup`;
  const stop = () => Promise.all([system.api.stop(), system.worker.stop()]);
  await stop();
  await asAdmin(system, async (admin) => {
    await endConnections(admin, name);
    await admin.query(`CREATE DATABASE ${copy} TEMPLATE ${name}`);
  });
  await Promise.all([system.api.start(env), system.worker.start(env)]);
  return {
    restore: async () => {
      await stop();
      await asAdmin(system, async (admin) => {
        await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
        await admin.query(`CREATE DATABASE ${name} TEMPLATE ${copy}`);
      });
    },
    drop: () => asAdmin(system, (admin) => admin.query(`DROP DATABASE ${copy} WITH (FORCE)`)),
  };
}

async function endConnections(admin: pg.Client, database: string): Promise<void> {
  await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [
    database,
  ]);
}

async function asAdmin(
  { databaseUrl }: TestSystem,
  work: (admin: pg.Client) => Promise<unknown>,
): Promise<void> {
  const admin = new pg.Client({ connectionString: withDatabase(databaseUrl, "postgres") });
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
}
