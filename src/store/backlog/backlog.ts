/**
 * Reads what waits, over all organisations: due subscriptions, ledger jobs, failed documents,
 * outbox entries, deliveries and connections. Organisations with a test clock are left out, because
 * no money waits there. Each statement reads at most `maxCounted` rows of a kind, so that a gauge
 * is cheap also when everything waits. A count at that limit means "at least".
 *
 * SQL: it aggregates over all organisations by the database's clock, which the typed client cannot.
 */

import { columns } from "../../gen/columns.ts";
import { performable } from "../billing/due-organisations.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { float, int, type Shape, text } from "../database/sql/columns.ts";
import { countUpTo, literal, type Sql, sql } from "../database/sql/sql.ts";
import { type Query, query } from "../database/sql/statement.ts";
import { type DocumentKind, documentKinds } from "../documents/document-kinds.ts";

/** Rows that a count ends at. Reading them from their index takes some tens of milliseconds. */
const maxCounted = 100_000;

/** Rows of one organisation that a count ends at. */
const maxCountedOfOrganisation = 10_000;

/** Entries read to find the oldest one of an organisation: the first may be postponed. */
const entriesRead = 100;

const seconds = (instant: Sql): Sql =>
  sql`coalesce(extract(epoch FROM now() - ${instant}), 0)::float8`;

/** SQL: how many rows `t` of a table wait in organisations without a test clock. */
const counted = (table: Sql, waits = sql`true`): Sql =>
  countUpTo(
    maxCounted,
    sql`${table} t JOIN organisations o ON o.id = t.organisation_id
      WHERE ${waits} AND o.test_clock IS NULL`,
  );

/** Planned each time, for the tables' current sizes. */
const backlog = <const S extends Shape>(name: string, statement: Sql, row: S) =>
  query({ name, planned: "each time", text: statement, row });

/**
 * Due and parked subscriptions. Each organisation is read by itself, because the index begins with
 * the organisation. A scan of all subscriptions would grow with their number.
 */
const readDue = backlog(
  "backlog_due",
  sql`
    SELECT
      due.count, due.oldest_seconds,
      ${counted(sql`subscriptions`, sql`t.parked_until IS NOT NULL`)} AS parked
    FROM
      (
        SELECT
          coalesce(sum(own.count), 0)::int AS count,
          ${seconds(sql`min(own.due_at)`)} AS oldest_seconds
        FROM
          organisations o
          CROSS JOIN LATERAL (
            SELECT count(*) AS count, min(first.due_at) AS due_at
            FROM
              (
                SELECT s.due_at
                FROM subscriptions s
                WHERE s.organisation_id = o.id AND s.due_at <= now() AND ${performable}
                ORDER BY s.organisation_id, s.due_at, s.id
                LIMIT ${maxCountedOfOrganisation}
              ) first
          ) own
        WHERE o.test_clock IS NULL
      ) due
  `,
  { count: int, oldestSeconds: float, parked: int },
);

/**
 * Open jobs by what they wait for. The connection's state comes first, because it stops them all. A
 * job that a limit of calls reschedules has no attempt.
 */
const readJobs = backlog(
  "backlog_jobs",
  sql`
    SELECT
      kind, reason,
      count(*)::int AS count,
      ${seconds(sql`min(created_at)`)} AS oldest_seconds,
      count(*) FILTER (WHERE lease_until < now())::int AS expired
    FROM
      (
        SELECT
          j.kind, j.created_at, j.lease_until,
          CASE
            WHEN c.organisation_id IS NULL THEN 'unconnected'
            WHEN c.disconnected_at IS NOT NULL THEN 'disconnected'
            WHEN c.paused_until > now() THEN 'paused'
            WHEN j.state IN ('sending', 'uncertain') THEN j.state
            WHEN j.attempts > 0 THEN 'retrying'
            WHEN j.not_before > now() THEN 'rescheduled'
            ELSE 'new'
          END AS reason
        FROM
          ledger_jobs j
          JOIN organisations o ON o.id = j.organisation_id
          LEFT JOIN ledger_connections c ON c.organisation_id = j.organisation_id
        WHERE j.state IN ('ready', 'sending', 'uncertain') AND o.test_clock IS NULL
        LIMIT ${maxCounted}
      ) open
    GROUP BY kind, reason
  `,
  { kind: columns.ledgerJob.kind, reason: text, count: int, oldestSeconds: float, expired: int },
);

/** A document's reason is that of its last refused job. Reasons are words of the ledger's port. */
const failedOf = (kind: DocumentKind): Sql => sql`
  SELECT ${literal(kind)} AS kind, coalesce(j.reason, 'unknown') AS reason, j.finished_at
  FROM
    (
      SELECT d.organisation_id, d.id
      FROM
        ${documentKinds[kind].table} d
        JOIN organisations o ON o.id = d.organisation_id
      WHERE d.sync_error IS NOT NULL AND o.test_clock IS NULL
      LIMIT ${maxCountedOfOrganisation}
    ) d
    LEFT JOIN LATERAL (
      SELECT r.reason, r.finished_at
      FROM ledger_jobs r
      WHERE
        r.organisation_id = d.organisation_id
        AND r.${documentKinds[kind].id} = d.id
        AND r.state = 'refused'
      ORDER BY r.organisation_id, r.${documentKinds[kind].id}, r.seq DESC
      LIMIT 1
    ) j
      ON true
`;

/** Failed documents by kind and reason. */
const readFailed = backlog(
  "backlog_failed",
  sql`SELECT kind, reason, count(*)::int AS count,
    ${seconds(sql`min(finished_at)`)} AS oldest_seconds
  FROM (${failedOf("invoice")}
    UNION ALL ${failedOf("credit_note")}) f
  GROUP BY kind, reason ORDER BY count(*) DESC LIMIT 40`,
  { kind: text, reason: text, count: int, oldestSeconds: float },
);

/** Outbox entries. The oldest is read from each organisation's first entries. */
const readOutbox = backlog(
  "backlog_outbox",
  sql`
    SELECT
      ${counted(sql`outbox`)} AS count,
      (
        SELECT greatest(0, ${seconds(sql`min(first.recorded_at)`)})
        FROM
          organisations o
          CROSS JOIN LATERAL (
            SELECT e.recorded_at
            FROM outbox e
            WHERE e.organisation_id = o.id
            ORDER BY e.organisation_id, e.seq
            LIMIT ${entriesRead}
          ) first
        WHERE o.test_clock IS NULL
      ) AS oldest_seconds
  `,
  { count: int, oldestSeconds: float },
);

/** Deliveries and their endpoints. An endpoint with an open breaker has nothing due. */
const readDeliveries = backlog(
  "backlog_deliveries",
  sql`
    WITH
      endpoint AS MATERIALIZED (
        SELECT w.organisation_id, w.id, w.status, w.failures, w.open_until
        FROM
          webhook_endpoints w
          JOIN organisations o ON o.id = w.organisation_id
        WHERE o.test_clock IS NULL
        LIMIT ${maxCounted}
      )
    SELECT
      ${counted(sql`webhook_deliveries`, sql`t.state = 'pending'`)} AS pending,
      (
        SELECT greatest(0, ${seconds(sql`min(first.due_at)`)})
        FROM
          endpoint w
          CROSS JOIN LATERAL (
            SELECT d.due_at
            FROM webhook_deliveries d
            WHERE
              d.organisation_id = w.organisation_id
              AND d.endpoint_id = w.id
              AND d.state = 'pending'
            ORDER BY d.endpoint_id, d.due_at
            LIMIT 1
          ) first
        WHERE w.status = 'enabled' AND (w.open_until IS NULL OR w.open_until <= now())
      ) AS lag_seconds,
      count(*) FILTER (WHERE status = 'enabled' AND failures = 0)::int AS healthy,
      count(*) FILTER (WHERE status = 'enabled' AND failures > 0)::int AS failing,
      count(*) FILTER (WHERE status = 'disabled')::int AS disabled
    FROM endpoint
  `,
  {
    pending: int,
    /** How long the longest waiting delivery is overdue at an endpoint that accepts requests. */
    lagSeconds: float,
    healthy: int,
    failing: int,
    disabled: int,
  },
);

/** Connections, and the fewest calls left. A report of more than a day ago is about another day. */
const readConnections = backlog(
  "backlog_connections",
  sql`
    SELECT
      count(*) FILTER (
        WHERE c.disconnected_at IS NULL AND (c.paused_until IS NULL OR c.paused_until <= now())
      )::int AS connected,
      count(*) FILTER (WHERE c.disconnected_at IS NULL AND c.paused_until > now())::int AS paused,
      count(*) FILTER (WHERE c.disconnected_at IS NOT NULL)::int AS disconnected,
      min(b.day_remaining) FILTER (
        WHERE b.day_observed_at > now() - interval '1 day'
      ) AS lowest_day_calls
    FROM
      ledger_connections c
      JOIN organisations o ON o.id = c.organisation_id
      LEFT JOIN ledger_budgets b ON b.organisation_id = c.organisation_id
    WHERE o.test_clock IS NULL
  `,
  { connected: int, paused: int, disconnected: int, lowestDayCalls: int.orNull() },
);

/** A statement of more than this is broken off: the metrics never slow down the work. */
const statementMs = 3_000;

/**
 * Each statement follows an index. A scan of a table would grow with it, and a bitmap would read
 * all rows of an organisation before a limit ends the scan.
 */
const begin = `BEGIN READ ONLY; SET LOCAL statement_timeout = ${statementMs};
  SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off`;

/** What waits at one moment. Ages are in seconds, 0 if nothing waits. */
export type Backlog = Awaited<ReturnType<typeof readBacklog>>;

/** Reads the backlog in one transaction on one connection. */
export async function readBacklog(pool: Pool) {
  return inTransaction(
    pool,
    async (tx) => {
      const { parked, ...due } = await one(readDue, tx);
      const jobs = await readJobs(tx);
      const failed = await readFailed(tx);
      const outbox = await one(readOutbox, tx);
      const { pending, lagSeconds, ...endpoints } = await one(readDeliveries, tx);
      const { lowestDayCalls, ...connections } = await one(readConnections, tx);
      return {
        due,
        parked,
        jobs: jobs.map(({ expired, ...waiting }) => waiting),
        /** Jobs whose worker has died or stalled: another one must look up their outcome. */
        expiredLeases: jobs.reduce((sum, { expired }) => sum + expired, 0),
        failed,
        outbox,
        deliveries: { pending, lagSeconds },
        /** Endpoints by state. */
        endpoints,
        /** Ledger connections by state. */
        connections,
        lowestDayCalls,
      };
    },
    begin,
  );
}

async function one<Row>(read: Query<Row>, tx: Transaction): Promise<Row> {
  const [row] = await read(tx);
  if (row === undefined) throw new Error("an aggregate gave no row");
  return row;
}
