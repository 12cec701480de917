/** How long activities may take and how they are tried again, each with its reason. */
import type { ActivityOptions } from "@temporalio/workflow";

/**
 * A round of work with the ledger: one call or two, one after the other or for several kinds at once, each with its own
 * deadline well inside. Failures are the database's (the ledger's are outcomes), so it is tried until that is back, at
 * most every ten seconds. The worker beats for it (`src/worker/temporal/heartbeats.ts`): a round whose worker was killed is
 * done again after these ten seconds, and one that was only slow meets a second one without harm, because what it took
 * is leased.
 */
export const ledgerBatch: ActivityOptions = {
  startToCloseTimeout: "2 minutes",
  heartbeatTimeout: "10 seconds",
  retry: { initialInterval: "200 milliseconds", backoffCoefficient: 2, maximumInterval: "10 seconds" },
};

/**
 * A look into the database, or two seconds of chunks performed there. It is tried until the database is back; what a killed worker was
 * at is done again after ten seconds, without harm: a chunk is one transaction.
 */
export const databaseBatch: ActivityOptions = {
  startToCloseTimeout: "2 minutes",
  heartbeatTimeout: "10 seconds",
  retry: { initialInterval: "200 milliseconds", backoffCoefficient: 2, maximumInterval: "10 seconds" },
};

/**
 * How long the workflow stays after the last document for the next one: a signal that meets a workflow as it completes
 * costs a retried task and hundreds of milliseconds. Measured: facts-temporal section 6.
 */
export const lingerTime = "10 seconds";

/** The longest that a workflow waits for a retry or a pause; past it the dispatcher starts it again when it is due. */
export const longestWaitMs = 60_000;

/**
 * From so many waiting documents on, several rounds go on beside each other: two calls full. A ledger that takes seconds for fifty
 * documents takes several such calls at once, and only so its calls of a minute are all used.
 */
export const highVolume = 100;

/**
 * The least wait after a round that moved nothing, so that work held by another worker is not asked for in a busy loop.
 */
export const idleBatchMs = 250;

/**
 * Deliveries to one endpoint: five seconds of them, twenty where an answer is long in coming, and
 * the 16 seconds of a request. Failures are the database's (an endpoint's are outcomes). After a
 * killed worker it is repeated; what that one had claimed is left until its lease is over.
 */
export const deliveryBatches: ActivityOptions = {
  startToCloseTimeout: "2 minutes",
  heartbeatTimeout: "10 seconds",
  retry: { initialInterval: "200 milliseconds", backoffCoefficient: 2, maximumInterval: "10 seconds" },
};

/**
 * The longest that an endpoint's workflow waits for the next attempt: the pauses after the first
 * three, and the first three openings of a breaker. Past it the scan of the minute in which it is
 * due starts it again, at most a minute late.
 */
export const longestDeliveryWaitMs = 5 * 60_000;
