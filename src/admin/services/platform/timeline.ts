/** Lists the timeline of a subscription, with links to ledger and Temporal UI. ADMIN-12 */
import { unknownPosition } from "../../../domain/refusal.ts";
import type { SubscriptionService } from "../../../gen/proto/billing/admin/v1/subscriptions_pb.ts";
import { wordOf } from "../../../present/enums.ts";
import type { TimelineKind, TimelinePosition } from "../../../store/admin/timeline/timeline.ts";
import { timelineGroups } from "../../present/enums.ts";
import { readInstantOf } from "../../present/read-values.ts";
import { presentTimelineEntry } from "../../present/timeline.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  pageOf,
  required,
  requireOrganisation,
} from "../dependencies.ts";
import { openLedgerPages } from "./ledger-pages.ts";
import { workOf } from "./workflow-pages.ts";

type Method = AdminImplementation<typeof SubscriptionService>["listSubscriptionTimeline"];

/**
 * Returns the method. Refuses `organisation_not_found`, `subscription_not_found`, and
 * `invalid_parameter` for a `starting_after` of another list or a `since` that is no instant.
 */
export function listSubscriptionTimeline(
  deps: Pick<AdminDependencies, "store" | "kinds" | "workflowPages">,
): Method {
  const { workflowPages } = deps;
  return async (request) => {
    const { id: organisationId } = await requireOrganisation(deps, request.organisation);
    const { limit, startingAfter } = pageOf(request);
    const group = wordOf(timelineGroups, request.group);
    const query = {
      limit,
      after: startingAfter === null ? null : readPosition(startingAfter),
      since: readInstantOf("since", request.since),
      kinds: group && kindsOf[group],
    };
    const page = required(
      await deps.store.listTimeline(organisationId, request.id, query),
      "subscription_not_found",
    );
    const pageIn = await openLedgerPages(deps, organisationId);
    const owner = { organisationId, subscriptionId: request.id };
    const data = page.data.map((entry) => {
      const { document, kind, at } = entry;
      const work = workOf(entry, owner);
      // A job that waits is with the newest run.
      const instant = kind === "waiting" || kind === "delivery_waiting" ? null : at;
      return presentTimelineEntry(entry, {
        ledgerUrl: document && pageIn(document.kind, document.ledgerId),
        workflowUrl: work && (workflowPages?.ofWork(work, instant) ?? null),
      });
    });
    return {
      data,
      hasMore: page.hasMore,
      workflowsUrl: workflowPages?.ofSubscription(request.id),
    };
  };
}

/** What the ledger does to a document that it has. It is both money and the ledger. */
const ofPosted = ["credited", "paid", "voided", "deleted", "removed"] as const;

/** The kinds of the entries of a group. */
const kindsOf: Readonly<Record<keyof typeof timelineGroups, readonly TimelineKind[]>> = {
  money: ["deferred", "issued", "amended", ...ofPosted],
  ledger: [
    "waiting",
    "posted",
    "refused",
    "abandoned",
    ...ofPosted,
    "removal_refused",
    "kept",
    "end_refused",
  ],
  webhooks: ["published", "delivered", "delivery_failed", "delivery_waiting", "delivery_ended"],
  failed: [
    "refused",
    "removal_refused",
    "end_refused",
    "parked",
    "delivery_failed",
    "delivery_ended",
  ],
};

/** The position of an entry's id, also if nothing stands there any more. */
function readPosition(id: string): TimelinePosition {
  const [, micros = "", rank, entry = ""] =
    /^([0-9]{1,18})\.([0-9]{1,2})\.([0-9a-f-]{36})$/.exec(id) ?? [];
  if (micros !== "") return { micros: BigInt(micros), rank: Number(rank), id: entry };
  throw unknownPosition();
}
