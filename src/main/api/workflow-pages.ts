/**
 * The addresses of workflows in the Temporal UI. A link is a search, because the id of a run is not
 * stored: it finds the runs of a workflow that were open at an instant. ADMIN-12, ADMIN-27.
 */
import {
  amendmentWorkflowId,
  creditWorkflowId,
  deliveriesWorkflowId,
  eventsWorkflowId,
  ledgerWorkflowId,
  terminationWorkflowId,
} from "../../../workflows/contract.ts";
import type { TimelineWork, WorkflowPages } from "../../admin/services/platform/workflow-pages.ts";

/** What needs a person, or what somebody has to repeat. */
const failed =
  '(ExecutionStatus IN ("Failed", "TimedOut") OR Outcome IN ("failed", "parked", "refused"))';

const waiting = '(ExecutionStatus = "Running" OR Outcome = "rescheduled")';

const work = 'JobKind != "billing_run"';

/** Creates the addresses below the UI's own. Null, without that address, means no links. */
export function createWorkflowPages(uiUrl: string | null, namespace: string): WorkflowPages | null {
  if (uiUrl === null) return null;
  const pageOf = (query: string) =>
    `${uiUrl}/namespaces/${encodeURIComponent(namespace)}/workflows` +
    `?query=${encodeURIComponent(query)}`;
  const pageOfThose = (query: string, organisationId: string | null) =>
    pageOf(organisationId === null ? query : `OrganisationId = "${organisationId}" AND ${query}`);
  return {
    ofWork: (work, at) => {
      const id = `WorkflowId = "${workflowIdOf(work)}"`;
      if (at === null) return pageOf(id);
      const instant = `"${at.toISOString()}"`;
      const end = `(CloseTime >= ${instant} OR ExecutionStatus = "Running")`;
      return pageOf(`${id} AND StartTime <= ${instant} AND ${end}`);
    },
    ofSubscription: (id) => pageOf(`SubscriptionId = "${id}"`),
    failed: (organisationId) => pageOfThose(failed, organisationId),
    waiting: (organisationId) => pageOfThose(waiting, organisationId),
    work: () => pageOf(work),
  };
}

function workflowIdOf(work: TimelineWork): string {
  switch (work.kind) {
    case "posting":
      return ledgerWorkflowId(work.organisationId);
    case "amendment":
      return amendmentWorkflowId(work.jobId);
    case "allocation":
      return creditWorkflowId(work.subscriptionId);
    case "termination":
      return terminationWorkflowId(work.terminationId);
    case "publication":
      return eventsWorkflowId(work.organisationId);
    case "delivery":
      return deliveriesWorkflowId(work.endpointId);
  }
}
