/**
 * Starts workflows, each with a unique id. A workflow that already runs gets a signal to check
 * again, so two starts have the effect of one and none is missed. The dispatcher finds work whose
 * start failed.
 */
import { type Client, WorkflowIdConflictPolicy, WorkflowIdReusePolicy } from "@temporalio/client";
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
  ledgerPostingType,
  ledgerSyncType,
  ledgerSyncWorkflowId,
  ledgerWorkflowId,
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
import { type SearchAttributeName, typedAttributes } from "./search-attributes.ts";

/**
 * Starts or wakes workflows. Each method resolves to true once one runs, or to false if Temporal
 * could not be reached in time. A caller that waits may have true for a start that may have begun.
 */
export interface StartWork {
  /** Posts the organisation's documents. A batch that lingers is woken through PostgreSQL too. */
  wake(organisationId: string): Promise<boolean>;
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

/**
 * How long a start may take. After it the caller continues, and the dispatcher starts what was
 * missed.
 */
export const engineDeadlineMs = 3_000;

/**
 * How long a run may take. A run that no worker can replay must not hold its id for ever. Its work
 * is in the database, and the next start continues it.
 */
const maxRun = "1 hour";

interface Start {
  readonly type: string;
  readonly workflowId: string;
  /** Its ids are search attributes of the run. */
  readonly input: object;
  readonly jobKind: string;
  /** A workflow that is about to end continues because of it. Null if it needs none. */
  readonly signal?: string | null;
  /** The task queue, if it is not the common one. */
  readonly ownQueue?: string;
  /** The text in the Temporal UI: plain words without personal data (INVARIANT-8). */
  readonly summary: string;
  /** What the Temporal UI shows of its objects. */
  readonly memo?: Readonly<Record<string, unknown>>;
}

/** The search attribute of each id of an input. */
const attributes: Readonly<Record<string, SearchAttributeName>> = {
  organisationId: "OrganisationId",
  subscriptionId: "SubscriptionId",
  customerId: "CustomerId",
  invoiceId: "InvoiceId",
  endpointId: "EndpointId",
  jobId: "JobId",
  terminationId: "JobId",
};

/** What starts use of PostgreSQL. */
interface Parts {
  /** Finds what people call the objects of a run. A run of which it finds nothing has only ids. */
  readonly findNames?: (run: NamedRun) => Promise<RunNames | null>;
  /** Wakes a posting batch that lingers. If it fails, the batch reads the work itself. */
  readonly notify?: (organisationId: string) => Promise<void>;
}

/** Creates starts over a client. `onError` decides what a failed one resolves to. */
export function createStartWork(
  client: Client,
  taskQueue: string,
  onError: (workflowId: string, error: unknown) => boolean,
  { findNames, notify }: Parts = {},
): StartWork {
  const start: StartOne = async (run) => {
    const { type, workflowId, input, jobKind, signal = wakeSignal, summary, memo } = run;
    const ids = Object.entries(input).flatMap(([member, id]) => {
      const name = attributes[member];
      return name === undefined ? [] : [[name, String(id)]];
    });
    const options = {
      taskQueue: run.ownQueue ?? taskQueue,
      workflowId,
      workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
      workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
      args: [input],
      workflowRunTimeout: maxRun,
      staticSummary: summary,
      ...(memo && { memo }),
      typedSearchAttributes: typedAttributes({ ...Object.fromEntries(ids), JobKind: jobKind }),
    };
    try {
      await client.withDeadline(Date.now() + engineDeadlineMs, async () => {
        if (signal === null) await client.workflow.start(type, options);
        else await client.workflow.signalWithStart(type, { ...options, signal, signalArgs: [] });
      });
      return true;
    } catch (error) {
      return onError(workflowId, error);
    }
  };
  const organisation = organisationStarts(start);
  return {
    ...organisation,
    wake: (organisationId) => {
      void notify?.(organisationId).catch(() => undefined);
      return organisation.wake(organisationId);
    },
    ...documentStarts(start, findNames),
    ...webhookStarts(start, webhookQueue(taskQueue)),
  };
}

type StartOne = (start: Start) => Promise<boolean>;

/** The longest label in a summary, which may have 200 bytes. The memo has the whole. */
const maxLabelLength = 30;

/** Starts of work on the documents of one subscription. Summary and memo name them. */
function documentStarts(
  start: StartOne,
  findNames: Parts["findNames"],
): Pick<StartWork, "startAmendment" | "startAllocation" | "startTermination"> {
  const shown = async (run: NamedRun, summaryOf: (invoices: string, whose: string) => string) => {
    // The names are for people, so a start goes on without them.
    const names = await findNames?.(run).catch(() => null);
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
        jobKind: "amend_invoice",
        ...(await shown(
          { organisationId, subscriptionId, invoiceId },
          (invoices, whose) => `amends ${invoices} of subscription ${whose} in the ledger`,
        )),
      }),
    startAllocation: async ({ organisationId, subscriptionId }) =>
      start({
        type: creditAllocationType,
        workflowId: creditWorkflowId(subscriptionId),
        input: { organisationId, subscriptionId } satisfies CreditAllocationInput,
        jobKind: "allocate_credit",
        ...(await shown(
          { organisationId, subscriptionId },
          (_, whose) => `applies the credit of subscription ${whose} to its invoices`,
        )),
      }),
    startTermination: async ({ organisationId, subscriptionId, customerId, terminationId }) => {
      const ids = { organisationId, subscriptionId, terminationId };
      return start({
        type: endSubscriptionType,
        workflowId: terminationWorkflowId(terminationId),
        input: { ...ids, customerId } satisfies EndSubscriptionInput,
        jobKind: "end_subscription",
        ...(await shown(
          ids,
          (invoices, whose) => `removes ${invoices} in the ledger, then ends subscription ${whose}`,
        )),
      });
    },
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
        jobKind: "publish_changes",
        signal: null,
        summary: "publishes the organisation's changes",
      }),
    startDeliveries: ({ organisationId, endpointId }) =>
      start({
        type: endpointDeliveriesType,
        workflowId: deliveriesWorkflowId(endpointId),
        input: { organisationId, endpointId } satisfies EndpointDeliveriesInput,
        jobKind: "deliver_events",
        ownQueue,
        summary: "delivers what is due to a webhook endpoint",
      }),
  };
}

/** Starts of work for an organisation, one run at a time. */
function organisationStarts(
  start: StartOne,
): Pick<StartWork, "wake" | "startBilling" | "startClock" | "startLedgerSync"> {
  return {
    wake: (organisationId) =>
      start({
        type: ledgerPostingType,
        workflowId: ledgerWorkflowId(organisationId),
        input: { organisationId },
        jobKind: "post_documents",
        summary: "posts the organisation's waiting documents to its ledger",
      }),
    startBilling: (organisationId) =>
      start({
        type: organisationBillingType,
        workflowId: billingWorkflowId(organisationId),
        input: { organisationId, progress: null } satisfies OrganisationBillingInput,
        jobKind: "billing",
        summary: "performs what is due for the organisation's subscriptions",
      }),
    startLedgerSync: (organisationId) =>
      start({
        type: ledgerSyncType,
        workflowId: ledgerSyncWorkflowId(organisationId),
        input: { organisationId },
        jobKind: "sync_ledger",
        summary: "reads the changes in the organisation's ledger",
      }),
    startClock: (organisationId) =>
      start({
        type: testClockType,
        workflowId: clockWorkflowId(organisationId),
        input: { organisationId, progress: null } satisfies TestClockInput,
        jobKind: "advance_clock",
        signal: advanceSignal,
        summary: "advances the sandbox's test clock and performs what is due on the way",
      }),
  };
}
