/** SubscriptionService: lists, retrieves, creates and changes subscriptions. */
import type {
  ListSubscriptionsRequest,
  SubscriptionService,
} from "../../gen/proto/billing/v1/subscriptions_pb.ts";
import { subscriptionStatuses, wordOf } from "../../present/enums.ts";
import { presentSubscription } from "../../present/objects.ts";
import type {
  PlannedSubscription,
  SubscriptionFilters,
} from "../../store/subscriptions/subscriptions.ts";
import type { Implementation } from "../../transport/rpc/implementation.ts";
import type { Deps } from "../deps.ts";
import { getObject, listMethod } from "../reading.ts";
import { changeUnits } from "./change-units.ts";
import { createSubscription } from "./create.ts";
import { endSubscription } from "./end.ts";
import { historyMethods } from "./history.ts";
import { type PreviewMethods, previewMethods } from "./previews.ts";
import { restoreSubscription } from "./restore.ts";

/**
 * Returns the implementation of SubscriptionService. Refuses `subscription_not_found`. Each write
 * refuses as its own method does: `createSubscription`, `changeUnits`, `endSubscription`,
 * `restoreSubscription`.
 */
export function subscriptionService(
  deps: Deps,
): Omit<Implementation<typeof SubscriptionService>, keyof PreviewMethods> & PreviewMethods {
  const get = getObject(deps, ({ subscriptions }) => subscriptions, "subscription_not_found");
  const present = ({ subscription, plan }: PlannedSubscription) =>
    presentSubscription(subscription, plan);
  return {
    listSubscriptions: listMethod(deps, ({ subscriptions }) => subscriptions, filtersOf, present),
    getSubscription: async ({ id }, call) => ({ subscription: present(await get(id, call)) }),
    createSubscription: createSubscription(deps),
    changeUnits: changeUnits(deps),
    endSubscription: endSubscription(deps),
    restoreSubscription: restoreSubscription(deps),
    ...previewMethods(deps),
    ...historyMethods(deps),
  };
}

function filtersOf(request: ListSubscriptionsRequest): SubscriptionFilters {
  return {
    customer: request.customer ?? null,
    customerCode: request.customerCode ?? null,
    status: wordOf(subscriptionStatuses, request.status),
  };
}
