/**
 * Which pages the statements changed, by pg_walinspect, which is in the embedded build. After a
 * checkpoint PostgreSQL logs each page whole at its first change. So a work that touches another
 * page each time logs 8 KiB for it, and one that touches the same pages logs a few bytes.
 */
import type pg from "pg";

/** The changed pages of a table or an index. Its partitions count as one. */
export interface LoggedPages {
  readonly name: string;
  /** Pages that were logged whole. */
  readonly whole: number;
  readonly distinct: number;
}

/** Where the log was before a work. */
export type LogPosition = string & { readonly __brand: "log position" };

/** Enough of the log stays for one work, although a checkpoint ends meanwhile. */
export const logSettings = { wal_keep_size: "3GB" } as const;

/** Makes the log readable, once for each database. */
export async function addLogReading(pool: pg.Pool): Promise<void> {
  await pool.query("CREATE EXTENSION IF NOT EXISTS pg_walinspect");
}

/** Returns the current end of the log. */
export async function logPosition(pool: pg.Pool): Promise<LogPosition> {
  const { rows } = await pool.query<{ position: LogPosition }>(
    "SELECT pg_current_wal_insert_lsn()::text AS position",
  );
  const [row] = rows;
  if (row === undefined) throw new Error("PostgreSQL has no log");
  return row.position;
}

/** Returns the pages that were changed between two positions, most whole pages first. */
export async function readLoggedPages(
  pool: pg.Pool,
  from: LogPosition,
  to: LogPosition,
): Promise<readonly LoggedPages[]> {
  if (from === to) return [];
  const { rows } = await pool.query<LoggedPages>(
    `SELECT name, sum(whole)::float8 AS whole, sum(pages)::float8 AS "distinct" FROM (
      SELECT coalesce(p.relname, c.relname) AS name, count(DISTINCT b.relblocknumber) AS pages,
        count(*) FILTER (WHERE b.block_fpi_length > 0) AS whole
      FROM pg_get_wal_block_info($1::pg_lsn, $2::pg_lsn, false) b
      JOIN pg_class c ON pg_relation_filenode(c.oid) = b.relfilenode
      LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
      LEFT JOIN pg_class p ON p.oid = i.inhparent
      WHERE b.reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
      GROUP BY c.oid, c.relname, p.relname) one
    GROUP BY name ORDER BY 2 DESC, 1`,
    [from, to],
  );
  return rows;
}
