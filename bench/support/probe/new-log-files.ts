/** The files that PostgreSQL had to create for its write-ahead log. Every commit waits for one. */
import type pg from "pg";

/** Since the server's start. */
export interface NewLogFiles {
  readonly count: number;
  readonly ms: number;
}

/** Returns the files created so far, and the time that writing and storing them took. */
export async function readNewLogFiles(pool: pg.Pool): Promise<NewLogFiles> {
  const { rows } = await pool.query<NewLogFiles>(
    `SELECT coalesce(sum(writes), 0)::float8 AS count,
      coalesce(sum(write_time + fsync_time), 0) AS ms
    FROM pg_stat_io WHERE object = 'wal' AND context = 'init'`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error("a sum has one row");
  return row;
}
