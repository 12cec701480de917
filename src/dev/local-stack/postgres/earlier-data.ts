/**
 * What an earlier start left in the database, read without the libraries that create it: they cost
 * as much as the rest of a start, and only the first start needs them.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { migrationsFolder } from "../../../assets.ts";

/**
 * Whether the database has every migration of this project. False if it cannot be read, or if a
 * migration failed: then the migration itself has the reason.
 */
export function isMigrated(databaseUrl: string): Promise<boolean> {
  return answer<{ name: string; isOpen: boolean }>(
    databaseUrl,
    `SELECT migration_name AS name, finished_at IS NULL AS "isOpen" FROM _prisma_migrations
      WHERE rolled_back_at IS NULL`,
    (rows) => {
      const applied = new Set(rows.map(({ name }) => name));
      return rows.every(({ isOpen }) => !isOpen) && needed().every((name) => applied.has(name));
    },
  );
}

/**
 * Whether a first start has nothing left to do: there is an organisation, and none whose clock
 * stands, as in a history that was not finished. False if the database cannot be read.
 */
export function isFirstStartDone(databaseUrl: string): Promise<boolean> {
  return answer(
    databaseUrl,
    `SELECT FROM organisations
      HAVING count(*) > 0 AND count(*) FILTER (WHERE test_clock <= now()) = 0`,
    (rows) => rows.length > 0,
  );
}

function needed(): readonly string[] {
  const folder = migrationsFolder();
  return readdirSync(folder).filter((name) => existsSync(join(folder, name, "migration.sql")));
}

async function answer<R extends object>(
  databaseUrl: string,
  text: string,
  read: (rows: readonly R[]) => boolean,
): Promise<boolean> {
  const client = new pg.Client({ connectionString: databaseUrl });
  // A connection that is lost is the error of the statement.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<R>(text);
    return read(rows);
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}
