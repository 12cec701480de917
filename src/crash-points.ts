/**
 * The points between two steps at which a process may die, by name. Set BILLING_CRASH_AT to one of them and the process kills
 * itself there, once it comes by: the fault tests run every operation through all of its own. Without the setting nothing happens.
 */

/** Those that every request passes in the API, before and after its operation. */
const requestCrashPoints = ["admitted", "key_begun", "key_completed"] as const;

/** The worker's, when it settles new documents. */
export const postingCrashPoints = ["posting_taken", "posting_answered", "posting_saved"] as const;

/**
 * Those of a creation. A customer's creation loads no facts, so it passes all but `creation_loaded`.
 */
export const creationCrashPoints = [
  ...requestCrashPoints,
  "creation_loaded",
  "creation_saved",
  "ledger_woken",
  "creation_posted",
  ...postingCrashPoints,
] as const;

/** The worker's, when it changes an invoice that the ledger has. */
export const amendmentCrashPoints = ["amendment_taken", "amendment_answered", "amendment_saved"] as const;

/** The worker's, when it applies held credit. */
export const allocationCrashPoints = ["allocation_taken", "allocation_answered", "allocation_saved"] as const;

/** Those of a change of units; which of the worker's it passes depends on what it raises. */
export const unitsCrashPoints = [
  ...requestCrashPoints,
  "units_loaded",
  "units_saved",
  "ledger_woken",
  "units_posted",
  ...postingCrashPoints,
  ...amendmentCrashPoints,
] as const;

/** Those of an end; the worker's, and that of the ledger workflow, where it has invoices to remove. */
export const endCrashPoints = [
  ...requestCrashPoints,
  "end_loaded",
  "end_saved",
  "ledger_woken",
  "end_posted",
  "removal_taken",
  "removal_answered",
  "removal_saved",
  "end_finished",
] as const;

/** Those of a restoration; the worker's where it raises documents again. */
export const restoreCrashPoints = [
  ...requestCrashPoints,
  "restore_loaded",
  "restore_saved",
  "ledger_woken",
  "restore_posted",
  ...postingCrashPoints,
] as const;

/** Those of a report of usage. */
export const usageCrashPoints = [...requestCrashPoints, "usage_stored"] as const;

/** The worker's, when it performs what is due. */
export const billingCrashPoints = ["chunk_loaded", "chunk_saved", "run_woken"] as const;

/** The worker's, when it advances a test clock and performs what is due on the way as the billing run does. */
export const clockCrashPoints = ["clock_moved", ...billingCrashPoints, "clock_arrived"] as const;

/** The worker's, when it combines changes into events and starts their deliveries. */
export const publishingCrashPoints = ["publishing_loaded", "publishing_saved", "delivery_started"] as const;

/** The worker's, when it sends an event to an endpoint. */
export const deliveryCrashPoints = ["delivery_loaded", "delivery_answered", "delivery_saved"] as const;

/** One of them. */
export type CrashPoint =
  | (typeof creationCrashPoints)[number]
  | (typeof unitsCrashPoints)[number]
  | (typeof allocationCrashPoints)[number]
  | (typeof clockCrashPoints)[number]
  | (typeof usageCrashPoints)[number]
  | (typeof publishingCrashPoints)[number]
  | (typeof deliveryCrashPoints)[number]
  | (typeof endCrashPoints)[number]
  | (typeof restoreCrashPoints)[number];

const crashAt = process.env.BILLING_CRASH_AT;

/** Dies here where the environment says so: SIGKILL, so that nothing is flushed, released or told. */
export function crashPoint(name: CrashPoint): void {
  if (crashAt === name) process.kill(process.pid, "SIGKILL");
}
