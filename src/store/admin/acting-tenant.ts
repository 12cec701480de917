/**
 * The data of an organisation as an operator changes it on behalf of the platform. The platform's
 * own services decide and save. Each saved request has its audit entry in its transaction, with the
 * operator's reason and the request that the timeline shows. ADMIN-13, INVARIANT-5.
 */
import type { Subscription } from "../../domain/model/subscription.ts";
import { onCurrentSubscription } from "../billing/current-subscription.ts";
import { lockInOrder, lockRow } from "../database/lock-order.ts";
import type { Pool, Transaction } from "../database/pool.ts";
import { type CreationToSave, saveCreationWith } from "../subscriptions/save-creation.ts";
import { createStore, type Tenant, type TenantTransaction, tenantTransaction } from "../tenant.ts";
import { type Actor, logChanges } from "./changes.ts";
import { checkOf, creationState, refusingChanged, subscriptionState } from "./previewed-state.ts";

/** The operator, why it acts, and the state that it previewed, if any. */
export interface Acting {
  readonly actor: Actor;
  readonly reason: string;
  readonly previewedState: string | null;
}

/** Opens an organisation for an operator that acts for its platform at `now`. */
export type OpenActingTenant = (organisationId: string, now: Date, acting: Acting) => Tenant;

/** A saved request of the operator: its id, and the members that differ. */
interface Acted {
  readonly request: string;
  readonly subscriptionId: string;
  readonly before: object | null;
  readonly after: object;
}

/**
 * Returns the function that opens organisations. Reads and writes have separate pools. `onIssued`
 * is called after each commit of documents that were due.
 */
export function createActingTenants(
  { reading, writing }: { readonly reading: Pool; readonly writing: Pool },
  onIssued: (organisationId: string) => void,
): OpenActingTenant {
  const store = createStore(reading);
  return (organisationId, now, { actor, reason, previewedState }) => {
    const tenant = store.tenant(organisationId, now);
    const check = checkOf(previewedState);
    const log = (tx: Transaction, { request, subscriptionId, before, after }: Acted) =>
      logChanges(tx, actor, [
        {
          targetKind: "subscription",
          targetId: subscriptionId,
          organisationId,
          before,
          after: { ...after, request, reason },
        },
      ]);
    return {
      ...tenant,
      subscriptions: {
        ...tenant.subscriptions,
        saveCreation: (creation) =>
          saveCreationWith(writing, organisationId, creation, {
            onBegun: (tx) => check(() => lockCreation(tx, organisationId, creation)),
            onSaved: (tx) => log(tx, created(creation)),
          }),
      },
      onCurrentSubscription: (id, work, { closing = false } = {}) =>
        onCurrentSubscription(
          writing,
          organisationId,
          { id, now, closing, onIssued: () => onIssued(organisationId) },
          async (tx, state) => {
            // Read before a write, compared at the write: a repeat finds what it did before.
            const current =
              previewedState && (await subscriptionState(tx.client, organisationId, id, tx.now));
            const onSaved = async (acted: Acted) => {
              await check(() => current);
              await log(tx.client, acted);
            };
            const withLog = logged(tenantTransaction(tx), onSaved);
            return refusingChanged(
              () => work(withLog, state),
              () => check(() => current),
            );
          },
        ),
    };
  };
}

/** Locks the customer, so that no other creation of an operator comes first. Returns the state. */
async function lockCreation(
  tx: Transaction,
  organisationId: string,
  { decision: { subscription } }: CreationToSave,
): Promise<string> {
  await lockInOrder(tx, organisationId, { organisation: true });
  await lockRow(tx, "customers", organisationId, subscription.customerId);
  const { customerCode, createdAt } = subscription;
  return creationState(tx, organisationId, customerCode, createdAt);
}

function created({ subscriptionId, decision }: CreationToSave): Acted {
  const { subscription } = decision;
  const { customerId, planId, units, startDate } = subscription;
  const { status, endDate } = subscription;
  const after = { customerId, planId, units, startDate, status, endDate };
  return { request: subscriptionId, subscriptionId, before: null, after };
}

/** The same reads and writes. Each write of a request also saves its entry. */
function logged(tx: TenantTransaction, log: (acted: Acted) => Promise<void>): TenantTransaction {
  return {
    unitChanges: {
      ...tx.unitChanges,
      save: async (state, decision, change) => {
        const saved = await tx.unitChanges.save(state, decision, change);
        const { id, subscriptionId, toUnits, invoiceId, renewalInvoiceId } = saved;
        const { creditNoteId, deferred } = saved;
        const documents = { invoiceId, renewalInvoiceId, creditNoteId };
        await log({
          request: id,
          subscriptionId,
          before: { units: state.subscription.units },
          after: { units: toUnits, ...documents, deferred },
        });
        return saved;
      },
    },
    terminations: {
      ...tx.terminations,
      saveEnded: async (state, ended, termination) => {
        const saved = await tx.terminations.saveEnded(state, ended, termination);
        await log({
          request: termination.id,
          subscriptionId: state.subscription.id,
          before: courseOf(state.subscription),
          after: courseOf(ended.subscription),
        });
        return saved;
      },
      saveRemovals: async (state, decision, termination) => {
        await tx.terminations.saveRemovals(state, decision, termination);
        // The subscription ends once the ledger has removed the invoices.
        await log({
          request: termination.id,
          subscriptionId: state.subscription.id,
          before: courseOf(state.subscription),
          after: { endWhen: termination.when, removals: decision.removals },
        });
      },
    },
    restorations: {
      ...tx.restorations,
      save: async (state, restoration, request) => {
        const saved = await tx.restorations.save(state, restoration, request);
        await log({
          request: request.requestId,
          subscriptionId: state.subscription.id,
          before: courseOf(state.subscription),
          after: courseOf(restoration.subscription),
        });
        return saved;
      },
    },
  };
}

function courseOf({
  status,
  endDate,
  cancelAtPeriodEnd,
}: Pick<Subscription, "status" | "endDate" | "cancelAtPeriodEnd">): object {
  return { status, endDate, cancelAtPeriodEnd };
}
