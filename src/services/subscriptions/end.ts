/**
 * End: locks the subscription, bills what is due, decides the end, and saves it. If invoices must
 * be removed first, a workflow removes them one by one. The answer awaits the workflow, which
 * continues after the answer (END-4, END-10).
 */
import { strict as assert } from "node:assert";
import { crashPoint } from "../../crash-points.ts";
import type { BillingState } from "../../domain/model/billing-state.ts";
import { Refusal } from "../../domain/refusal.ts";
import { decideEnd, decideEnded, type EndRequest } from "../../domain/subscriptions/end.ts";
import {
  type EndSubscriptionRequest,
  EndSubscriptionRequestSchema,
  type SubscriptionService,
} from "../../gen/proto/billing/v1/subscriptions_pb.ts";
import { endWhens, wordOf } from "../../present/enums.ts";
import { presentSubscription } from "../../present/objects.ts";
import { newId } from "../../store/database/ids.ts";
import type {
  EarlierTermination,
  TerminationToSave,
} from "../../store/subscriptions/terminations.ts";
import type { Tenant } from "../../store/tenant.ts";
import type { MethodImplementation } from "../../transport/rpc/implementation.ts";
import { type Deps, untilKnown } from "../deps.ts";
import { identify, isSameRequest, requireSameRequest } from "../request-identity.ts";

type Method = MethodImplementation<typeof SubscriptionService.method.endSubscription>;

const conflict = "This Idempotency-Key ended a subscription by another request.";

/** The `Retry-After` of a request in progress (IDEMPOTENCY-4). */
const retryAfterSeconds = 2;

/**
 * What a try has saved or found. `ended`: the subscription is over or set to end, and
 * `hasDocuments` says whether a document must be posted. `removing`: invoices are removed first.
 * `refused`: the ledger refused an earlier try, and its caller got no answer.
 */
type Outcome =
  | { readonly kind: "ended"; readonly hasDocuments: boolean }
  | { readonly kind: "removing"; readonly subscriptionId: string; readonly customerId: string }
  | { readonly kind: "refused"; readonly terminationId: string; readonly message: string };

/**
 * Returns the method. Refuses as `decideEnd` does, `subscription_not_found`, and `invalid_state`
 * with the reason if the ledger refuses to remove an invoice. Refuses `ledger_unavailable` if it
 * has not decided in time, and `request_in_progress` for a repeat meanwhile. Refuses
 * `idempotency_conflict` if an earlier request with this key was another end (END-10).
 */
export function endSubscription(deps: Deps): Method {
  return async (request, call) => {
    const tenant = deps.tenant(call);
    const posting = deps.posting(call);
    const wanted = readEnd(request);
    // The same ids in each try, so that a try after a lost answer finds its own end.
    const termination: TerminationToSave = {
      ...identify("termination", call, EndSubscriptionRequestSchema, request),
      id: newId(),
      when: wanted.when,
      awaitedUntil: posting.deadline,
    };
    return untilKnown(posting.deadline, async () => {
      const outcome = await tenant.onCurrentSubscription<Outcome>(
        request.id,
        async (tx, state) => {
          const earlier = await tx.terminations.findByRequest(termination);
          const found = earlier === null ? null : outcomeOf(earlier, termination, state);
          if (found !== null) return found;
          const facts = await tx.terminations.loadFacts(state);
          crashPoint("end_loaded");
          const decision = decideEnd(facts, wanted);
          if (decision.kind === "unchanged") return { kind: "ended", hasDocuments: false };
          if (decision.removals.length > 0) {
            await tx.terminations.saveRemovals(state, decision, termination);
            return removing(state);
          }
          const ended = decideEnded(state, wanted.when, facts.next);
          const hasDocuments = await tx.terminations.saveEnded(state, ended, termination);
          return { kind: "ended", hasDocuments };
        },
        { closing: wanted.when === "now" },
      );
      if (outcome.kind === "refused") throw await report(tenant, outcome);
      crashPoint("end_saved");
      if (outcome.kind === "removing") {
        const { subscriptionId, customerId } = outcome;
        const [job] = await posting.await([termination.id], () =>
          posting.startTermination({ subscriptionId, terminationId: termination.id, customerId }),
        );
        if (job?.state === "refused")
          throw await report(tenant, { terminationId: termination.id, message: job.message ?? "" });
        if (job?.state !== "done") throw notInTime(call.idempotencyKey !== null);
      } else if (outcome.hasDocuments) await posting.wake();
      crashPoint("end_posted");
      const ended = await tenant.subscriptions.get(request.id);
      assert(ended, "what was ended is there");
      return { subscription: presentSubscription(ended.subscription, ended.plan) };
    });
  };
}

function removing({ subscription }: BillingState): Outcome {
  return { kind: "removing", subscriptionId: subscription.id, customerId: subscription.customerId };
}

/**
 * Returns what an earlier try with this key came to. Null if it failed and this is another request:
 * its key is free (IDEMPOTENCY-5). This very request, whose answer was lost, continues as it began.
 */
function outcomeOf(
  earlier: EarlierTermination,
  termination: TerminationToSave,
  state: BillingState,
): Outcome | null {
  const isOwn = earlier.id === termination.id;
  const isRefused = earlier.state === "refused";
  if (isRefused && !isSameRequest(earlier.requestHash, termination)) return null;
  requireSameRequest(earlier.requestHash, termination, conflict);
  if (earlier.ended) return { kind: "ended", hasDocuments: isOwn };
  if (isRefused)
    return { kind: "refused", terminationId: earlier.id, message: earlier.message ?? "" };
  if (isOwn) return removing(state);
  const message = "The end that was begun with this Idempotency-Key is still running.";
  throw new Refusal("request_in_progress", message, null, retryAfterSeconds);
}

/**
 * Returns the ledger's refusal, and marks it as reported. From then on a repeat of the request is a
 * new end (IDEMPOTENCY-5).
 */
async function report(
  tenant: Tenant,
  { terminationId, message }: { readonly terminationId: string; readonly message: string },
): Promise<Refusal> {
  await tenant.terminations.markReported(terminationId);
  return new Refusal("invalid_state", message);
}

/** A request without a key cannot be repeated: it would be another end. */
function notInTime(hasKey: boolean): Refusal {
  const advice = hasKey
    ? "ask again with the same Idempotency-Key, or read the subscription"
    : "read the subscription";
  const message = "The ledger has not removed the subscription's invoices in time.";
  return new Refusal("ledger_unavailable", `${message} The end goes on by itself: ${advice}.`);
}

/** Reads a valid message: the request as the domain decides it. */
export function readEnd(request: EndSubscriptionRequest): EndRequest {
  const when = wordOf(endWhens, request.when);
  assert(when !== null, "when is validated");
  return {
    when,
    deleteUnsentInvoices: request.deleteUnsentInvoices ?? false,
    voidApprovedInvoices: request.voidApprovedInvoices ?? false,
  };
}
