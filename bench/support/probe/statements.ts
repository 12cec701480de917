/**
 * What PostgreSQL spent on each statement, by pg_stat_statements, and its slow plans, by
 * auto_explain. Both are in the embedded build. The bench's own statements run as another role,
 * which separates the service's.
 */
import pg from "pg";

/** The role of the bench's own statements. */
export const benchRole = "bench";

/**
 * Settings with which PostgreSQL counts statements, those in triggers as well, and writes the plan
 * of each that takes longer. Without the time of each node, which would cost more than the nodes.
 */
export function countingSettings(slowMs: number): Readonly<Record<string, string>> {
  return {
    shared_preload_libraries: "pg_stat_statements,auto_explain",
    "pg_stat_statements.track": "all",
    "pg_stat_statements.max": "10000",
    "pg_stat_statements.track_planning": "on",
    track_io_timing: "on",
    track_wal_io_timing: "on",
    "auto_explain.log_min_duration": String(slowMs),
    "auto_explain.log_analyze": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_buffers": "on",
    "auto_explain.log_nested_statements": "on",
  };
}

/** The sums of one statement. */
export interface StatementCost {
  readonly text: string;
  /** False for a statement within a function or trigger. Its time is part of its caller's. */
  readonly isTop: boolean;
  readonly calls: number;
  readonly totalMs: number;
  readonly meanMs: number;
  readonly maxMs: number;
  /** The time of planning, which is in none of the others. */
  readonly planMs: number;
  readonly rows: number;
  /** Pages of 8 KiB that were read, in memory or not. */
  readonly buffers: number;
  /** Those of them that were not in PostgreSQL's memory, and the time that reading them took. */
  readonly readBuffers: number;
  readonly readMs: number;
  readonly walBytes: number;
  /** Unlike bytes, without whole pages, which depend on when the last ones were written. */
  readonly walRecords: number;
  /** Whole pages in the log: the first change of each page after a checkpoint. */
  readonly walPages: number;
}

/** Makes statements countable, once for each database. */
export async function addCounting(pool: pg.Pool): Promise<void> {
  await pool.query("CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
}

/** Sets all sums to zero. */
export async function resetStatements(pool: pg.Pool): Promise<void> {
  await pool.query("SELECT pg_stat_statements_reset()");
}

/**
 * Returns the statements since the reset, the dearest first. `role` leaves out every other role.
 * Statements about the counting itself are left out.
 */
export async function readStatements(
  pool: pg.Pool,
  role: string | null,
): Promise<readonly StatementCost[]> {
  const { rows } = await pool.query<StatementCost>(
    `SELECT max(s.query) AS text, s.toplevel AS "isTop", sum(s.calls)::float8 AS calls,
      sum(s.total_exec_time) AS "totalMs", sum(s.total_exec_time) / sum(s.calls) AS "meanMs",
      max(s.max_exec_time) AS "maxMs", sum(s.total_plan_time) AS "planMs",
      sum(s.rows)::float8 AS rows,
      sum(s.shared_blks_hit + s.shared_blks_read)::float8 AS buffers,
      sum(s.wal_bytes)::float8 AS "walBytes",
      sum(s.shared_blks_read)::float8 AS "readBuffers", sum(s.shared_blk_read_time) AS "readMs",
      sum(s.wal_records)::float8 AS "walRecords", sum(s.wal_fpi)::float8 AS "walPages"
    FROM pg_stat_statements s
    JOIN pg_database d ON d.oid = s.dbid AND d.datname = current_database()
    LEFT JOIN pg_roles r ON r.oid = s.userid
    WHERE s.calls > 0 AND ($1::text IS NULL OR r.rolname = $1) AND s.query !~ 'pg_stat_'
    GROUP BY s.queryid, s.toplevel ORDER BY sum(s.total_exec_time) DESC`,
    [role],
  );
  return rows;
}

/** A table's rows that were read without an index. */
export interface SequentialReads {
  readonly table: string;
  readonly scans: number;
  readonly rows: number;
}

/** Sets the sums of the tables to zero. */
export async function resetSequentialReads(pool: pg.Pool): Promise<void> {
  await pool.query("SELECT pg_stat_reset()");
}

/** Returns the tables with most rows read without an index since the reset. */
export async function readSequentialReads(
  pool: pg.Pool,
  most: number,
): Promise<readonly SequentialReads[]> {
  const { rows } = await pool.query<SequentialReads>(
    `SELECT relname AS table, seq_scan::float8 AS scans, seq_tup_read::float8 AS rows
      FROM pg_stat_user_tables WHERE seq_tup_read > 0 ORDER BY seq_tup_read DESC LIMIT $1`,
    [most],
  );
  return rows;
}

/** How often connections were seen in a statement, and what they waited for. */
export interface WaitShare {
  /** `working`, or the kind and name of the wait. */
  readonly wait: string;
  readonly text: string;
  readonly samples: number;
}

/** Samples what the connections of a role do. */
export interface WaitSampler {
  /** Returns the sums, the most frequent first. */
  stop(): Promise<{ readonly taken: number; readonly shares: readonly WaitShare[] }>;
}

const sampleText = `SELECT coalesce(a.wait_event_type || ' ' || a.wait_event, 'working') AS wait,
  CASE WHEN a.state = 'active' THEN a.query ELSE 'in a transaction, between statements' END AS text
FROM pg_stat_activity a LEFT JOIN pg_roles r ON r.oid = a.usesysid
WHERE a.backend_type = 'client backend' AND a.datname = current_database()
  AND a.state IN ('active', 'idle in transaction')
  AND a.pid <> pg_backend_pid() AND ($1::text IS NULL OR r.rolname = $1)`;

/** Far longer than a sample takes, and short enough for two hundred in a load of five seconds. */
const sampleMs = 25;

/** Starts to sample over a separate connection. */
export async function sampleWaits(connectionString: string, role: string | null) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const found = new Map<string, WaitShare>();
  let taken = 0;
  let running: Promise<unknown> = Promise.resolve();
  const sample = async () => {
    const { rows } = await client.query<Omit<WaitShare, "samples">>({
      name: "sample_waits",
      text: sampleText,
      values: [role],
    });
    taken += 1;
    for (const { wait, text } of rows) {
      const key = `${wait} ${text}`;
      found.set(key, { wait, text, samples: (found.get(key)?.samples ?? 0) + 1 });
    }
  };
  const timer = setInterval(() => {
    running = running.then(sample).catch(() => undefined);
  }, sampleMs);
  const sampler: WaitSampler = {
    async stop() {
      clearInterval(timer);
      await running;
      await client.end();
      return { taken, shares: [...found.values()].toSorted((a, b) => b.samples - a.samples) };
    },
  };
  return sampler;
}

/** A statement on one line, with no more than so many characters. */
export function shortText(text: string, length: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}
