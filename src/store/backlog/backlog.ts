/**
 * Reads what waits, over all organisations: due subscriptions, ledger jobs, failed documents,
 * outbox entries, deliveries and connections. Organisations with a test clock are left out, because
 * no money waits there. Each count ends at a limit, and every statement follows an index that other
 * work needs too.
 *
 * SQL: it aggregates over all organisations by the database's clock, which the typed client cannot.
 */
import type { AnyRow, Pool, Transaction } from "../database/pool.ts";
import { inTransaction } from "../database/pool.ts";
import {
  connectionsText,
  deliveriesText,
  failedText,
  jobsText,
  outboxText,
  subscriptionsText,
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
      const subscriptions = await one<Waiting & { readonly parked: number }>(tx, subscriptionsText);
      const jobs = await all<WaitingFor & { readonly expired: number }>(tx, jobsText);
      const failed = await all<WaitingFor>(tx, failedText);
      const outbox = await one<Waiting>(tx, outboxText);
      const { pending, lagSeconds, ...endpoints } = await one<DeliveriesRow>(tx, deliveriesText);
      const { lowestDayCalls, ...connections } = await one<ConnectionsRow>(tx, connectionsText);
      return {
        due: { count: subscriptions.count, oldestSeconds: subscriptions.oldestSeconds },
        parked: subscriptions.parked,
        jobs: jobs.map(({ expired, ...waiting }) => waiting),
        expiredLeases: jobs.reduce((sum, { expired }) => sum + expired, 0),
        failed,
        outbox,
        deliveries: { pending, lagSeconds },
        endpoints: { ...endpoints },
        connections: { ...connections },
        lowestDayCalls,
      };
    },
    begin,
  );
}

interface DeliveriesRow {
  readonly pending: number;
  readonly lagSeconds: number;
  readonly healthy: number;
  readonly failing: number;
  readonly disabled: number;
}

interface ConnectionsRow {
  readonly connected: number;
  readonly paused: number;
  readonly disconnected: number;
  readonly lowestDayCalls: number | null;
}

async function all<Row extends object>(tx: Transaction, text: string): Promise<readonly Row[]> {
  // Planned each time, for the tables' current sizes.
  const { rows } = await tx.query<Row & AnyRow>(text);
  return rows;
}

async function one<Row extends object>(tx: Transaction, text: string): Promise<Row> {
  const [row] = await all<Row>(tx, text);
  if (row === undefined) throw new Error("an aggregate gave no row");
  return row;
}
