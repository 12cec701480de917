/** The work behind an entry of a timeline, and the addresses of its workflows for people. */
import type { TimelineEntry } from "../../../store/admin/timeline/timeline.ts";

/** The work of one workflow. */
export type TimelineWork =
  | { readonly kind: "posting" | "publication"; readonly organisationId: string }
  | { readonly kind: "amendment"; readonly jobId: string }
  | { readonly kind: "allocation"; readonly subscriptionId: string }
  | { readonly kind: "termination"; readonly terminationId: string }
  | { readonly kind: "delivery"; readonly endpointId: string };

/** The addresses of workflows in the Temporal UI. */
export interface WorkflowPages {
  /** The runs that were open at an instant. All runs if it is null. */
  ofWork(work: TimelineWork, at: Date | null): string;
  /** All workflows of a subscription. */
  ofSubscription(id: string): string;
  /** Runs that failed or met a refusal: those of an organisation, or all. */
  failed(organisationId: string | null): string;
  /** Runs that run or wait for their next attempt: those of an organisation, or all. */
  waiting(organisationId: string | null): string;
  /** All runs but those that each minute starts. */
  work(): string;
}

/** Whose timeline it is. */
interface TimelineOwner {
  readonly organisationId: string;
  readonly subscriptionId: string;
}

/** Returns the work behind an entry. Null if no workflow did it. */
export function workOf(entry: TimelineEntry, owner: TimelineOwner): TimelineWork | null {
  const { organisationId, subscriptionId } = owner;
  const { jobKind, jobId = entry.id, endpointId } = entry.detail;
  if (endpointId !== undefined) return { kind: "delivery", endpointId };
  if (entry.kind === "published") return { kind: "publication", organisationId };
  if (!jobKind) return null;
  switch (jobKind) {
    case "create_invoice":
    case "create_credit_note":
      return { kind: "posting", organisationId };
    case "amend_invoice":
      return { kind: "amendment", jobId };
    case "allocate_credit":
      return { kind: "allocation", subscriptionId };
    case "end_subscription":
      return { kind: "termination", terminationId: jobId };
  }
}
