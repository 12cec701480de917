/** The timeouts and retry policies of activities, each with its reason. */
import type { ActivityOptions } from "@temporalio/workflow";

/**
 * A batch: calls to the ledger with their own shorter deadlines, chunks of the database, or the
 * deliveries of some seconds. Its failures are the database's, because those of a ledger or an
 * endpoint are outcomes. It is retried until the database is back, at most every ten seconds. The
 * worker heartbeats (`src/worker/temporal/run-worker.ts`): the batch of a killed worker is repeated
 * after ten seconds. A batch that was only slow meets its repetition without harm, because jobs and
 * deliveries are leased, and a chunk is one transaction.
 */
export const batches: ActivityOptions = {
  startToCloseTimeout: "2 minutes",
  heartbeatTimeout: "10 seconds",
  retry: {
    initialInterval: "200 milliseconds",
    backoffCoefficient: 2,
    maximumInterval: "10 seconds",
  },
};

/**
 * How long a step of the minute may take. The run then ends before the next one is due, which finds
 * what is left. So a slow step keeps no run from starting.
 */
export const maxStepMs = 45_000;

/**
 * How long the workflow waits for another document after the last one. A signal to a workflow that
 * is just completing costs a retried task and, as measured, hundreds of milliseconds.
 */
export const lingerTime = "10 seconds";

/**
 * The longest wait of a workflow for a retry or a pause. Beyond it the dispatcher starts it again
 * when it is due.
 */
export const maxWaitMs = 60_000;

/**
 * The number of waiting documents from which several batches run concurrently: two full calls. If
 * the ledger takes seconds for fifty documents, only concurrent calls use the whole minute limit
 * (LEDGER-8).
 */
export const highVolume = 100;

/**
 * The least wait after a batch without progress. It prevents a busy loop on work that another
 * worker holds.
 */
export const idleBatchMs = 250;

/**
 * The longest wait of an endpoint's workflow for its next attempt. It covers the first three pauses
 * and the first three openings of a breaker. Beyond it the relay starts the workflow again, at most
 * a minute late.
 */
export const maxDeliveryWaitMs = 5 * 60_000;
