/**
 * Checks whether the database can be reached and has the schema that this code needs. The check has
 * its own connection: it neither waits behind requests for the pool nor takes a connection from
 * them. SQL, because the table of migrations is Prisma's and no model.
 */
import { migrationsFolder as projectMigrations } from "../../../assets.ts";
import { isDatabaseError } from "../errors.ts";
import { createPool } from "../pool.ts";
import { text } from "../sql/columns.ts";
import { sql } from "../sql/sql.ts";
import { query } from "../sql/statement.ts";
import { migrationNames } from "./apply-migrations.ts";

/** Settings of the check. `migrationsFolder` is this project's unless a test passes another. */
interface SchemaCheckSettings {
  readonly databaseUrl: string;
  readonly onError: (error: Error) => void;
  readonly migrationsFolder?: string;
}

/**
 * Below the two seconds after which a check counts as failed. A hanging connection is abandoned by
 * then, and the next check starts with a new one.
 */
const [connectTimeoutMs, statementTimeoutMs] = [1_500, 1_500];

/** SQLSTATE of a table that does not exist, and of one that the role may not read. */
const [undefinedTable, insufficientPrivilege] = ["42P01", "42501"];

/**
 * A failed migration has no `finished_at`. One that was resolved as rolled back has
 * `rolled_back_at`.
 */
const readApplied = query({
  name: "read_applied_migrations",
  text: sql`
    SELECT migration_name AS name
    FROM _prisma_migrations
    WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL
    ORDER BY migration_name
  `,
  row: { name: text },
});

/**
 * Opens the check. The migrations that the code needs are read once, here. The check returns null
 * if the schema is there, otherwise a sentence with the migration found and the one needed. It
 * rejects if the database does not answer.
 */
export function createSchemaCheck(settings: SchemaCheckSettings) {
  const { databaseUrl, onError, migrationsFolder = projectMigrations() } = settings;
  const needed = migrationNames(migrationsFolder);
  const pool = createPool(
    { databaseUrl, size: 1, name: "readiness", connectTimeoutMs, statementTimeoutMs },
    onError,
  );
  const check = async (): Promise<string | null> => {
    try {
      const applied = await readApplied(pool);
      return faultOf(
        needed,
        applied.map(({ name }) => name),
      );
    } catch (error) {
      if (isDatabaseError(error, undefinedTable)) return faultOf(needed, []);
      if (isDatabaseError(error, insufficientPrivilege))
        return "The role of DATABASE_URL may not read _prisma_migrations";
      throw error;
    }
  };
  return { check, close: () => pool.end() };
}

/**
 * Migrations unknown to this code are no fault. In a rolling upgrade the database is migrated
 * first, and processes of the previous version serve until each is replaced.
 */
function faultOf(needed: readonly string[], applied: readonly string[]): string | null {
  const there = new Set(applied);
  const missing = needed.findLast((name) => !there.has(name));
  if (missing === undefined) return null;
  const newest = applied.at(-1) ?? "none";
  return (
    `This process needs migration ${missing}; ` +
    `the newest one found in the database is ${newest}`
  );
}
