/**
 * Starts the workflows of single pieces of work, each with a unique id. A workflow that already
 * runs gets a signal to check again, so two starts have the effect of one and none is missed. The
 * dispatcher finds work whose start failed.
 */
import type { Client } from "@temporalio/client";
import { WorkflowIdConflictPolicy, WorkflowIdReusePolicy } from "@temporalio/client";
import {
  advanceSignal,
  amendmentWorkflowId,
  billingWorkflowId,
  type CreditAllocationInput,
  clockWorkflowId,
  creditAllocationType,
  creditWorkflowId,
  deliveriesWorkflowId,
  type EndpointDeliveriesInput,
  type EndSubscriptionInput,
  endpointDeliveriesType,
  endSubscriptionType,
  eventsWorkflowId,
  type InvoiceAmendmentInput,
  invoiceAmendmentType,
  type LedgerSyncInput,
  ledgerSyncType,
  ledgerSyncWorkflowId,
  type OrganisationBillingInput,
  type OrganisationEventsInput,
  organisationBillingType,
  organisationEventsType,
  type TestClockInput,
  terminationWorkflowId,
  testClockType,
  wakeSignal,
  webhookQueue,
} from "../../../workflows/contract.ts";
import type { NamedRun, RunNames } from "../../store/ledger-jobs/run-names.ts";
import { engineDeadlineMs, maxRun } from "./ledger-work.ts";
import { type SearchAttributeName, typedAttributes } from "./search-attributes.ts";

/**
 * Starts or wakes workflows. Each method resolves to true once one runs, or to false if Temporal
 * could not be reached in time. A caller that waits may have true for a start that may have begun.
 */
export interface StartWork {
  startAmendment(input: InvoiceAmendmentInput): Promise<boolean>;
  startAllocation(input: CreditAllocationInput): Promise<boolean>;
  startTermination(input: EndSubscriptionInput): Promise<boolean>;
  startBilling(organisationId: string): Promise<boolean>;
  startClock(organisationId: string): Promise<boolean>;
  startLedgerSync(organisationId: string): Promise<boolean>;
  startEvents(input: OrganisationEventsInput): Promise<boolean>;
  /** Delivers what is due to the endpoint, including what has just become due. */
  startDeliveries(endpoint: EndpointDeliveriesInput): Promise<boolean>;
}

interface Start {
  readonly type: string;
  readonly workflowId: string;
  readonly input: object;
  /** Sent with the start. A workflow that is about to end continues because of it. */
  readonly signal?: string;
  /** The task queue, if it is not the common one. */
  readonly ownQueue?: string;
  /** The text in the Temporal UI: plain words without personal data (INVARIANT-8). */
  readonly summary: string;
  /** What the Temporal UI shows of its objects. */
  readonly memo?: Readonly<Record<string, unknown>>;
  readonly attributes: Partial<Record<SearchAttributeName, string>>;
}

/** Finds what people call the objects of a run. Null if it does not know. */
type FindNames = (run: NamedRun) => Promise<RunNames | null>;

/**
 * Creates starts over a client. `onError` decides what a failed one resolves to. Runs of which
 * `findNames` finds nothing have only ids.
 */
export function createStartWork(
  client: Client,
  taskQueue: string,
  onError: (workflowId: string, error: unknown) => boolean,
  findNames: FindNames = async () => null,
): StartWork {
  const start: StartOne = async ({
    type,
    workflowId,
    input,
    signal,
    ownQueue,
    summary,
    memo,
    attributes,
  }) => {
    const options = {
      taskQueue: ownQueue ?? taskQueue,
      workflowId,
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
      args: [input],
      workflowRunTimeout: maxRun,
      staticSummary: summary,
      ...(memo && { memo }),
      typedSearchAttributes: typedAttributes(attributes),
    };
    try {
      await client.withDeadline(Date.now() + engineDeadlineMs, async () => {
        if (signal === undefined) await client.workflow.start(type, options);
        else await client.workflow.signalWithStart(type, { ...options, signal, signalArgs: [] });
      });
      return true;
    } catch (error) {
      return onError(workflowId, error);
    }
  };
  return {
    ...documentStarts(start, findNames),
    ...organisationStarts(start),
    ...webhookStarts(start, webhookQueue(taskQueue)),
  };
}

type StartOne = (start: Start) => Promise<boolean>;

/** The longest label in a summary, which may have 200 bytes. The memo has the whole. */
const maxLabelLength = 30;

/** Starts of work on the documents of one subscription. Summary and memo name them. */
function documentStarts(
  start: StartOne,
  findNames: FindNames,
): Pick<StartWork, "startAmendment" | "startAllocation" | "startTermination"> {
  const shown = async (run: NamedRun, summaryOf: (invoices: string, whose: string) => string) => {
    // The names are for people, so a start goes on without them.
    const names = await findNames(run).catch(() => null);
    const { label = "", invoices = [] } = names ?? {};
    const [first = "an invoice", ...others] = invoices;
    const numbers = others.length === 0 ? first : `${first} and ${others.length} more`;
    const whose = label === "" ? run.subscriptionId : `“${label.slice(0, maxLabelLength)}”`;
    const memo = { subscription: run.subscriptionId, ...names };
    return { summary: summaryOf(numbers, whose), memo };
  };
  return {
    startAmendment: async ({ organisationId, subscriptionId, invoiceId, jobId }) =>
      start({
        type: invoiceAmendmentType,
        workflowId: amendmentWorkflowId(jobId),
        input: { organisationId, subscriptionId, invoiceId, jobId } satisfies InvoiceAmendmentInput,
        signal: wakeSignal,
        ...(await shown(
          { organisationId, subscriptionId, invoiceId },
          (invoices, whose) => `amends ${invoices} of subscription ${whose} in the ledger`,
        )),
        attributes: {
          OrganisationId: organisationId,
          SubscriptionId: subscriptionId,
          InvoiceId: invoiceId,
          JobId: jobId,
          JobKind: "amend_invoice",
        },
      }),
    startAllocation: async ({ organisationId, subscriptionId }) =>
      start({
        type: creditAllocationType,
        workflowId: creditWorkflowId(subscriptionId),
        input: { organisationId, subscriptionId } satisfies CreditAllocationInput,
        signal: wakeSignal,
        ...(await shown(
          { organisationId, subscriptionId },
          (_, whose) => `applies the credit of subscription ${whose} to its invoices`,
        )),
        attributes: {
          OrganisationId: organisationId,
          SubscriptionId: subscriptionId,
          JobKind: "allocate_credit",
        },
      }),
    startTermination: async ({ organisationId, subscriptionId, customerId, terminationId }) =>
      start({
        type: endSubscriptionType,
        workflowId: terminationWorkflowId(terminationId),
        input: {
          organisationId,
          subscriptionId,
          customerId,
          terminationId,
        } satisfies EndSubscriptionInput,
        signal: wakeSignal,
        ...(await shown(
          { organisationId, subscriptionId, terminationId },
          (invoices, whose) => `removes ${invoices} in the ledger, then ends subscription ${whose}`,
        )),
        attributes: {
          OrganisationId: organisationId,
          SubscriptionId: subscriptionId,
          CustomerId: customerId,
          JobId: terminationId,
          JobKind: "end_subscription",
        },
      }),
  };
}

/** Starts of publishing and delivery. A running publishing workflow needs no signal. */
function webhookStarts(
  start: StartOne,
  ownQueue: string,
): Pick<StartWork, "startEvents" | "startDeliveries"> {
  return {
    startEvents: (input) =>
      start({
        type: organisationEventsType,
        workflowId: eventsWorkflowId(input.organisationId),
        input,
        summary: "publishes the organisation's changes",
        attributes: { OrganisationId: input.organisationId, JobKind: "publish_changes" },
      }),
    startDeliveries: ({ organisationId, endpointId }) =>
      start({
        type: endpointDeliveriesType,
        workflowId: deliveriesWorkflowId(endpointId),
        input: { organisationId, endpointId } satisfies EndpointDeliveriesInput,
        signal: wakeSignal,
        ownQueue,
        summary: "delivers what is due to a webhook endpoint",
        attributes: {
          OrganisationId: organisationId,
          EndpointId: endpointId,
          JobKind: "deliver_events",
        },
      }),
  };
}

/** Starts of work for an organisation, one run at a time. */
function organisationStarts(
  start: StartOne,
): Pick<StartWork, "startBilling" | "startClock" | "startLedgerSync"> {
  return {
    startBilling: (organisationId) =>
      start({
        type: organisationBillingType,
        workflowId: billingWorkflowId(organisationId),
        input: { organisationId, progress: null } satisfies OrganisationBillingInput,
        signal: wakeSignal,
        summary: "performs what is due for the organisation's subscriptions",
        attributes: { OrganisationId: organisationId, JobKind: "billing" },
      }),
    startLedgerSync: (organisationId) =>
      start({
        type: ledgerSyncType,
        workflowId: ledgerSyncWorkflowId(organisationId),
        input: { organisationId } satisfies LedgerSyncInput,
        signal: wakeSignal,
        summary: "reads the changes in the organisation's ledger",
        attributes: { OrganisationId: organisationId, JobKind: "sync_ledger" },
      }),
    startClock: (organisationId) =>
      start({
        type: testClockType,
        workflowId: clockWorkflowId(organisationId),
        input: { organisationId, progress: null } satisfies TestClockInput,
        signal: advanceSignal,
        summary: "advances the sandbox's test clock and performs what is due on the way",
        attributes: { OrganisationId: organisationId, JobKind: "advance_clock" },
      }),
  };
}
