/** How long activities may take and how they are tried again, each with its reason. */
import type { ActivityOptions } from "@temporalio/workflow";

/**
 * A round of work with the ledger: one call or two, one after the other or for several kinds at once, each with its own
 * deadline well inside. Failures are the database's (the ledger's are outcomes), so it is tried until that is back, at
 * most every ten seconds. The worker beats for it (`src/temporal/heartbeats.ts`): a round whose worker was killed is
 * done again after these ten seconds, and one that was only slow meets a second one without harm, because what it took
 * is leased.
 */
export const ledgerRound: ActivityOptions = {
  startToCloseTimeout: "2 minutes",
  heartbeatTimeout: "10 seconds",
  retry: { initialInterval: "200 milliseconds", backoffCoefficient: 2, maximumInterval: "10 seconds" },
};

/**
 * A look into the database, or two seconds of chunks performed there. It is tried until the database is back; what a killed worker was
 * at is done again after ten seconds, without harm: a chunk is one transaction.
 */
export const databaseRound: ActivityOptions = {
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
export const crowd = 100;

/**
 * The least wait after a round that moved nothing, so that work held by another worker is not asked for in a busy loop.
 */
export const idleRoundMs = 250;

/** The pause after a delivery's first attempt, unless it is started with another one. */
const firstPauseMs = 30_000;

/**
 * Attempts to deliver an event: the engine repeats them for 20 hours without a trace in the history. Each that fails says its own pause
 * (src/domain/webhook-retry.ts), four hours at most. Where a worker was killed or lost its connection none is said, and the first pause follows
 * always: by the engine's count, which holds every wait for a turn or a breaker too, it would be hours. An attempt is a request of 15 seconds
 * at most; that of a killed worker is noticed after ten. All times are multiples of the first pause.
 */
export function webhookAttempts(first: number = firstPauseMs): ActivityOptions {
  return {
    startToCloseTimeout: "20 seconds",
    heartbeatTimeout: "10 seconds",
    scheduleToCloseTimeout: 2_400 * first,
    retry: { initialInterval: first, backoffCoefficient: 1, maximumInterval: 480 * first },
  };
}
