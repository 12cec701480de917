/**
 * SubscriptionService of the admin API: breaks off an end or amendment that waits for a ledger
 * which does not come back. ADMIN-15
 */
import { requireRunning } from "../../../domain/model/billing-state.ts";
import type { SubscriptionService } from "../../../gen/proto/billing/admin/v1/subscriptions_pb.ts";
import { presentSubscription } from "../../../present/objects.ts";
import type { BreakOff } from "../../../store/subscriptions/break-off.ts";
import { presentIssued } from "../../present/present.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  identityOf,
  required,
  requireOrganisation,
} from "../dependencies.ts";

/**
 * Implements the methods. Refuse `organisation_not_found`, `subscription_not_found`, and
 * `invalid_state` if nothing of the subscription waits for the ledger.
 */
export function breakOffMethods(deps: Pick<AdminDependencies, "store" | "wake" | "startBilling">) {
  return {
    previewBreakOff: async ({ organisation, id }) => {
      const owner = await requireOrganisation(deps, organisation);
      const preview = required(
        await deps.store.previewBreakOff(owner.id, id),
        "subscription_not_found",
      );
      return { breakOff: presentBreakOff(preview), previewedState: preview.previewedState };
    },
    breakOff: async ({ organisation, id, reason, previewedState }, call) => {
      const owner = await requireOrganisation(deps, organisation);
      const request = { id: identityOf(call, "break_off"), subscriptionId: id, reason };
      const tenant = deps.store.tenant(owner.id, actorOf(call), previewedState);
      const done = await tenant.onSubscription(id, async (tx, found, locked) => {
        const state = required(found, "subscription_not_found");
        const earlier = await tx.subscriptions.findBreakOff(request);
        if (earlier !== null) return earlier;
        return tx.subscriptions.breakOff(
          { locked, state, running: requireRunning(state) },
          request,
        );
      });
      await deps.wake(owner.id);
      await deps.startBilling(owner.id);
      const shown = await deps.store.platform.subscriptions.get(owner.id, id);
      const { subscription, plan } = required(shown, "subscription_not_found");
      return {
        subscription: presentSubscription(subscription, plan),
        breakOff: presentBreakOff(done),
      };
    },
  } satisfies Partial<AdminImplementation<typeof SubscriptionService>>;
}

function presentBreakOff({ documents, ...done }: BreakOff) {
  return { ...done, documents: documents.map(presentIssued) };
}
