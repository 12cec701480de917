/**
 * Create subscription: loads the facts, decides, saves everything in one statement, and awaits the
 * ledger. The answer never depends on the ledger (CREATE-6, POSTING-1).
 */
import { strict as assert } from "node:assert";
import { crashPoint } from "../../crash-points.ts";
import { civilDate } from "../../domain/calendar/civil-date.ts";
import { laterOfClock } from "../../domain/calendar/test-clock.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import { Refusal } from "../../domain/refusal.ts";
import { type CreationRequest, decideCreation } from "../../domain/subscriptions/create.ts";
import {
  type CreateSubscriptionRequest,
  CreateSubscriptionRequestSchema,
  type SubscriptionService,
} from "../../gen/proto/billing/v1/subscriptions_pb.ts";
import { presentInvoice, presentSubscription } from "../../present/objects.ts";
import { newId } from "../../store/database/ids.ts";
import type { InvoiceIds } from "../../store/documents/unsent-invoices.ts";
import type { Tenant } from "../../store/tenant.ts";
import type { MethodImplementation } from "../../transport/rpc/implementation.ts";
import { type Deps, untilKnown } from "../deps.ts";
import { identify, requireSameRequest } from "../request-identity.ts";

type Method = MethodImplementation<typeof SubscriptionService.method.createSubscription>;

const conflict = "This Idempotency-Key created a subscription by another request.";

/**
 * The most attempts of a creation whose facts changed meanwhile. Two are already more than ever
 * happen.
 */
const tries = 3;

/**
 * Returns the method. Refuses as `decideCreation` does, and `idempotency_conflict` for a key reused
 * after its 24 hours (IDEMPOTENCY-7).
 */
export function createSubscription(deps: Deps): Method {
  return async (request, call) => {
    // The gate has checked that there is a key (IDEMPOTENCY-1, IDEMPOTENCY-7).
    assert(call.idempotencyKey !== null, "the operation requires an Idempotency-Key");
    const tenant = deps.tenant(call);
    const posting = deps.posting(call);
    const identity = identify("subscription", call, CreateSubscriptionRequestSchema, request);
    const { requestId: id } = identity;
    const wanted = readCreation(request);
    const first: InvoiceIds = { invoiceId: newId(), jobId: newId() };

    /** Returns the ids of the first invoice, an earlier try's too. Null in Setup Mode. */
    const decideAndSave = async (): Promise<InvoiceIds | null> => {
      let isTaken = false;
      for (let attempt = 0; attempt < tries; attempt += 1) {
        const loaded = await tenant.subscriptions.loadCreation({
          subscriptionId: id,
          customerCode: wanted.customerCode,
          planCode: wanted.planCode,
          chargeCodes: wanted.charges.map(({ chargeCode }) => chargeCode),
        });
        crashPoint("creation_loaded");
        // An operator's key may have created another organisation's subscription.
        if (loaded.requestHash !== null || isTaken) {
          requireSameRequest(loaded.requestHash, identity, conflict);
          return tenant.invoices.findFirst(id);
        }
        const now = laterOfClock(call.caller.now, loaded.testClock);
        const decision = decideCreation({ ...loaded.facts, now }, wanted);
        const creation = {
          ...identity,
          subscriptionId: id,
          setupMode: loaded.facts.organisation.setupMode,
          catalogueVersion: loaded.catalogueVersion,
          decision,
          first,
          awaitedUntil: posting.deadline,
        };
        const saved = await tenant.subscriptions.saveCreation(creation);
        if (saved === "saved") return decision.invoice === null ? null : first;
        isTaken = saved === "exists";
      }
      throw changesTooOften();
    };

    return untilKnown(posting.deadline, async () => {
      const invoice = await decideAndSave();
      crashPoint("creation_saved");
      if (invoice === null) return present(tenant, id, null);
      if (invoice === first) await posting.await([first.jobId]);
      else await posting.awaitEarlier([invoice.jobId]);
      crashPoint("creation_posted");
      return present(tenant, id, invoice.invoiceId);
    });
  };
}

function changesTooOften(): Refusal {
  const message = "The organisation's settings change too often; try again.";
  return new Refusal("temporarily_unavailable", message, null, 1);
}

async function present(tenant: Tenant, id: string, invoiceId: string | null): ReturnType<Method> {
  const [created, invoice] = await Promise.all([
    tenant.subscriptions.get(id),
    invoiceId === null ? null : tenant.invoices.get(invoiceId),
  ]);
  assert(created, "what was written is there");
  return {
    subscription: presentSubscription(created.subscription, created.plan),
    ...(invoice === null ? {} : { invoice: presentInvoice(invoice) }),
  };
}

/** Reads a valid message: the request as the domain decides it. */
export function readCreation(request: CreateSubscriptionRequest): CreationRequest {
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
