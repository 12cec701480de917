/**
 * SubscriptionService of the admin API: an organisation's subscriptions. ADMIN-11, ADMIN-13,
 * ADMIN-15
 */
import type { SubscriptionService } from "../../../gen/proto/billing/admin/v1/subscriptions_pb.ts";
import { subscriptionStatuses, wordOf } from "../../../present/enums.ts";
import { presentSubscription } from "../../../present/objects.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  pageOf,
  required,
  requireOrganisation,
} from "../dependencies.ts";
import { actingMethods, previewMethods } from "./acting.ts";
import { breakOffMethods } from "./break-off.ts";
import { listSubscriptionTimeline } from "./timeline.ts";

/**
 * Implements the service. Refuses `organisation_not_found`, `subscription_not_found`. The writes
 * and previews refuse as those of `billing.v1` do.
 */
export function subscriptionService(
  deps: AdminDependencies,
): AdminImplementation<typeof SubscriptionService> {
  const { subscriptions } = deps.store.platform;
  return {
    listSubscriptions: async (request) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const search = { ...request, status: wordOf(subscriptionStatuses, request.status) };
      const { data, hasMore } = await subscriptions.list(id, search, pageOf(request));
      return {
        data: data.map(({ subscription, plan }) => presentSubscription(subscription, plan)),
        hasMore,
      };
    },
    getSubscription: async ({ organisation, id }) => {
      const owner = await requireOrganisation(deps, organisation);
      const found = required(await subscriptions.get(owner.id, id), "subscription_not_found");
      const { workflowPages: pages } = deps;
      return {
        subscription: presentSubscription(found.subscription, found.plan),
        workflowsUrl: pages?.ofSubscription(id),
        failedWorkflowsUrl: pages?.failed(owner.id),
        waitingWorkflowsUrl: pages?.waiting(owner.id),
        waitsForLedger: await deps.store.isBreakOffDue(owner.id, id),
      };
    },
    listSubscriptionTimeline: listSubscriptionTimeline(deps),
    ...breakOffMethods(deps),
    ...actingMethods(deps),
    ...previewMethods(deps),
  };
}
