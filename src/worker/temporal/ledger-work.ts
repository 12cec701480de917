/**
 * Wakes an organisation's ledger workflow with `signalWithStart`, so that no wake-up is missed and
 * only one workflow runs. A posting batch of it that lingers is woken through PostgreSQL as well,
 * which is faster.
 */
import type { Client } from "@temporalio/client";
import { WorkflowIdConflictPolicy, WorkflowIdReusePolicy } from "@temporalio/client";
import {
  type LedgerPostingInput,
  ledgerPostingType,
  ledgerWorkflowId,
  wakeSignal,
} from "../../../workflows/contract.ts";
import { typedAttributes } from "./search-attributes.ts";

/** Wakes the ledger workflows of organisations. */
export interface PostingWakes {
  /**
   * Resolves to true once a workflow knows of the waiting work, or to false if Temporal could not
   * be reached in time. A caller that waits may have true for a wake-up that may have arrived.
   */
  wake(organisationId: string): Promise<boolean>;
}

/**
 * How long a start or wake-up may take. After it the caller continues, and the dispatcher starts
 * what was missed.
 */
export const engineDeadlineMs = 3_000;

/**
 * How long a run may take. A run that no worker can replay must not hold its id for ever. Its work
 * is in the database, and the next start continues it.
 */
export const maxRun = "1 hour";

/**
 * Creates wake-ups over a client. `onError` decides what a failed one resolves to. `notify` wakes a
 * batch of the workflow that lingers. If it fails, the batch reads the work itself.
 */
export function createLedgerWork(
  client: Client,
  taskQueue: string,
  onError: (organisationId: string, error: unknown) => boolean,
  notify: (organisationId: string) => Promise<void>,
): PostingWakes {
  return {
    wake: async (organisationId) => {
      void notify(organisationId).catch(() => undefined);
      try {
        await client.withDeadline(Date.now() + engineDeadlineMs, () =>
          client.workflow.signalWithStart(ledgerPostingType, signalOf(taskQueue, organisationId)),
        );
        return true;
      } catch (error) {
        return onError(organisationId, error);
      }
    },
  };
}

/** The start of an organisation's workflow, and the signal to it. */
function signalOf(taskQueue: string, organisationId: string) {
  const input: LedgerPostingInput = { organisationId };
  return {
    taskQueue,
    workflowId: ledgerWorkflowId(organisationId),
    workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
    workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
    args: [input],
    workflowRunTimeout: maxRun,
    signal: wakeSignal,
    signalArgs: [],
    staticSummary: "posts the organisation's waiting documents to its ledger",
    typedSearchAttributes: typedAttributes({
      OrganisationId: organisationId,
      JobKind: "post_documents",
    }),
  };
}
