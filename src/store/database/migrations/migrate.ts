/**
 * Migrates a database to the newest migration. Several processes may migrate at once: one works,
 * and the others wait and find nothing left to do. SQL, because it creates databases and locks them
 * before a schema exists.
 */
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { migrationsFolder } from "../../../assets.ts";
import { applyMigrations } from "./apply-migrations.ts";

/**
 * Options of a migration. `migrationsFolder` is this project's unless a test passes its own. `log`
 * gets one line for each migration applied.
 */
interface MigrateOptions {
  readonly migrationsFolder?: string;
  readonly log?: (line: string) => void;
}

/** The number of Prisma's own lock, so that its command line waits for this too. */
const lockNumber = 72_707_369;

/** How often a waiting process polls the lock. Migrations take well under a second. */
const lockPollMs = 100;

/** How long a process waits for another one's migrations. A large index takes minutes. */
const lockLimitMs = 30 * 60_000;

/**
 * Creates the database if it does not exist, applies missing migrations and returns their names.
 * Throws an Error that names the migration, and PostgreSQL's reason. The failed migration is rolled
 * back, and the next run says how to resolve it.
 */
export async function migrate(
  databaseUrl: string,
  options: MigrateOptions = {},
): Promise<readonly string[]> {
  await createDatabaseIfMissing(databaseUrl);
  const folder = options.migrationsFolder ?? migrationsFolder();
  return withLock(databaseUrl, (client) => applyMigrations(client, folder, options.log));
}

/** Returns the URL of another database on the same server. */
export function withDatabase(databaseUrl: string, name: string): string {
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function createDatabaseIfMissing(databaseUrl: string): Promise<void> {
  const name = decodeURIComponent(new URL(databaseUrl).pathname.slice(1));
  const missing = await withClient(databaseUrl, async () => false).catch((error: unknown) => {
    if (codeOf(error) === "3D000") return true;
    throw error;
  });
  if (!missing) return;
  await withClient(withDatabase(databaseUrl, "postgres"), async (client) => {
    try {
      await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`);
    } catch (error) {
      // Another process created it at the same time. PostgreSQL reports that with one of two codes.
      if (codeOf(error) !== "42P04" && codeOf(error) !== "23505") throw error;
    }
  });
}

async function withLock<T>(
  databaseUrl: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  return withClient(databaseUrl, async (client) => {
    const end = performance.now() + lockLimitMs;
    for (;;) {
      // Polled, not awaited: a waiting query holds a snapshot, and CREATE INDEX CONCURRENTLY would
      // wait for that.
      const { rows } = await client.query<{ locked: boolean }>(
        "SELECT pg_try_advisory_lock($1) AS locked",
        [lockNumber],
      );
      if (rows[0]?.locked) return work(client);
      if (performance.now() > end)
        throw new Error("Another process has been migrating this database for too long.");
      await wait(lockPollMs);
    }
  });
}

/** Runs `work` with a connection to the database, and closes it. */
export async function withClient<T>(
  databaseUrl: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl });
  // A connection that is lost is the error of the statement.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}
