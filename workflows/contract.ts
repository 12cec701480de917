/**
 * What the API, the worker and the workflows agree on: names, ids and the shapes that pass between them. Ids, numbers and
 * counts only: never a secret, a name or an address, because histories are read by operators.
 */

/** The input of `ledgerPosting`. */
export interface LedgerPostingInput {
  readonly organisationId: string;
}

/** What one round of settling did, and what is left. */
export interface PostingBatch {
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
  /** How many rounds beside each other use the ledger's calls up, by how long it took; absent: one. */
  readonly atOnce?: number;
}

/** The signal that says: something was committed that waits for the ledger. */
export const wakeSignal = "wake";

/** The workflow's type. */
export const ledgerPostingType = "ledgerPosting";

/** The id of an organisation's ledger workflow: there is one, or none while nothing waits. */
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
  readonly terminationId: string;
}

/** What one round of a piece of work that has a workflow of its own came to. */
export interface WorkBatch {
  /** `settled`: nothing is left to do. `waiting`: to be tried again. */
  readonly state: "settled" | "waiting";
  /**
   * How it ended, as an operator looks for it (search attribute `Outcome`): `done`, `refused`, … ; null while it waits, or `refused` where a part of
   * it was, which is what the whole then ends as.
   */
  readonly outcome: string | null;
  /** What an operator reads in the current details: `amending INV-0042, attempt 2: the ledger answered 503`. */
  readonly detail: string;
  /** In how many milliseconds it can be tried again; null where it is settled. */
  readonly nextInMs: number | null;
}

/** The type of the workflow that amends one invoice. */
export const invoiceAmendmentType = "invoiceAmendment";

/** The id of an amendment's workflow: one for each operation. */
export function amendmentWorkflowId(jobId: string): string {
  return `amendment/${jobId}`;
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
export function terminationWorkflowId(terminationId: string): string {
  return `end/${terminationId}`;
}

/** The type of the workflow that looks, each minute, for which organisations something is due. */
export const billingRunType = "billingRun";

/** The id of the schedule that starts it. */
export const billingScheduleId = "billing-run";

/** Organisations for which something is due: asked for page by page, by rising id. */
export interface DuePageInput {
  /** The last organisation of the page before; null for the first page. */
  readonly after: string | null;
}

/** What a page came to. */
export interface DuePage {
  /** The organisations on it. */
  readonly found: number;
  /** Those whose workflow is at it now. */
  readonly started: number;
  /** Where the next page begins; null where there is none. */
  readonly next: string | null;
}

/** What an organisation's billing has done so far: what a run that is continued as new takes over. */
export interface BillingProgress {
  /** Subscriptions looked at, those that were set aside among them. */
  readonly done: number;
  readonly setAside: number;
  /** How many there were to look at when it began. */
  readonly total: number;
}

/** The input of `organisationBilling`; `progress` is null but where the workflow continues itself. */
export interface OrganisationBillingInput {
  readonly organisationId: string;
  readonly progress: BillingProgress | null;
}

/** What one round of an organisation's billing did. */
export interface BillingBatch {
  readonly done: number;
  readonly setAside: number;
  /** Whether more may be due already. */
  readonly isMore: boolean;
}

/** The type of the workflow that performs what is due for one organisation. */
export const organisationBillingType = "organisationBilling";

/** The id of an organisation's billing: there is one, or none while nothing is due. */
export function billingWorkflowId(organisationId: string): string {
  return `billing/${organisationId}`;
}

/** The input of `testClock`; `progress` is null but where the workflow continues itself. */
export interface TestClockInput {
  readonly organisationId: string;
  readonly progress: ClockProgressReport | null;
}

/** How far an advance of a test clock has come, and what was performed on the way: what the query `progress` answers. Instants are ISO 8601. */
export interface ClockProgressReport {
  readonly from: string;
  readonly target: string;
  readonly now: string;
  readonly performed: number;
  readonly raised: number;
  readonly setAside: number;
}

/** What one round of advancing a test clock came to. */
export interface ClockBatch {
  /** Whether the clock is where it was to go. */
  readonly isThere: boolean;
  /** Null where it did not advance. */
  readonly progress: ClockProgressReport | null;
}

/** The type of the workflow that advances the test clock of a sandbox. */
export const testClockType = "testClock";

/** The signal that says: an advance was committed. */
export const advanceSignal = "advance";

/** The query for how far it has come; null before the first round. */
export const progressQuery = "progress";

/** The id of a test clock's workflow: there is one, or none while the clock stands. */
export function clockWorkflowId(organisationId: string): string {
  return `clock/${organisationId}`;
}

/** The input of `ledgerSync`. */
export interface LedgerSyncInput {
  readonly organisationId: string;
}

/** The type of the workflow that looks at what people changed in an organisation's ledger. */
export const ledgerSyncType = "ledgerSync";

/** The id of an organisation's mirror: there is one, or none while nothing is to be looked at. */
export function ledgerSyncWorkflowId(organisationId: string): string {
  return `mirror/${organisationId}`;
}

/** The type of the workflow that looks, each minute, for which organisations there is something to be looked at. */
export const ledgerSyncStartsType = "ledgerSyncStarts";

/** The id of the schedule that starts it. */
export const ledgerSyncScheduleId = "ledger-sweep";

/** The input of `organisationEvents`: changes that were marked until then (ISO 8601, the database's clock) are combined and told. */
export interface OrganisationEventsInput {
  readonly organisationId: string;
  readonly until: string;
  /** What a run that is continued as new takes over: events told, endpoints started. */
  readonly told?: number;
  readonly started?: number;
}

/** What one round of telling an organisation's changes did. */
export interface PublishingBatch {
  /** Events that were written. */
  readonly told: number;
  /** Endpoints whose deliveries were started. */
  readonly started: number;
  /** Whether more may be left. */
  readonly isMore: boolean;
}

/** The type of the workflow that looks, each minute, for which organisations changes are to be told. */
export const changeScanType = "changeScan";

/** The id of the schedule that starts it. */
export const changeScheduleId = "change-scan";

/** The type of the workflow that tells an organisation's changes. */
export const organisationEventsType = "organisationEvents";

/** The id of the workflow that tells an organisation's changes: there is one, or none while nothing is to be told. */
export function eventsWorkflowId(organisationId: string): string {
  return `events/${organisationId}`;
}

/**
 * What deliveries to an endpoint came to: the search attribute and the details of its workflow come
 * from it.
 */
export interface DeliveryCounts {
  readonly delivered: number;
  /** Attempts that failed: what they were for is pending still. */
  readonly failed: number;
  readonly exhausted: number;
  readonly dropped: number;
}

/** The input of `endpointDeliveries`; `counts` are those of the runs that this one continues. */
export interface EndpointDeliveriesInput {
  readonly organisationId: string;
  readonly endpointId: string;
  readonly counts?: DeliveryCounts;
}

/** What one activity delivered. */
export interface DeliveryBatches extends DeliveryCounts {
  /**
   * In how many milliseconds something is due; 0: more is due already; null: nothing is pending.
   */
  readonly nextInMs: number | null;
}

/** The type of the workflow that delivers what is due to one webhook endpoint. */
export const endpointDeliveriesType = "endpointDeliveries";

/** The id of an endpoint's deliveries: there is one run, or none while nothing is due. */
export function deliveriesWorkflowId(endpointId: string): string {
  return `webhooks/${endpointId}`;
}

/**
 * The queue of all that delivers webhooks, workflow tasks too: none of their tasks stands before a
 * task of the others.
 */
export function webhookQueue(taskQueue: string): string {
  return `${taskQueue}-webhooks`;
}

/** The queue of what performs billing and tells changes, beside the one of everything else: a process takes only a few of these at once. */
export function billingQueue(taskQueue: string): string {
  return `${taskQueue}-renewals`;
}

/** The queue of workflows and database activities, unless a process is told another one. */
export const defaultTaskQueue = "billing";
