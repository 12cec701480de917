/**
 * Create subscription. One statement writes the subscription, its first period, its invoice under a
 * reserved number, and the job that posts it. The answer then awaits the ledger, but never depends
 * on it (CREATE-6, POSTING-1).
 */
import { strict as assert } from "node:assert";
import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { crashPoint } from "../../crash-points.ts";
import { civilDate } from "../../domain/calendar/civil-date.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import { Refusal } from "../../domain/refusal.ts";
import { type CreationRequest, decideCreation } from "../../domain/subscriptions/create.ts";
import {
  type CreateSubscriptionRequest,
  CreateSubscriptionRequestSchema,
  type SubscriptionService,
} from "../../gen/proto/billing/v1/subscriptions_pb.ts";
import { derivedId, newId } from "../../store/database/ids.ts";
import type { InvoiceIds } from "../../store/subscriptions/create.ts";
import type { Scope } from "../../store/tenant.ts";
import type { Call } from "../../transport/rpc/caller.ts";
import type { MethodImplementation } from "../../transport/rpc/implementation.ts";
import { untilKnown } from "../lost-answers.ts";
import type { ServiceParts } from "../parts.ts";
import { presentInvoice, presentSubscription } from "../present.ts";
import { answerBudgetMs, awaitPosting } from "../settlement.ts";

type Method = MethodImplementation<typeof SubscriptionService.method.createSubscription>;

/**
 * The most attempts of a creation whose facts changed meanwhile. Two are already more than ever
 * happen.
 */
const tries = 3;

/**
 * Returns the method. Refuses as `decideCreation` does, and `idempotency_conflict` for a key reused
 * after its 24 hours (IDEMPOTENCY-7).
 */
export function createSubscription(parts: ServiceParts): Method {
  return async (request, call) => {
    const untilMs = Date.now() + answerBudgetMs;
    const ids: InvoiceIds = { invoiceId: newId(), jobId: newId() };
    return untilKnown(untilMs, () => create(parts, request, call, ids, untilMs));
  };
}

async function create(
  parts: ServiceParts,
  request: CreateSubscriptionRequest,
  call: Call,
  ids: InvoiceIds,
  untilMs: number,
): ReturnType<Method> {
  const scope = parts.store.organisation(call.caller.organisationId);
  const id = identityOf(call);
  // Watched before it is written, so that no outcome is missed.
  const watch = parts.settlement.outcomes.watch([ids.jobId]);
  try {
    const written = await write(scope, id, request, call, ids, new Date(untilMs));
    crashPoint("creation_saved");
    if (written === null) return await present(scope, id, null);
    if (written === ids) await awaitPosting(parts.settlement, scope.organisationId, watch, untilMs);
    else await postEarlier(parts, scope.organisationId, written, untilMs);
    crashPoint("creation_posted");
    return await present(scope, id, written.invoiceId);
  } finally {
    watch.stop();
  }
}

/**
 * Awaits the job of an earlier attempt. Usually it is decided long since, which the first check
 * shows.
 */
async function postEarlier(
  { settlement }: ServiceParts,
  organisationId: string,
  { jobId }: InvoiceIds,
  untilMs: number,
): Promise<void> {
  const [outcome] = await settlement.outcomes.watch([jobId]).settled(organisationId, Date.now());
  if (outcome?.state !== "waiting") return;
  await awaitPosting(settlement, organisationId, settlement.outcomes.watch([jobId]), untilMs);
}

async function present(scope: Scope, id: string, invoiceId: string | null): ReturnType<Method> {
  const [created, invoice] = await Promise.all([
    scope.subscriptions.get(id),
    invoiceId === null ? null : scope.invoices.get(invoiceId),
  ]);
  assert(created, "what was written is there");
  return {
    subscription: presentSubscription(created.subscription, created.plan),
    ...(invoice === null ? {} : { invoice: presentInvoice(invoice) }),
  };
}

/**
 * Returns the subscription's id. The gate has checked that there is a key (IDEMPOTENCY-1,
 * IDEMPOTENCY-7).
 */
function identityOf({ caller, idempotencyKey }: Call): string {
  assert(idempotencyKey !== null, "the operation requires an Idempotency-Key");
  return derivedId("subscription", caller.apiKeyId, idempotencyKey);
}

/**
 * Writes the subscription, unless an earlier attempt of the same request has done so. Returns the
 * ids of its first invoice: the new ones, the earlier ones, or null in Setup Mode.
 */
async function write(
  scope: Scope,
  subscriptionId: string,
  request: CreateSubscriptionRequest,
  call: Call,
  first: InvoiceIds,
  awaitedUntil: Date,
): Promise<InvoiceIds | null> {
  const requestHash = createHash("sha256")
    .update(toBinary(CreateSubscriptionRequestSchema, request))
    .digest();
  const asked = read(request);
  const query = {
    subscriptionId,
    customerCode: asked.customerCode,
    planCode: asked.planCode,
    chargeCodes: asked.charges.map(({ chargeCode }) => chargeCode),
  };
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const { facts, madeByRequest, catalogueVersion } =
      await scope.subscriptions.loadCreation(query);
    crashPoint("creation_loaded");
    if (madeByRequest !== null) {
      if (madeByRequest.equals(requestHash)) return scope.invoices.findFirst(subscriptionId);
      throw new Refusal(
        "idempotency_conflict",
        "This Idempotency-Key created a subscription by another request.",
      );
    }
    const decision = decideCreation({ ...facts, now: call.caller.now }, asked);
    const { setupMode } = facts.organisation;
    const saved = await scope.subscriptions.saveCreation({
      subscriptionId,
      requestHash,
      setupMode,
      catalogueVersion,
      decision,
      first,
      awaitedUntil,
    });
    if (saved === "saved") return decision.invoice === null ? null : first;
  }
  throw new Refusal(
    "temporarily_unavailable",
    "The organisation's settings change too often; try again.",
    null,
    1,
  );
}

function read(request: CreateSubscriptionRequest): CreationRequest {
  return {
    customerCode: request.customerCode,
    planCode: request.planCode,
    units: request.units ?? null,
    discountPercent:
      request.discountPercent === undefined ? null : parseDecimal(request.discountPercent),
    startDate: request.startDate === undefined ? null : civilDate(request.startDate),
    timezone: request.timezone ?? null,
    billingDay: request.billingDay ?? null,
    price: request.price === undefined ? null : parseDecimal(request.price),
    minimumUnits: request.minimumUnits ?? null,
    endAfterCycles: request.endAfterCycles ?? null,
    label: request.label ?? "",
    invoiceReference: request.invoiceReference ?? "",
    charges: request.charges.map(({ chargeCode, quantity, price }) => ({
      chargeCode,
      quantity: quantity ?? 1,
      price: price === undefined ? null : parseDecimal(price),
    })),
  };
}
