/**
 * Change units: locks the subscription, bills what is due, decides the change, saves it with its
 * documents, and awaits the ledger. The answer never depends on the ledger (STATE-2, POSTING-4).
 */
import { strict as assert } from "node:assert";
import { crashPoint } from "../../crash-points.ts";
import { civilDate } from "../../domain/calendar/civil-date.ts";
import {
  decideUnitsChange,
  type UnitsChangeRequest,
} from "../../domain/subscriptions/change-units.ts";
import { isUnamendable } from "../../domain/subscriptions/change-units-rules.ts";
import {
  type ChangeUnitsRequest,
  ChangeUnitsRequestSchema,
  type SubscriptionService,
} from "../../gen/proto/billing/v1/subscriptions_pb.ts";
import { changeDocuments, prorationBehaviours, wordOf } from "../../present/enums.ts";
import { presentInvoice, presentSubscription } from "../../present/objects.ts";
import { newId } from "../../store/database/ids.ts";
import type { UnitChange } from "../../store/subscriptions/unit-changes.ts";
import type { Tenant } from "../../store/tenant.ts";
import type { MethodImplementation } from "../../transport/rpc/implementation.ts";
import { type Deps, type Posting, untilKnown } from "../deps.ts";
import { identify, requireSameRequest } from "../request-identity.ts";

type Method = MethodImplementation<typeof SubscriptionService.method.changeUnits>;

const conflict = "This Idempotency-Key changed units by another request.";

/**
 * Returns the method. Refuses as `decideUnitsChange` does, `subscription_not_found`, and
 * `idempotency_conflict` if an earlier request with this key made another change.
 */
export function changeUnits(deps: Deps): Method {
  return async (request, call) => {
    const tenant = deps.tenant(call);
    const posting = deps.posting(call);
    // The same ids in each try, so that a try after a lost answer finds its own change.
    const identity = identify("unit_change", call, ChangeUnitsRequestSchema, request);
    const jobIds = { invoice: newId(), amendment: newId(), creditNote: newId() };
    const changeId = newId();

    const decideAndSave = () =>
      tenant.onCurrentSubscription(request.id, async (tx, state) => {
        const earlier = await tx.unitChanges.findByRequest(identity.requestId);
        if (earlier !== null) {
          requireSameRequest(earlier.requestHash, identity, conflict);
          return earlier;
        }
        crashPoint("units_loaded");
        const asked = readUnitsChange(request);
        const decision = decideUnitsChange(state, { ...asked, changeId });
        const { effectiveDate } = asked;
        const awaited = { jobIds, awaitedUntil: posting.deadline };
        const toSave = { ...identity, ...awaited, id: changeId, effectiveDate };
        return tx.unitChanges.save(state, decision, toSave);
      });

    return untilKnown(posting.deadline, async () => {
      const change = await decideAndSave().catch(async (error: unknown) => {
        if (!isUnamendable(error)) throw error;
        // The invoice may be on its way to the ledger, perhaps from this very request. Once it is
        // there, it can be amended.
        await posting.awaitEarlier(await tenant.subscriptions.findUnsent(request.id));
        return decideAndSave();
      });
      crashPoint("units_saved");
      // A try after a lost answer finds the jobs that this request has saved. It starts them too.
      const isOwn = change.jobIds.some((id) => Object.values(jobIds).includes(id));
      if (isOwn) {
        await posting.await(change.jobIds, () => start(posting, change, jobIds.amendment));
        // Lines that could no longer join a draft are billed on another invoice, with a new job.
        const { jobIds: all } = await tenant.unitChanges.get(change.id);
        await posting.awaitEarlier(all.filter((id) => !change.jobIds.includes(id)));
      } else await posting.awaitEarlier(change.jobIds);
      crashPoint("units_posted");
      return present(tenant, change.id);
    });
  };
}

/** Starts in Temporal what the change left to do. */
async function start(posting: Posting, change: UnitChange, amendment: string): Promise<boolean> {
  const { jobIds, subscriptionId } = change;
  const invoiceId = change.renewalInvoiceId ?? change.invoiceId;
  const starts: Promise<boolean>[] = [];
  if (jobIds.includes(amendment) && invoiceId !== null)
    starts.push(posting.startAmendment({ subscriptionId, invoiceId, jobId: amendment }));
  if (jobIds.some((id) => id !== amendment)) starts.push(posting.wake());
  return (await Promise.all(starts)).every((isReached) => isReached);
}

async function present(tenant: Tenant, id: string): ReturnType<Method> {
  const change = await tenant.unitChanges.get(id);
  const find = async (invoiceId: string | null) =>
    invoiceId === null ? null : tenant.invoices.get(invoiceId);
  const [changed, invoice, renewalInvoice] = await Promise.all([
    tenant.subscriptions.get(change.subscriptionId),
    find(change.invoiceId),
    find(change.renewalInvoiceId),
  ]);
  assert(changed, "what was changed is there");
  return {
    subscription: presentSubscription(changed.subscription, changed.plan),
    change: {
      units: change.toUnits,
      ...(invoice === null ? {} : { invoice: presentInvoice(invoice) }),
      ...(renewalInvoice === null ? {} : { renewalInvoice: presentInvoice(renewalInvoice) }),
      deferredToRenewal: change.deferred,
      ...(change.creditNoteId === null ? {} : { creditNote: change.creditNoteId }),
    },
  };
}

/** Reads a valid message: the request as the domain decides it. */
export function readUnitsChange(request: ChangeUnitsRequest): UnitsChangeRequest {
  assert(request.units !== undefined, "units are validated");
  return {
    units: request.units,
    prorate: request.prorate ?? false,
    behaviour: wordOf(prorationBehaviours, request.prorationBehaviour),
    effectiveDate: request.effectiveDate === undefined ? null : civilDate(request.effectiveDate),
    document: wordOf(changeDocuments, request.document),
  };
}
