/**
 * The facts of one subscription that its operations decide by: periods, live invoices, deferred
 * charges, running jobs.
 */

import type { BillingState, RunningJob } from "../model/billing-state.ts";
import { Refusal } from "../refusal.ts";

/**
 * Refuses `invalid_state` while another operation of the subscription runs, and names that
 * operation (STATE-3).
 */
export function checkNothingRuns({ running }: Pick<BillingState, "running">): void {
  if (running === null) return;
  const message = "Another operation on this subscription is still running";
  throw new Refusal("invalid_state", `${message}: ${running.description}.`);
}

/** Returns the running operation. Refuses `invalid_state` if none runs (END-12). */
export function requireRunning({ running }: Pick<BillingState, "running">): RunningJob {
  if (running !== null) return running;
  const message = "No end and no change of an invoice of this subscription waits for the ledger.";
  throw new Refusal("invalid_state", message);
}
