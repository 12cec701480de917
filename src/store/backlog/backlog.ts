/**
 * Reads what waits, over all organisations: due subscriptions, ledger jobs, failed documents,
 * outbox entries, deliveries and connections. Organisations with a test clock are left out, because
 * no money waits there. Each count ends at a limit, and every statement follows an index that other
 * work needs too.
 *
 * SQL: it aggregates over all organisations by the database's clock, which the typed client cannot.
 */
import type { Pool, Transaction } from "../database/pool.ts";
import { inTransaction } from "../database/pool.ts";
import type { Query } from "../database/sql/statement.ts";
import {
  readConnections,
  readDeliveries,
  readDue,
  readFailed,
  readJobs,
  readOutbox,
} from "./backlog-statements.ts";

/** A number of things and the age of the oldest in seconds, 0 if there are none. */
export interface Waiting {
  readonly count: number;
  readonly oldestSeconds: number;
}

/** Things of a kind that wait or failed for the same reason. */
export interface WaitingFor extends Waiting {
  readonly kind: string;
  readonly reason: string;
}

/** What waits at one moment. */
export interface Backlog {
  /** Subscriptions with something due that billing can perform now. The age is the delay. */
  readonly due: Waiting;
  readonly parked: number;
  /** Open ledger jobs by kind and by what they wait for. */
  readonly jobs: readonly WaitingFor[];
  /** Jobs whose worker has died or stalled: another one must look up their outcome. */
  readonly expiredLeases: number;
  /** Documents that the ledger or validation refused, by the reason of the refusal. */
  readonly failed: readonly WaitingFor[];
  readonly outbox: Waiting;
  readonly deliveries: {
    readonly pending: number;
    /** How long the longest waiting delivery is overdue at an endpoint that accepts requests. */
    readonly lagSeconds: number;
  };
  /** Endpoints by state: `healthy`, `failing`, `disabled`. */
  readonly endpoints: Readonly<Record<string, number>>;
  /** Ledger connections by state: `connected`, `paused`, `disconnected`. */
  readonly connections: Readonly<Record<string, number>>;
  /** The fewest calls that a ledger reported as left of its day. Null if none reported any. */
  readonly lowestDayCalls: number | null;
}

/** A statement of more than this is broken off: the metrics never slow down the work. */
const statementMs = 3_000;

/**
 * Each statement follows an index. A scan of a table would grow with it, and a bitmap would read
 * all rows of an organisation before a limit ends the scan.
 */
const begin = `BEGIN READ ONLY; SET LOCAL statement_timeout = ${statementMs};
  SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off`;

/** Reads the backlog in one transaction on one connection. */
export async function readBacklog(pool: Pool): Promise<Backlog> {
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
        expiredLeases: jobs.reduce((sum, { expired }) => sum + expired, 0),
        failed,
        outbox,
        deliveries: { pending, lagSeconds },
        endpoints,
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
