/**
 * What the API, the worker and the workflows agree on: names, ids and the shapes that pass between them. Ids, numbers and
 * counts only: never a secret, a name or an address, because histories are read by operators.
 */

/** The input of `ledgerSettlement`. */
export interface LedgerSettlementInput {
  readonly organisationId: string;
}

/** What one round of settling did, and what is left. */
export interface SettlementRound {
  /** Documents that the ledger took in this round. */
  readonly settled: number;
  /** Documents that it refused. */
  readonly refused: number;
  /** What still waits. */
  readonly waiting: number;
  /** In how many milliseconds the next of these can be tried; null where nothing waits. */
  readonly nextInMs: number | null;
  /** Why the connection is paused; null where it is not. */
  readonly paused: string | null;
}

/** The signal that says: something was committed that waits for the ledger. */
export const wakeSignal = "wake";

/** The workflow's type. */
export const ledgerSettlementType = "ledgerSettlement";

/** The id of an organisation's ledger workflow: there is one, or none while nothing waits. */
export function ledgerWorkflowId(organisationId: string): string {
  return `ledger/${organisationId}`;
}

/** The queue of workflows and database activities, unless a process is told another one. */
export const defaultTaskQueue = "billing";
