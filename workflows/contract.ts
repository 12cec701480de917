/**
 * The contract of the API, the worker and the workflows: names, ids and the shapes passed between
 * them. Ids, numbers and counts only: never a secret, a name or an address, because operators read
 * histories (INVARIANT-8).
 */

/** The result of a run, which the Temporal UI shows. */
export interface RunResult {
  /** As in the search attribute `Outcome`. */
  readonly outcome: string | null;
  /** The same for people: `3 invoices issued, 1 parked`. */
  readonly words: string;
}

/** The input of work for a whole organisation: `ledgerPosting`, `ledgerSync`, some activities. */
export interface OrganisationInput {
  readonly organisationId: string;
}

/** Numbers of documents that the ledger accepted and refused. */
export interface DocumentNumbers {
  readonly posted: readonly string[];
  readonly refused: readonly string[];
}

/** The result of one posting batch, and what is left. */
export interface PostingBatch {
  /** Documents that the ledger accepted in this batch. */
  readonly posted: number;
  /** Documents that the ledger refused in this batch. */
  readonly refused: number;
  /** The numbers of the first of both. Absent from a worker of the previous version. */
  readonly numbers?: DocumentNumbers;
  /** Documents still waiting, counted up to 200. */
  readonly waiting: number;
  /** Milliseconds until the next waiting document can be tried; null if none waits. */
  readonly nextInMs: number | null;
  /** Why the connection is paused; null if it is not. */
  readonly paused: string | null;
  /** How many concurrent batches use up the call budget at this batch's duration; absent: one. */
  readonly atOnce?: number;
}

/** The signal that work for the ledger was committed. */
export const wakeSignal = "wake";

/** The type of the workflow that posts an organisation's documents. */
export const ledgerPostingType = "ledgerPosting";

/** Returns the id of an organisation's posting workflow. One runs, or none if nothing waits. */
export function ledgerWorkflowId(organisationId: string): string {
  return `ledger/${organisationId}`;
}

/** The input of `invoiceAmendment`: one change of an invoice that the ledger has. */
export interface InvoiceAmendmentInput {
  readonly organisationId: string;
  readonly subscriptionId: string;
  readonly invoiceId: string;
  readonly jobId: string;
}

/** The input of `creditAllocation`: applying a subscription's held credit. */
export interface CreditAllocationInput {
  readonly organisationId: string;
  readonly subscriptionId: string;
}

/** The input of `endSubscription`: one end, whose invoices are removed first. */
export interface EndSubscriptionInput {
  readonly organisationId: string;
  readonly subscriptionId: string;
  readonly customerId: string;
  readonly terminationId: string;
}

/** The result of one batch of work that has its own workflow. */
export interface WorkBatch {
  /** `done`: nothing is left to do. `waiting`: to be tried again. */
  readonly state: "done" | "waiting";
  /**
   * The outcome in the search attribute `Outcome`: `done`, `refused`, … Null while work waits.
   * `refused` if a part was refused: the whole then ends with it.
   */
  readonly outcome: string | null;
  /** The current details for operators: `amending INV-0042, attempt 2: the ledger answered 503`. */
  readonly detail: string;
  /** Milliseconds until it can be tried again; null if nothing is left to do. */
  readonly nextInMs: number | null;
}

/** The type of the workflow that amends one invoice. */
export const invoiceAmendmentType = "invoiceAmendment";

/** Returns the id of an amendment's workflow: one for each job. */
export function amendmentWorkflowId(jobId: string): string {
  return `amendment/${jobId}`;
}

/** The type of the workflow that applies a subscription's held credit. */
export const creditAllocationType = "creditAllocation";

/** Returns the id of the workflow that applies a subscription's held credit. At most one runs. */
export function creditWorkflowId(subscriptionId: string): string {
  return `credit/${subscriptionId}`;
}

/** The type of the workflow that ends a subscription. */
export const endSubscriptionType = "endSubscription";

/** Returns the id of an end's workflow: one for each termination. */
export function terminationWorkflowId(terminationId: string): string {
  return `end/${terminationId}`;
}

/** The type of the workflow that starts, each minute, all work that is due. */
export const billingRunType = "billingRun";

/** The id of the schedule that starts `billingRun`. */
export const billingScheduleId = "billing-run";

/** A page of organisations with something due, by rising id. */
export interface DuePageInput {
  /** The last organisation of the previous page; null for the first page. */
  readonly after: string | null;
}

/** The result of a page. */
export interface DuePage {
  /** The organisations on the page. */
  readonly found: number;
  /** The organisations whose workflow runs now. */
  readonly started: number;
  /** The start of the next page; null if there is none. */
  readonly next: string | null;
}

/** The progress of an organisation's billing, carried over when the run continues as new. */
export interface BillingProgress {
  /** Subscriptions processed, including parked ones. */
  readonly done: number;
  readonly parked: number;
  /** Absent if the run before was one of the previous version. */
  readonly issued?: number;
  /** How many subscriptions were due when it began. */
  readonly total: number;
}

/** The input of `organisationBilling`. `progress` is null unless the workflow continues as new. */
export interface OrganisationBillingInput {
  readonly organisationId: string;
  readonly progress: BillingProgress | null;
}

/** The result of one batch of an organisation's billing. */
export interface BillingBatch {
  readonly done: number;
  readonly parked: number;
  /** Invoices. Absent from a worker of the previous version. */
  readonly issued?: number;
  /** Whether more may be due already. */
  readonly isMore: boolean;
}

/** The type of the workflow that performs what is due for one organisation. */
export const organisationBillingType = "organisationBilling";

/** Returns the id of an organisation's billing. One runs, or none if nothing is due. */
export function billingWorkflowId(organisationId: string): string {
  return `billing/${organisationId}`;
}

/** The input of `testClock`. `progress` is null unless the workflow continues as new. */
export interface TestClockInput {
  readonly organisationId: string;
  readonly progress: ClockProgressReport | null;
}

/**
 * The answer of the query `progress`: how far an advance of a test clock has come, and what it
 * performed. Instants are ISO 8601.
 */
export interface ClockProgressReport {
  readonly from: string;
  readonly target: string;
  readonly now: string;
  readonly performed: number;
  readonly issued: number;
  readonly parked: number;
}

/** The result of one batch of advancing a test clock. */
export interface ClockBatch {
  /** Whether the clock has reached its target. */
  readonly isThere: boolean;
  /** Null if the clock did not advance. */
  readonly progress: ClockProgressReport | null;
}

/** The type of the workflow that advances the test clock of a sandbox. */
export const testClockType = "testClock";

/** The signal that an advance was committed. */
export const advanceSignal = "advance";

/** The query for the progress of an advance; null before the first batch. */
export const progressQuery = "progress";

/** Returns the id of a test clock's workflow. One runs, or none while the clock stands. */
export function clockWorkflowId(organisationId: string): string {
  return `clock/${organisationId}`;
}

/** The type of the workflow that syncs people's changes in an organisation's ledger. */
export const ledgerSyncType = "ledgerSync";

/** Returns the id of an organisation's ledger sync. One runs, or none if nothing is to be read. */
export function ledgerSyncWorkflowId(organisationId: string): string {
  return `ledger-sync/${organisationId}`;
}

/**
 * The input of `organisationEvents`. Outbox entries up to then (ISO 8601, database time) are
 * published.
 */
export interface OrganisationEventsInput {
  readonly organisationId: string;
  readonly until: string;
  /** Carried over when a run continues as new: events published, endpoints started. */
  readonly published?: number;
  readonly started?: number;
}

/** The result of one batch of publishing an organisation's changes. */
export interface PublishingBatch {
  /** Events that were written. */
  readonly published: number;
  /** Endpoints whose deliveries were started. */
  readonly started: number;
  /** Whether more may be left. */
  readonly isMore: boolean;
}

/** The type of the workflow that publishes an organisation's changes. */
export const organisationEventsType = "organisationEvents";

/** Returns the id of an organisation's publishing workflow. At most one runs. */
export function eventsWorkflowId(organisationId: string): string {
  return `events/${organisationId}`;
}

/** The counts of an endpoint's deliveries, for the search attribute and details of its workflow. */
export interface DeliveryCounts {
  readonly delivered: number;
  /** Failed attempts: their deliveries are still pending. */
  readonly failed: number;
  readonly exhausted: number;
  readonly dropped: number;
}

/** The input of `endpointDeliveries`. `counts` are those of the runs that this run continues. */
export interface EndpointDeliveriesInput {
  readonly organisationId: string;
  readonly endpointId: string;
  readonly counts?: DeliveryCounts;
}

/** The result of one activity that delivers. */
export interface DeliveryBatches extends DeliveryCounts {
  /** Milliseconds until something is due; 0: now; null: nothing is pending. */
  readonly nextInMs: number | null;
}

/** The type of the workflow that delivers what is due to one webhook endpoint. */
export const endpointDeliveriesType = "endpointDeliveries";

/** Returns the id of an endpoint's delivery workflow. One runs, or none if nothing is due. */
export function deliveriesWorkflowId(endpointId: string): string {
  return `webhooks/${endpointId}`;
}

/** Returns the queue of webhook delivery, workflow tasks included, isolated from other work. */
export function webhookQueue(taskQueue: string): string {
  return `${taskQueue}-webhooks`;
}

/** Returns the queue of billing and publishing. A process takes only a few of its tasks at once. */
export function billingQueue(taskQueue: string): string {
  return `${taskQueue}-renewals`;
}

/** The default queue of workflows and database activities. */
export const defaultTaskQueue = "billing";
