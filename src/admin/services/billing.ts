/**
 * BillingService: counts what is due, lists parked subscriptions with their reasons, and retries
 * them. POSTING-8, ADMIN-16
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  BillingService,
  ParkedSubscriptionSchema,
} from "../../gen/proto/billing/admin/v1/billing_pb.ts";
import { subscriptionStatuses } from "../../present/enums.ts";
import type { ParkedSubscription } from "../../store/admin/billing.ts";
import { membersOf } from "../present/present.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  pageOf,
  required,
  requireOrganisation,
} from "./dependencies.ts";
import { leftoverMethods } from "./leftovers.ts";

/**
 * Implements the service. Refuses `organisation_not_found`, `subscription_not_found`,
 * `invalid_state`.
 */
export function billingService(
  deps: AdminDependencies,
): AdminImplementation<typeof BillingService> {
  const { billing } = deps.store;
  return {
    getBilling: async ({ organisation }) =>
      billing.count((await requireOrganisation(deps, organisation)).id),
    listParkedSubscriptions: async (request) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const { data, hasMore } = await billing.listParked(id, pageOf(request));
      return { data: data.map(presentParked), hasMore };
    },
    retrySubscription: async ({ organisation, id }, call) => {
      const owner = await requireOrganisation(deps, organisation);
      const parked = await billing.retry(actorOf(call), owner.id, id);
      const retried = required(parked, "subscription_not_found");
      await deps.startBilling(owner.id);
      return { subscription: presentParked(retried) };
    },
    runBilling: async ({ organisation }, call) => {
      const { id } = await requireOrganisation(deps, organisation);
      const counts = await billing.noteRun(actorOf(call), id);
      return { ...counts, started: await deps.startBilling(id) };
    },
    ...leftoverMethods(deps),
  };
}

function presentParked(
  parked: ParkedSubscription,
): MessageInitShape<typeof ParkedSubscriptionSchema> {
  return {
    ...membersOf(parked),
    customer: parked.customerId,
    plan: parked.planId,
    status: subscriptionStatuses[parked.status],
  };
}
