/**
 * End. One transaction, under the subscription's lock, performs what is due and decides the end. If
 * no invoice must be removed, it also writes the end. Otherwise a workflow removes them one by one;
 * the answer awaits it, and it continues after the answer (END-4, END-10).
 */
import { strict as assert } from "node:assert";
import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { crashPoint } from "../../crash-points.ts";
import { Refusal } from "../../domain/refusal.ts";
import { decideEnd, type EndRequest } from "../../domain/subscriptions/end.ts";
import {
  type EndSubscriptionRequest,
  EndSubscriptionRequestSchema,
  type SubscriptionService,
} from "../../gen/proto/billing/v1/subscriptions_pb.ts";
import { derivedId, isId, newId } from "../../store/database/ids.ts";
import type { JobOutcome } from "../../store/ledger-jobs/job-notifications.ts";
import type { TerminationOutcome, TerminationRequest } from "../../store/subscriptions/end.ts";
import type { Scope } from "../../store/tenant.ts";
import type { Call } from "../../transport/rpc/caller.ts";
import type { MethodImplementation } from "../../transport/rpc/implementation.ts";
import { endWhens, wordOf } from "../enums.ts";
import { untilKnown } from "../lost-answers.ts";
import type { ServiceParts } from "../parts.ts";
import { presentSubscription } from "../present.ts";
import { answerBudgetMs, awaitWork } from "../settlement.ts";

type Method = MethodImplementation<typeof SubscriptionService.method.endSubscription>;

/** The `Retry-After` of a request in progress (IDEMPOTENCY-4). */
const retryAfterSeconds = 2;

/**
 * Returns the method. Refuses as `decideEnd` does, `subscription_not_found`, and `invalid_state`
 * with the reason if the ledger refuses to remove an invoice. Refuses `ledger_unavailable` if it
 * has not decided in time, and `request_in_progress` for a repeat meanwhile. Refuses
 * `idempotency_conflict` if an earlier request with this key was another end (END-10).
 */
export function endSubscription(parts: ServiceParts): Method {
  return async (request, call) => {
    const untilMs = Date.now() + answerBudgetMs;
    const { idempotencyKey, caller } = call;
    // Without a key the id belongs to this request alone. After a lost answer the request finds its
    // own end by it.
    const requestId =
      idempotencyKey === null ? newId() : derivedId("ending", caller.apiKeyId, idempotencyKey);
    const ids = { terminationId: newId(), requestId };
    return untilKnown(untilMs, () => end(parts, request, call, ids, untilMs));
  };
}

/** The ids of a request: the same each time it looks for its outcome. */
type RequestIds = Pick<TerminationRequest, "terminationId" | "requestId">;

async function end(
  parts: ServiceParts,
  request: EndSubscriptionRequest,
  call: Call,
  ids: RequestIds,
  untilMs: number,
): ReturnType<Method> {
  const scope = parts.store.organisation(call.caller.organisationId);
  const { terminationId } = ids;
  // Watched before it is written, so that no outcome is missed.
  const watch = parts.settlement.outcomes.watch([terminationId]);
  try {
    const made = await make(parts, scope, request, call, ids, new Date(untilMs));
    crashPoint("end_saved");
    if (made.kind === "begun") {
      const input = { organisationId: scope.organisationId, subscriptionId: request.id, ...made };
      const begin = () => parts.settlement.startTermination(input);
      const [outcome] = await awaitWork(begin, scope.organisationId, watch, untilMs);
      await judge(scope, terminationId, outcome, call.idempotencyKey !== null);
    } else if (made.hasDocuments) await parts.settlement.wake(scope.organisationId);
    crashPoint("end_posted");
    const ended = await scope.subscriptions.get(request.id);
    assert(ended, "what was ended is there");
    return { subscription: presentSubscription(ended.subscription, ended.plan) };
  } finally {
    watch.stop();
  }
}

/** Ends the subscription, or starts its end. Every other outcome is a refusal. */
async function make(
  { settlement }: ServiceParts,
  scope: Scope,
  request: EndSubscriptionRequest,
  { caller }: Call,
  ids: RequestIds,
  awaitedUntil: Date,
): Promise<TerminationOutcome & { readonly kind: "ended" | "unchanged" | "begun" }> {
  const unknown = new Refusal("subscription_not_found", "There is no subscription with this id.");
  if (!isId(request.id)) throw unknown;
  const asked = read(request);
  const outcome = await scope.subscriptions.end(
    {
      ...ids,
      subscriptionId: request.id,
      when: asked.when,
      requestHash: createHash("sha256")
        .update(toBinary(EndSubscriptionRequestSchema, request))
        .digest(),
      now: caller.now,
      // Not awaited: no answer depends on it.
      onIssued: () => void settlement.wake(scope.organisationId),
      awaitedUntil,
    },
    (facts) => {
      crashPoint("end_loaded");
      return decideEnd(facts, asked);
    },
  );
  switch (outcome.kind) {
    case "unknown":
      throw unknown;
    case "conflict":
      throw new Refusal(
        "idempotency_conflict",
        "This Idempotency-Key ended a subscription by another request.",
      );
    case "running": {
      const message = "The end that was begun with this Idempotency-Key is still running.";
      throw new Refusal("request_in_progress", message, null, retryAfterSeconds);
    }
    case "refused":
      throw await tell(scope, outcome.terminationId, outcome.message);
    default:
      return outcome;
  }
}

/** A request without a key cannot be repeated: it would be another end. */
async function judge(
  scope: Scope,
  terminationId: string,
  outcome: JobOutcome | undefined,
  hasKey: boolean,
): Promise<void> {
  if (outcome?.state === "done") return;
  if (outcome?.state === "refused") throw await tell(scope, terminationId, outcome.message ?? "");
  const advice = hasKey
    ? "ask again with the same Idempotency-Key, or look the subscription up"
    : "look the subscription up";
  const message = "The ledger has not removed the subscription's invoices in time.";
  throw new Refusal("ledger_unavailable", `${message} The end goes on by itself: ${advice}.`);
}

/** Returns the ledger's refusal and marks it as reported: a repeat of the request is a new end. */
async function tell(scope: Scope, terminationId: string, message: string): Promise<Refusal> {
  await scope.subscriptions.reportTermination(terminationId);
  return new Refusal("invalid_state", message);
}

function read(request: EndSubscriptionRequest): EndRequest {
  const when = wordOf(endWhens, request.when);
  assert(when !== null, "when is validated");
  return {
    when,
    deleteUnsentInvoices: request.deleteUnsentInvoices ?? false,
    voidApprovedInvoices: request.voidApprovedInvoices ?? false,
  };
}
