/**
 * Migrates a database to the newest migration, and reports how migrations, schema and database
 * differ. Several processes may migrate at once: one works, and the others wait and find nothing
 * left to do. SQL, because it creates databases and locks them before a schema exists.
 */
import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import {
  projectMigrations,
  readMigrations,
  wholeSchema,
  withSchemaEngine,
} from "./schema-engine.ts";

/**
 * Options of a migration. `migrationsFolder` is this project's unless a test passes its own. `log`
 * gets one line for each migration applied.
 */
interface MigrateOptions {
  readonly migrationsFolder?: string;
  readonly log?: (line: string) => void;
}

/** Any fixed number works if no other lock uses it. Prisma itself takes 72707369. */
const lockNumber = 8_207_143;

/** How often a waiting process polls the lock. Migrations take well under a second. */
const lockPollMs = 100;

/** How long a process waits for another one's migrations. A large index takes minutes. */
const lockLimitMs = 30 * 60_000;

/**
 * Creates the database if it does not exist, applies missing migrations and returns their names.
 * Throws an Error with the database's message and the migration's name. The failed migration is
 * rolled back. Prisma's table marks it as failed until `prisma migrate resolve`.
 */
export async function migrate(
  databaseUrl: string,
  options: MigrateOptions = {},
): Promise<readonly string[]> {
  await createDatabaseIfMissing(databaseUrl);
  const migrationsList = await readMigrations(options.migrationsFolder ?? projectMigrations);
  if (migrationsList.migrationDirectories.length === 0) return [];
  const first = migrationsList.migrationDirectories[0]?.path ?? "";
  return withLock(databaseUrl, async (client) => {
    await requireReleasedData(client, first);
    const input = { migrationsList, filters: wholeSchema };
    const { appliedMigrationNames } = await withSchemaEngine({ databaseUrl }, (engine) =>
      engine.applyMigrations(input),
    );
    for (const name of appliedMigrationNames) options.log?.(`applied migration ${name}`);
    return appliedMigrationNames;
  });
}

/**
 * What `diff` needs: a server on which it may create and drop scratch databases, and the Prisma
 * schema that the migrations should produce.
 */
interface DiffOptions {
  readonly serverUrl: string;
  readonly schemaFile: string;
  readonly migrationsFolder?: string;
}

/** Returns the SQL that leads from the migrations to the schema, or undefined if they agree. */
export async function diff(options: DiffOptions): Promise<string | undefined> {
  const migrations = await readMigrations(options.migrationsFolder ?? projectMigrations);
  const files = [{ path: options.schemaFile, content: await readFile(options.schemaFile, "utf8") }];
  return withScratchDatabase(options.serverUrl, (databaseUrl) =>
    withScratchDatabase(options.serverUrl, async (shadowUrl) => {
      const result = await withSchemaEngine({ databaseUrl, shadowUrl }, (engine) =>
        engine.diff({
          from: { tag: "migrations", ...migrations },
          to: { tag: "schemaDatamodel", files },
          script: true,
          exitCode: true,
          filters: wholeSchema,
        }),
      );
      return result.exitCode === 2 ? (result.stdout ?? "") : undefined;
    }),
  );
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

/**
 * Throws if the database has a migration from before `first`. Before the first release the
 * migrations were replaced by one, and data of an earlier state cannot be upgraded.
 */
async function requireReleasedData(client: pg.Client, first: string): Promise<void> {
  const { rows } = await client
    .query<{ name: string }>(
      "SELECT migration_name AS name FROM _prisma_migrations ORDER BY migration_name LIMIT 1",
    )
    .catch((error: unknown) => {
      // A database without this table is empty.
      if (codeOf(error) === "42P01") return { rows: [] };
      throw error;
    });
  const [found] = rows;
  if (found === undefined || found.name >= first) return;
  throw new Error(
    `The database was made by a version before the first release (migration ${found.name}), and ` +
      "its data cannot be upgraded. Use a new database. Nothing was changed.",
  );
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

async function withScratchDatabase<T>(
  serverUrl: string,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const name = `scratch_${randomUUID().replaceAll("-", "")}`;
  const admin = withDatabase(serverUrl, "postgres");
  const send = (statement: string) => withClient(admin, (client) => client.query(statement));
  await send(`CREATE DATABASE ${name} TEMPLATE template0`);
  try {
    return await work(withDatabase(serverUrl, name));
  } finally {
    await send(`DROP DATABASE ${name} WITH (FORCE)`);
  }
}

async function withClient<T>(
  databaseUrl: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl });
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
