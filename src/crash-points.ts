/**
 * The points between two steps at which a process may die, by name. Set BILLING_CRASH_AT to one of them and the process kills
 * itself there, once it comes by: the fault tests run every operation through all of its own. Without the setting nothing happens.
 */

/** Those that every request passes in the API, before and after its operation. */
const requestCheckpoints = ["admitted", "key_begun", "key_completed"] as const;

/** The worker's, when it settles new documents. */
export const settlementCheckpoints = ["settlement_taken", "settlement_answered", "settlement_saved"] as const;

/**
 * Those of a creation. A customer's creation loads no facts, so it passes all but `creation_loaded`.
 */
export const creationCheckpoints = [
  ...requestCheckpoints,
  "creation_loaded",
  "creation_saved",
  "ledger_woken",
  "creation_settled",
  ...settlementCheckpoints,
] as const;

/** The worker's, when it changes an invoice that the ledger has. */
export const amendmentCheckpoints = ["amendment_taken", "amendment_answered", "amendment_saved"] as const;

/** The worker's, when it applies held credit. */
export const allocationCheckpoints = ["allocation_taken", "allocation_answered", "allocation_saved"] as const;

/** Those of a change of units; which of the worker's it passes depends on what it raises. */
export const unitsCheckpoints = [
  ...requestCheckpoints,
  "units_loaded",
  "units_saved",
  "ledger_woken",
  "units_settled",
  ...settlementCheckpoints,
  ...amendmentCheckpoints,
] as const;

/** Those of an end; the worker's, and that of the ledger workflow, where it has invoices to remove. */
export const endCheckpoints = [
  ...requestCheckpoints,
  "end_loaded",
  "end_saved",
  "ledger_woken",
  "end_settled",
  "removal_taken",
  "removal_answered",
  "removal_saved",
  "end_finished",
] as const;

/** Those of a restoration; the worker's where it raises documents again. */
export const restoreCheckpoints = [
  ...requestCheckpoints,
  "restore_loaded",
  "restore_saved",
  "ledger_woken",
  "restore_settled",
  ...settlementCheckpoints,
] as const;

/** Those of a report of usage. */
export const usageCheckpoints = [...requestCheckpoints, "usage_stored"] as const;

/** The worker's, when it performs what is due. */
export const billingCheckpoints = ["chunk_loaded", "chunk_saved", "run_woken"] as const;

/** The worker's, when it advances a test clock and performs what is due on the way as the billing run does. */
export const clockCheckpoints = ["clock_moved", ...billingCheckpoints, "clock_arrived"] as const;

/** The worker's, when it combines changes into events and starts their deliveries. */
export const tellingCheckpoints = ["telling_loaded", "telling_saved", "delivery_started"] as const;

/** The worker's, when it sends an event to an endpoint. */
export const deliveryCheckpoints = ["delivery_loaded", "delivery_answered", "delivery_saved"] as const;

/** One of them. */
export type Checkpoint =
  | (typeof creationCheckpoints)[number]
  | (typeof unitsCheckpoints)[number]
  | (typeof allocationCheckpoints)[number]
  | (typeof clockCheckpoints)[number]
  | (typeof usageCheckpoints)[number]
  | (typeof tellingCheckpoints)[number]
  | (typeof deliveryCheckpoints)[number]
  | (typeof endCheckpoints)[number]
  | (typeof restoreCheckpoints)[number];

const crashAt = process.env.BILLING_CRASH_AT;

/** Dies here where the environment says so: SIGKILL, so that nothing is flushed, released or told. */
export function checkpoint(name: Checkpoint): void {
  if (crashAt === name) process.kill(process.pid, "SIGKILL");
}
