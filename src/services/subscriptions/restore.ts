/**
 * Restore: locks the subscription, bills what is due, decides the restoration, saves it with every
 * reissued document, and awaits the ledger. The answer never depends on the ledger (RESTORE-1,
 * POSTING-4).
 */
import { strict as assert } from "node:assert";
import { crashPoint } from "../../crash-points.ts";
import { decideRestoration } from "../../domain/subscriptions/restore.ts";
import {
  RestoreSubscriptionRequestSchema,
  type SubscriptionService,
} from "../../gen/proto/billing/v1/subscriptions_pb.ts";
import { presentSubscription } from "../../present/objects.ts";
import type { MethodImplementation } from "../../transport/rpc/implementation.ts";
import { type Deps, untilKnown } from "../deps.ts";
import { identify, requireSameRequest } from "../request-identity.ts";

type Method = MethodImplementation<typeof SubscriptionService.method.restoreSubscription>;

const conflict = "This Idempotency-Key restored a subscription by another request.";

/**
 * Returns the method. Refuses as `decideRestoration` does, `subscription_not_found`, and
 * `idempotency_conflict` if an earlier request with this key restored another subscription.
 */
export function restoreSubscription(deps: Deps): Method {
  return async (request, call) => {
    const tenant = deps.tenant(call);
    const posting = deps.posting(call);
    // The same id in each try, so that a try after a lost answer finds its own restoration.
    const identity = identify("restoration", call, RestoreSubscriptionRequestSchema, request);
    return untilKnown(posting.deadline, async () => {
      const { jobIds, isRepeat } = await tenant.onCurrentSubscription(
        request.id,
        async (tx, state) => {
          const earlier = await tx.restorations.findByRequest(identity.requestId);
          if (earlier !== null) {
            requireSameRequest(earlier.requestHash, identity, conflict);
            return { jobIds: earlier.jobIds, isRepeat: true };
          }
          const facts = await tx.restorations.loadFacts(state);
          crashPoint("restore_loaded");
          const toSave = { ...identity, awaitedUntil: posting.deadline };
          const saved = await tx.restorations.save(state, decideRestoration(facts), toSave);
          return { jobIds: saved, isRepeat: false };
        },
      );
      crashPoint("restore_saved");
      await (isRepeat ? posting.awaitEarlier(jobIds) : posting.await(jobIds));
      crashPoint("restore_posted");
      const restored = await tenant.subscriptions.get(request.id);
      assert(restored, "what was restored is there");
      return { subscription: presentSubscription(restored.subscription, restored.plan) };
    });
  };
}
