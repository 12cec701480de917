/** SubscriptionService: lists, retrieves, creates and changes subscriptions. */
import type {
  ListSubscriptionsRequest,
  SubscriptionService,
} from "../../gen/proto/billing/v1/subscriptions_pb.ts";
import type {
  PlannedSubscription,
  SubscriptionFilters,
} from "../../store/subscriptions/subscriptions.ts";
import type { Implementation } from "../../transport/rpc/implementation.ts";
import { subscriptionStatuses, wordOf } from "../enums.ts";
import type { ServiceParts } from "../parts.ts";
import { presentSubscription } from "../present.ts";
import { getObject, listMethod } from "../reading.ts";
import { changeUnits } from "./change-units.ts";
import { createSubscription } from "./create.ts";
import { endSubscription } from "./end.ts";
import { restoreSubscription } from "./restore.ts";

/**
 * Returns the implementation of SubscriptionService. Refuses `subscription_not_found`. Each write
 * refuses as its own method does: `createSubscription`, `changeUnits`, `endSubscription`,
 * `restoreSubscription`.
 */
export function subscriptionService(
  parts: ServiceParts,
): Implementation<typeof SubscriptionService> {
  const { store } = parts;
  const get = getObject(store, ({ subscriptions }) => subscriptions, "subscription_not_found");
  const present = ({ subscription, plan }: PlannedSubscription) =>
    presentSubscription(subscription, plan);
  return {
    listSubscriptions: listMethod(store, ({ subscriptions }) => subscriptions, filtersOf, present),
    getSubscription: async ({ id }, call) => ({ subscription: present(await get(id, call)) }),
    createSubscription: createSubscription(parts),
    changeUnits: changeUnits(parts),
    endSubscription: endSubscription(parts),
    restoreSubscription: restoreSubscription(parts),
  };
}

function filtersOf(request: ListSubscriptionsRequest): SubscriptionFilters {
  return {
    customer: request.customer ?? null,
    customerCode: request.customerCode ?? null,
    status: wordOf(subscriptionStatuses, request.status),
  };
}
