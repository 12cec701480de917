/**
 * Change units. One transaction, under the subscription's lock, performs what is due, decides the
 * change, and writes it with its documents. The answer then awaits the ledger, but never depends on
 * it (STATE-2, POSTING-4).
 */
import { strict as assert } from "node:assert";
import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { crashPoint } from "../../crash-points.ts";
import { civilDate } from "../../domain/calendar/civil-date.ts";
import { Refusal, type RefusalCode } from "../../domain/refusal.ts";
import {
  decideUnitsChange,
  type UnitsChangeRequest,
} from "../../domain/subscriptions/change-units.ts";
import {
  type ChangeUnitsRequest,
  ChangeUnitsRequestSchema,
  type SubscriptionService,
} from "../../gen/proto/billing/v1/subscriptions_pb.ts";
import { derivedId, isId, newId } from "../../store/database/ids.ts";
import type {
  AppliedUnitsChange,
  UnitsChangeOrder,
  UnitsChangeOutcome,
  UnitsJobIds,
} from "../../store/subscriptions/change-units.ts";
import type { Scope } from "../../store/tenant.ts";
import type { Call } from "../../transport/rpc/caller.ts";
import type { MethodImplementation } from "../../transport/rpc/implementation.ts";
import { changeDocuments, prorationBehaviours, wordOf } from "../enums.ts";
import { untilKnown } from "../lost-answers.ts";
import type { ServiceParts } from "../parts.ts";
import { presentInvoice, presentSubscription } from "../present.ts";
import { answerBudgetMs, awaitWork } from "../settlement.ts";

type Method = MethodImplementation<typeof SubscriptionService.method.changeUnits>;

/** The refusals because of an invoice that the change would amend. */
const amendmentRefusals: readonly RefusalCode[] = [
  "renewal_invoice_not_amendable",
  "first_invoice_not_amendable",
];

/**
 * Returns the method. Refuses as `decideUnitsChange` does, `subscription_not_found`, and
 * `idempotency_conflict` if an earlier request with this key made another change.
 */
export function changeUnits(parts: ServiceParts): Method {
  return async (request, call) => {
    const untilMs = Date.now() + answerBudgetMs;
    const { idempotencyKey, caller } = call;
    // Without a key the id belongs to this request alone. After a lost answer the request finds its
    // own change by it.
    const requestId =
      idempotencyKey === null ? newId() : derivedId("unit_change", caller.apiKeyId, idempotencyKey);
    const operations: UnitsJobIds = { invoice: newId(), amendment: newId(), creditNote: newId() };
    return untilKnown(untilMs, () =>
      change(parts, request, call, { requestId, operations }, untilMs),
    );
  };
}

/** The ids of a request: the same each time it looks for its outcome. */
type RequestIds = Pick<UnitsChangeOrder, "requestId" | "operations">;

async function change(
  parts: ServiceParts,
  request: ChangeUnitsRequest,
  call: Call,
  ids: RequestIds,
  untilMs: number,
): ReturnType<Method> {
  const scope = parts.store.organisation(call.caller.organisationId);
  const { operations } = ids;
  // Watched before the jobs are written, so that no outcome is missed.
  const watch = parts.settlement.outcomes.watch(Object.values(operations));
  try {
    const { change, isRepeat } = await applyOnceSent(parts, scope, request, untilMs, () =>
      make(parts, scope, request, call, ids, new Date(untilMs)),
    );
    crashPoint("units_saved");
    // Jobs that this very request wrote before its answer was lost must still be started.
    const isOwn = change.jobIds.some((id) => Object.values(operations).includes(id));
    if (isRepeat && !isOwn) await awaitFurther(parts, scope, change, [], untilMs);
    else if (change.jobIds.length > 0) {
      await awaitWork(
        () => begin(parts, scope, change, operations),
        scope.organisationId,
        watch,
        untilMs,
      );
      await awaitFurther(parts, scope, change, change.jobIds, untilMs);
    }
    crashPoint("units_posted");
    return await present(scope, change.id);
  } finally {
    watch.stop();
  }
}

type Made = Pick<UnitsChangeOutcome & { readonly kind: "made" }, "change" | "isRepeat">;

/**
 * Applies the change. If it is refused because an invoice cannot be amended while such an invoice
 * is being posted, it awaits that invoice and decides once more. The same request may have issued
 * that invoice.
 */
async function applyOnceSent(
  parts: ServiceParts,
  scope: Scope,
  { id }: ChangeUnitsRequest,
  untilMs: number,
  change: () => Promise<Made>,
): Promise<Made> {
  try {
    return await change();
  } catch (error) {
    if (!(error instanceof Refusal && amendmentRefusals.includes(error.code))) throw error;
    // An invoice may have been posted after the first decision. The second decision then sees it in
    // the ledger.
    await settle(parts, scope, await scope.subscriptions.findUnsent(id), untilMs);
    return change();
  }
}

async function make(
  { settlement }: ServiceParts,
  scope: Scope,
  request: ChangeUnitsRequest,
  { caller }: Call,
  ids: RequestIds,
  awaitedUntil: Date,
): Promise<Made> {
  const unknown = new Refusal("subscription_not_found", "There is no subscription with this id.");
  if (!isId(request.id)) throw unknown;
  const asked = read(request);
  const outcome = await scope.subscriptions.changeUnits(
    {
      ...ids,
      subscriptionId: request.id,
      requestHash: createHash("sha256")
        .update(toBinary(ChangeUnitsRequestSchema, request))
        .digest(),
      now: caller.now,
      // Not awaited: no answer depends on it.
      onIssued: () => void settlement.wake(scope.organisationId),
      awaitedUntil,
    },
    (state) => {
      crashPoint("units_loaded");
      return decideUnitsChange(state, asked);
    },
  );
  switch (outcome.kind) {
    case "unknown":
      throw unknown;
    case "conflict":
      throw new Refusal(
        "idempotency_conflict",
        "This Idempotency-Key changed units by another request.",
      );
    case "made":
      return outcome;
  }
}

/** Starts in Temporal what the change left to do. */
async function begin(
  { settlement }: ServiceParts,
  { organisationId }: Scope,
  change: AppliedUnitsChange,
  operations: UnitsJobIds,
): Promise<boolean> {
  const { jobIds, subscriptionId } = change;
  const amendedId = change.renewalInvoiceId ?? change.invoiceId;
  const begun: Promise<boolean>[] = [];
  if (jobIds.includes(operations.amendment) && amendedId !== null) {
    const jobId = operations.amendment;
    begun.push(
      settlement.startAmendment({ organisationId, subscriptionId, invoiceId: amendedId, jobId }),
    );
  }
  if (jobIds.some((id) => id !== operations.amendment)) begun.push(settlement.wake(organisationId));
  return (await Promise.all(begun)).every((isReached) => isReached);
}

/**
 * Awaits what followed from the change: lines that could no longer join a draft are on their own
 * invoice. For an earlier attempt it checks every job; usually all are decided long since.
 */
async function awaitFurther(
  parts: ServiceParts,
  scope: Scope,
  { id }: AppliedUnitsChange,
  awaited: readonly string[],
  untilMs: number,
): Promise<void> {
  const { jobIds } = await scope.subscriptions.getUnitsChange(id);
  const further = jobIds.filter((jobId) => !awaited.includes(jobId));
  await settle(parts, scope, further, untilMs);
}

/** Awaits jobs that another request or workflow started. */
async function settle(
  { settlement }: ServiceParts,
  { organisationId }: Scope,
  jobIds: readonly string[],
  untilMs: number,
): Promise<void> {
  if (jobIds.length === 0) return;
  const look = await settlement.outcomes.watch(jobIds).settled(organisationId, Date.now());
  if (look.some(({ state }) => state === "waiting")) {
    const watch = settlement.outcomes.watch(jobIds);
    await awaitWork(() => settlement.wake(organisationId), organisationId, watch, untilMs);
  }
}

async function present(scope: Scope, id: string): ReturnType<Method> {
  const change = await scope.subscriptions.getUnitsChange(id);
  const find = async (invoiceId: string | null) =>
    invoiceId === null ? null : scope.invoices.get(invoiceId);
  const [changed, invoice, renewalInvoice] = await Promise.all([
    scope.subscriptions.get(change.subscriptionId),
    find(change.invoiceId),
    find(change.renewalInvoiceId),
  ]);
  assert(changed, "what was changed is there");
  return {
    subscription: presentSubscription(changed.subscription, changed.plan),
    change: {
      units: change.units,
      ...(invoice === null ? {} : { invoice: presentInvoice(invoice) }),
      ...(renewalInvoice === null ? {} : { renewalInvoice: presentInvoice(renewalInvoice) }),
      deferredToRenewal: change.deferred,
      ...(change.creditNoteId === null ? {} : { creditNote: change.creditNoteId }),
    },
  };
}

function read(request: ChangeUnitsRequest): UnitsChangeRequest {
  assert(request.units !== undefined, "units are validated");
  return {
    units: request.units,
    prorate: request.prorate ?? false,
    behaviour: wordOf(prorationBehaviours, request.prorationBehaviour),
    effectiveDate: request.effectiveDate === undefined ? null : civilDate(request.effectiveDate),
    document: wordOf(changeDocuments, request.document),
  };
}
