/**
 * The crash points of each operation: lines of the service between two steps. If BILLING_CRASH_AT
 * names one, the process kills itself when it reaches that line. The fault tests run every
 * operation through all of its crash points.
 */

/** The crash points of every API request, before and after its operation. */
const requestCrashPoints = ["admitted", "key_begun", "key_completed"] as const;

/** The crash points of the worker when it posts new documents. */
export const postingCrashPoints = ["posting_taken", "posting_answered", "posting_saved"] as const;

/**
 * The crash points of a creation. The creation of a customer loads nothing, so it passes all except
 * `creation_loaded`.
 */
export const creationCrashPoints = [
  ...requestCrashPoints,
  "creation_loaded",
  "creation_saved",
  "ledger_woken",
  "creation_posted",
  ...postingCrashPoints,
] as const;

/** The crash points of the worker when it amends an invoice in the ledger. */
export const amendmentCrashPoints = [
  "amendment_taken",
  "amendment_answered",
  "amendment_saved",
] as const;

/** The crash points of the worker when it allocates held credit. */
export const allocationCrashPoints = [
  "allocation_taken",
  "allocation_answered",
  "allocation_saved",
] as const;

/**
 * The crash points of a change of units. The documents that it issues decide which of the worker's
 * it passes.
 */
export const unitsCrashPoints = [
  ...requestCrashPoints,
  "units_loaded",
  "units_saved",
  "ledger_woken",
  "units_posted",
  ...postingCrashPoints,
  ...amendmentCrashPoints,
] as const;

/**
 * The crash points of an end. Those of the worker and of the ledger workflow are passed if it has
 * invoices to remove.
 */
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

/**
 * The crash points of a restoration. Those of the worker are passed if it issues documents again.
 */
export const restoreCrashPoints = [
  ...requestCrashPoints,
  "restore_loaded",
  "restore_saved",
  "ledger_woken",
  "restore_posted",
  ...postingCrashPoints,
] as const;

/** The crash points of a usage report. */
export const usageCrashPoints = [...requestCrashPoints, "usage_stored"] as const;

/** The crash points of the worker in a billing run. */
export const billingCrashPoints = ["chunk_loaded", "chunk_saved", "run_woken"] as const;

/**
 * The crash points of the worker when it advances a test clock. On the way it bills what is due,
 * like the billing run.
 */
export const clockCrashPoints = ["clock_moved", ...billingCrashPoints, "clock_arrived"] as const;

/** The crash points of the worker when it publishes events and starts their deliveries. */
export const publishingCrashPoints = [
  "publishing_loaded",
  "publishing_saved",
  "delivery_started",
] as const;

/** The crash points of the worker when it delivers an event to an endpoint. */
export const deliveryCrashPoints = [
  "delivery_loaded",
  "delivery_answered",
  "delivery_saved",
] as const;
