/**
 * Starts the workflows of pieces of work that have one of their own. Each has an id of its own, and one that runs
 * already is told by a signal to look again: starting twice is starting once, and no start is missed. What could not
 * be started is found by the dispatcher.
 */
import type { Client } from "@temporalio/client";
import { WorkflowIdConflictPolicy, WorkflowIdReusePolicy } from "@temporalio/client";
import {
  amendmentWorkflowId,
  type CreditAllocationInput,
  creditAllocationType,
  creditWorkflowId,
  type InvoiceAmendmentInput,
  invoiceAmendmentType,
  wakeSignal,
} from "../../workflows/contract.ts";
import { engineDeadlineMs } from "./ledger-work.ts";
import { type SearchAttributeName, typedAttributes } from "./search-attributes.ts";

/** Starts or wakes workflows: resolves true once one is there, false where Temporal could not be reached in time. */
export interface StartWork {
  startAmendment(input: InvoiceAmendmentInput): Promise<boolean>;
  startAllocation(input: CreditAllocationInput): Promise<boolean>;
}

interface Start {
  readonly type: string;
  readonly workflowId: string;
  readonly input: object;
  /** What the Temporal UI shows of it: plain words, nothing personal. */
  readonly summary: string;
  readonly attributes: Partial<Record<SearchAttributeName, string>>;
}

/** Starts over a client; `onError` is told of each that failed. */
export function createStartWork(
  client: Client,
  taskQueue: string,
  onError: (workflowId: string, error: unknown) => void,
): StartWork {
  const start = async ({ type, workflowId, input, summary, attributes }: Start): Promise<boolean> => {
    try {
      await client.withDeadline(Date.now() + engineDeadlineMs, () =>
        client.workflow.signalWithStart(type, {
          taskQueue,
          workflowId,
          workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
          workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
          args: [input],
          signal: wakeSignal,
          signalArgs: [],
          staticSummary: summary,
          typedSearchAttributes: typedAttributes(attributes),
        }),
      );
      return true;
    } catch (error) {
      onError(workflowId, error);
      return false;
    }
  };
  return {
    startAmendment: ({ organisationId, subscriptionId, invoiceId, operationId }) =>
      start({
        type: invoiceAmendmentType,
        workflowId: amendmentWorkflowId(operationId),
        input: { organisationId, subscriptionId, invoiceId, operationId } satisfies InvoiceAmendmentInput,
        summary: "amends an invoice in the ledger",
        attributes: {
          OrganisationId: organisationId,
          SubscriptionId: subscriptionId,
          InvoiceId: invoiceId,
          OperationId: operationId,
          OperationKind: "amend_invoice",
        },
      }),
    startAllocation: ({ organisationId, subscriptionId }) =>
      start({
        type: creditAllocationType,
        workflowId: creditWorkflowId(subscriptionId),
        input: { organisationId, subscriptionId } satisfies CreditAllocationInput,
        summary: "puts the credit that a subscription holds on its invoices",
        attributes: {
          OrganisationId: organisationId,
          SubscriptionId: subscriptionId,
          OperationKind: "allocate_credit",
        },
      }),
  };
}
