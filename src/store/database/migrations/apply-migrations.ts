/**
 * Applies migrations as `prisma migrate deploy` does, and records them in Prisma's own table, so
 * that either can continue what the other began. SQL, because the table is Prisma's and no model.
 */
import { createHash, randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { bool, instant, type RowOf, text } from "../sql/columns.ts";
import { sql } from "../sql/sql.ts";
import { query } from "../sql/statement.ts";

const recordedRow = {
  name: text,
  checksum: text,
  startedAt: instant,
  /** Whether it failed or was interrupted. */
  isOpen: bool,
};

/** A migration that the database knows. */
type RecordedMigration = RowOf<typeof recordedRow>;

/** Prisma's definition. */
const tableText = `CREATE TABLE _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL,
  checksum VARCHAR(64) NOT NULL,
  finished_at TIMESTAMPTZ,
  migration_name VARCHAR(255) NOT NULL,
  logs TEXT,
  rolled_back_at TIMESTAMPTZ,
  started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  applied_steps_count INTEGER NOT NULL DEFAULT 0
)`;

const readState = query({
  name: "migrations_state",
  text: sql`
    SELECT
      to_regclass('_prisma_migrations') IS NOT NULL AS has_history,
      EXISTS (SELECT FROM pg_tables WHERE schemaname = current_schema()) AS has_tables
  `,
  row: { hasHistory: bool, hasTables: bool },
});

const readRecorded = query({
  name: "recorded_migrations",
  text: sql`
    SELECT migration_name AS name, checksum, started_at, finished_at IS NULL AS is_open
    FROM _prisma_migrations
    WHERE rolled_back_at IS NULL
    ORDER BY started_at, migration_name
  `,
  row: recordedRow,
});

/** Returns the names of the migrations in a folder, in the order in which they are applied. */
export function migrationNames(folder: string): readonly string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

/**
 * Applies the folder's migrations that the database does not have, and returns their names.
 * Migrations that only the database has are those of a newer version, and stay.
 */
export async function applyMigrations(
  client: pg.Client,
  folder: string,
  log: (line: string) => void = () => undefined,
): Promise<readonly string[]> {
  const names = migrationNames(folder);
  const recorded = new Map((await history(client)).map((row) => [row.name, row]));
  requireNoOpenMigration([...recorded.values()]);
  const applied: string[] = [];
  for (const name of names) {
    const script = await readFile(join(folder, name, "migration.sql"), "utf8");
    const checksum = createHash("sha256").update(script).digest("hex");
    const found = recorded.get(name);
    if (found === undefined) {
      await apply(client, { name, script, checksum });
      log(`applied migration ${name}`);
      applied.push(name);
    } else if (found.checksum !== checksum) {
      throw new Error(
        `Migration ${name} was edited after it was applied to this database. Restore its ` +
          "migration.sql, and write what it lacks as a new migration.",
      );
    }
  }
  return applied;
}

async function history(client: pg.Client): Promise<readonly RecordedMigration[]> {
  const [state] = await readState(client);
  if (state?.hasHistory) return readRecorded(client);
  if (state?.hasTables)
    throw new Error(
      "The database has tables and no history of migrations (_prisma_migrations). Use an empty " +
        "database. Nothing was changed.",
    );
  await client.query(tableText);
  return [];
}

/** Throws if a migration failed or was interrupted, which Prisma calls P3009. */
function requireNoOpenMigration(recorded: readonly RecordedMigration[]): void {
  const open = recorded.find(({ isOpen }) => isOpen);
  if (open === undefined) return;
  const update = (column: string): string =>
    `UPDATE _prisma_migrations SET ${column} = now() WHERE migration_name = '${open.name}' ` +
    "AND finished_at IS NULL AND rolled_back_at IS NULL";
  throw new Error(
    `Migration ${open.name} failed, or was interrupted, at ${open.startedAt.toISOString()}, and ` +
      "no other is applied before that is resolved. The column logs of _prisma_migrations has " +
      "its error. Its changes were rolled back, unless the connection was lost at its very end. " +
      `If they are not in the database, mend the cause and run: ${update("rolled_back_at")}. ` +
      `If they are, run: ${update("finished_at")}. Then migrate again.`,
  );
}

/**
 * Sends the whole script as one simple query, as Prisma does: PostgreSQL runs it in one
 * transaction. A script of one statement, as CREATE INDEX CONCURRENTLY, runs outside of one. The
 * record is a statement before and one after, because a failed script must leave it.
 */
async function apply(
  client: pg.Client,
  { name, script, checksum }: Readonly<Record<"name" | "script" | "checksum", string>>,
): Promise<void> {
  const id = randomUUID();
  await client.query(
    "INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ($1, $2, $3)",
    [id, checksum, name],
  );
  try {
    await client.query(script);
  } catch (cause) {
    const reason = reasonOf(cause, script);
    // A script may have begun a transaction itself. Over a lost connection nothing is recorded: the
    // migration stays open, which says as much.
    await client
      .query("ROLLBACK")
      .then(() =>
        client.query("UPDATE _prisma_migrations SET logs = $2 WHERE id = $1", [id, reason]),
      )
      .catch(() => undefined);
    throw new Error(`Migration ${name} failed: ${reason}`, { cause });
  }
  await client.query(
    "UPDATE _prisma_migrations SET finished_at = now(), applied_steps_count = 1 WHERE id = $1",
    [id],
  );
}

/** Returns PostgreSQL's message, with the line of the script if it names a place. */
function reasonOf(error: unknown, script: string): string {
  if (!(error instanceof pg.DatabaseError)) return String(error);
  const { message, code, detail, position } = error;
  const line = script.slice(0, Number(position)).split("\n").length;
  const place = position === undefined ? "" : `, line ${line} of migration.sql`;
  return `${message} (${code}${place})${detail === undefined ? "" : `\n${detail}`}`;
}
