/**
 * Restore. One transaction, under the subscription's lock, performs what is due, decides the
 * restoration, and writes it with every reissued document. The answer then awaits the ledger, but
 * never depends on it (RESTORE-1, POSTING-4).
 */
import { strict as assert } from "node:assert";
import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { crashPoint } from "../../crash-points.ts";
import { Refusal } from "../../domain/refusal.ts";
import { decideRestoration } from "../../domain/subscriptions/restore.ts";
import {
  type RestoreSubscriptionRequest,
  RestoreSubscriptionRequestSchema,
  type SubscriptionService,
} from "../../gen/proto/billing/v1/subscriptions_pb.ts";
import { derivedId, isId, newId } from "../../store/database/ids.ts";
import type { Watch } from "../../store/ledger-jobs/job-notifications.ts";
import type { RestorationOutcome } from "../../store/subscriptions/restore.ts";
import type { Scope } from "../../store/tenant.ts";
import type { Call } from "../../transport/rpc/caller.ts";
import type { MethodImplementation } from "../../transport/rpc/implementation.ts";
import { untilKnown } from "../lost-answers.ts";
import type { ServiceParts } from "../parts.ts";
import { presentSubscription } from "../present.ts";
import { answerBudgetMs, awaitPosting } from "../settlement.ts";

type Method = MethodImplementation<typeof SubscriptionService.method.restoreSubscription>;

/**
 * Returns the method. Refuses as `decideRestoration` does, `subscription_not_found`, and
 * `idempotency_conflict` if an earlier request with this key restored another subscription.
 */
export function restoreSubscription(parts: ServiceParts): Method {
  return async (request, call) => {
    const untilMs = Date.now() + answerBudgetMs;
    const { idempotencyKey, caller } = call;
    // Without a key the id belongs to this request alone. After a lost answer the request finds its
    // own restoration by it.
    const requestId =
      idempotencyKey === null ? newId() : derivedId("restoration", caller.apiKeyId, idempotencyKey);
    return untilKnown(untilMs, () => restore(parts, request, call, requestId, untilMs));
  };
}

async function restore(
  parts: ServiceParts,
  request: RestoreSubscriptionRequest,
  call: Call,
  requestId: string,
  untilMs: number,
): ReturnType<Method> {
  const { settlement } = parts;
  const scope = parts.store.organisation(call.caller.organisationId);
  let watch = null as Watch | null;
  try {
    const made = await make(parts, scope, request, call, requestId, new Date(untilMs), (jobIds) => {
      // The transaction may be repeated, with other jobs.
      watch?.stop();
      watch = settlement.outcomes.watch(jobIds);
    });
    crashPoint("restore_saved");
    if (made.jobIds.length > 0) {
      watch ??= await unsettled(parts, scope, made.jobIds);
      if (watch !== null) await awaitPosting(settlement, scope.organisationId, watch, untilMs);
    }
    crashPoint("restore_posted");
    const restored = await scope.subscriptions.get(made.subscriptionId);
    assert(restored, "what was restored is there");
    return { subscription: presentSubscription(restored.subscription, restored.plan) };
  } finally {
    watch?.stop();
  }
}

async function make(
  { settlement }: ServiceParts,
  scope: Scope,
  request: RestoreSubscriptionRequest,
  { caller }: Call,
  requestId: string,
  awaitedUntil: Date,
  watch: (jobIds: readonly string[]) => void,
): Promise<RestorationOutcome & { readonly kind: "made" }> {
  const unknown = new Refusal("subscription_not_found", "There is no subscription with this id.");
  if (!isId(request.id)) throw unknown;
  const outcome = await scope.subscriptions.restore(
    {
      subscriptionId: request.id,
      requestId,
      requestHash: createHash("sha256")
        .update(toBinary(RestoreSubscriptionRequestSchema, request))
        .digest(),
      now: caller.now,
      onIssued: () => void settlement.wake(scope.organisationId),
      awaitedUntil,
      watch,
    },
    (facts) => {
      crashPoint("restore_loaded");
      return decideRestoration(facts);
    },
  );
  switch (outcome.kind) {
    case "unknown":
      throw unknown;
    case "conflict":
      throw new Refusal(
        "idempotency_conflict",
        "This Idempotency-Key restored a subscription by another request.",
      );
    case "made":
      return outcome;
  }
}

/**
 * Returns a watch of the jobs of an earlier attempt that are undecided; null if all are decided.
 * Usually they are decided long since, which the first check shows.
 */
async function unsettled(
  { settlement }: ServiceParts,
  { organisationId }: Scope,
  jobIds: readonly string[],
): Promise<Watch | null> {
  const look = await settlement.outcomes.watch(jobIds).settled(organisationId, Date.now());
  return look.some(({ state }) => state === "waiting") ? settlement.outcomes.watch(jobIds) : null;
}
