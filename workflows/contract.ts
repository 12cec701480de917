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

/** The input of `invoiceAmendment`: one change of an invoice that the ledger has. */
export interface InvoiceAmendmentInput {
  readonly organisationId: string;
  readonly subscriptionId: string;
  readonly invoiceId: string;
  readonly operationId: string;
}

/** The input of `creditAllocation`: applying the credit that a subscription holds. */
export interface CreditAllocationInput {
  readonly organisationId: string;
  readonly subscriptionId: string;
}

/** The input of `endSubscription`: one end, whose invoices are removed first. */
export interface EndSubscriptionInput {
  readonly organisationId: string;
  readonly subscriptionId: string;
  readonly customerId: string;
  readonly endingId: string;
}

/** What one round of a piece of work that has a workflow of its own came to. */
export interface WorkRound {
  /** `settled`: nothing is left to do. `waiting`: to be tried again. */
  readonly state: "settled" | "waiting";
  /** How it ended, as an operator looks for it (search attribute `Outcome`): `done`, `refused`, … ; null while it waits. */
  readonly outcome: string | null;
  /** What an operator reads in the current details: `amending INV-0042, attempt 2: the ledger answered 503`. */
  readonly detail: string;
  /** In how many milliseconds it can be tried again; null where it is settled. */
  readonly nextInMs: number | null;
}

/** The type of the workflow that amends one invoice. */
export const invoiceAmendmentType = "invoiceAmendment";

/** The id of an amendment's workflow: one for each operation. */
export function amendmentWorkflowId(operationId: string): string {
  return `amendment/${operationId}`;
}

/** The type of the workflow that applies a subscription's held credit. */
export const creditAllocationType = "creditAllocation";

/** The id of the workflow that applies a subscription's held credit: there is one, or none while nothing is to be applied. */
export function creditWorkflowId(subscriptionId: string): string {
  return `credit/${subscriptionId}`;
}

/** The type of the workflow that ends a subscription. */
export const endSubscriptionType = "endSubscription";

/** The id of an end's workflow: one for each ending. */
export function endingWorkflowId(endingId: string): string {
  return `end/${endingId}`;
}

/** The queue of workflows and database activities, unless a process is told another one. */
export const defaultTaskQueue = "billing";
