/**
 * One organisation as an operator changes it. Each method takes its locks in the one order, runs
 * the work on what it locked, and saves the changes with their audit entries in one transaction.
 * There is no change without an entry. ADMIN-2, INVARIANT-5.
 */
import type { Retry } from "../../domain/billing/retry-document.ts";
import type { BillingState } from "../../domain/model/billing-state.ts";
import type { OrganisationSettings } from "../../domain/model/organisation-settings.ts";
import type { Organisation } from "../../gen/prisma/client.ts";
import { type LockedOrganisation, shareOrganisation } from "../billing/locked-subscription.ts";
import { binding } from "../database/bind.ts";
import { isId } from "../database/ids.ts";
import { lockSubscriptions } from "../database/lock-order.ts";
import type { Pool, Transaction } from "../database/pool.ts";
import { loadRunning, type RunningSubscription } from "../subscriptions/break-off.ts";
import type { StoredUsageEvent } from "../usage/usage-events.ts";
import { type BreakOffToSave, findBreakOff, saveBreakOff } from "./break-off.ts";
import { type Actor, type Change, type Changed, type Changes, changed } from "./changes.ts";
import { describeRetry, retryState } from "./documents/describe-retry.ts";
import type { AdminDocument } from "./documents/document-listing.ts";
import { findRunning, lockDocument, saveRetry } from "./documents/retry-documents.ts";
import { findLeftover } from "./leftovers/list-leftovers.ts";
import { type LockedLeftover, mendLeftover } from "./leftovers/mend-leftover.ts";
import { type BillingFirst, onCurrentOrganisation } from "./organisations/current-organisation.ts";
import { loadObstacles, setupModeState } from "./organisations/setup-mode-obstacles.ts";
import { updateOrganisation } from "./organisations/update-organisation.ts";
import { checkOf, refusingChanged, type StateCheck, subscriptionState } from "./previewed-state.ts";
import { type DropToSave, saveDrop } from "./usage/drop-usage.ts";
import { eventState, lockEvent, saveVoid, type VoidToSave } from "./usage/void-usage.ts";

/** The work of a service on what was locked. Null stands for an object that does not exist. */
type Work<Locked extends readonly unknown[], T> = (
  tx: AuditedTransaction,
  ...locked: Locked
) => Promise<T>;

/**
 * Time limit of the billing before a switch of Setup Mode. It covers some hundred thousand
 * subscriptions while the operator waits.
 */
const performLimitMs = 20_000;

/**
 * Returns the function that opens an organisation for the changes of an operator. If it previewed
 * the change, each is refused with `invalid_state` unless the state under the locks is still the
 * previewed one. A refusal of the work rolls all of it back. Billing before a change runs over the
 * pool, for at most `performMs`.
 */
export function createAuditedTenants(pool: Pool, changes: Changes, performMs = performLimitMs) {
  return (organisationId: string, actor: Actor, previewedState?: string) => {
    const run = <T>(write: (tx: Transaction) => Promise<Changed<T>>) => changes.run(actor, write);
    const check = checkOf(previewedState ?? null);
    const audited = <T>(
      tx: Transaction,
      read: Parameters<StateCheck>[0],
      work: (tx: AuditedTransaction) => Promise<T>,
    ) => runAudited(tx, organisationId, () => check(read), work);
    return {
      /**
       * Locks the organisation. Bills what is due in separate transactions until nothing is due, if
       * the work needs that, and then runs it in one more. Refuses `invalid_state` if the billing
       * takes too long. What was billed stays billed.
       */
      onCurrentOrganisation: <T>(
        billing: BillingFirst,
        work: Work<[organisation: Organisation | null], T>,
      ) =>
        onCurrentOrganisation({ run, pool, performMs }, organisationId, billing, (tx, found) =>
          audited(
            tx,
            () => found && setupModeState(found),
            (auditedTx) => work(auditedTx, found),
          ),
        ),
      /** Locks the organisation, shared, and the subscription of an invoice or credit note. */
      onDocument: <T>(
        id: string,
        work: Work<[document: AdminDocument | null, organisation: OrganisationSettings], T>,
      ) =>
        run(async (tx) => {
          const { document, organisation } = await lockDocument(tx, organisationId, id);
          return audited(
            tx,
            async () => document && retryState(await describeRetry(tx, organisationId, document)),
            (auditedTx) => work(auditedTx, document, organisation),
          );
        }),
      /** Locks the organisation, shared, and the subscription. */
      onSubscription: <T>(
        id: string,
        work: Work<[state: BillingState | null, locked: LockedOrganisation], T>,
      ) =>
        run(async (tx) => {
          const locked = await shareOrganisation(tx, organisationId);
          if (isId(id)) await lockSubscriptions(tx, organisationId, [id]);
          const state = isId(id) ? await loadRunning(tx, locked, id, false) : null;
          return audited(
            tx,
            () => subscriptionState(tx, organisationId, id, locked.now),
            (auditedTx) => work(auditedTx, state, locked),
          );
        }),
      /** Locks the usage of the event's subscription, so that no bill takes the event meanwhile. */
      onUsageEvent: <T>(id: string, work: Work<[event: StoredUsageEvent | null], T>) =>
        run(async (tx) => {
          const event = await lockEvent(tx, organisationId, id);
          return audited(
            tx,
            () => event && eventState(event),
            (auditedTx) => work(auditedTx, event),
          );
        }),
      /** Drops exported usage events. Refuses `invalid_state`. */
      dropUsage: (order: DropToSave) => run((tx) => saveDrop(tx, organisationId, order)),
    };
  };
}

/** What the work may do in the transaction. Each save adds its entries to the audit log. */
type AuditedTransaction = ReturnType<typeof auditedTransaction>;

function auditedTransaction(
  tx: Transaction,
  organisationId: string,
  save: <R>(write: () => Promise<Changed<R>>) => Promise<R>,
) {
  const bound = binding(tx, organisationId);
  return {
    organisation: {
      /** Returns the work under way that blocks this switch of Setup Mode. */
      loadObstacles: bound(loadObstacles),
      save: (before: Organisation, settings: Partial<Organisation>) =>
        save(() => updateOrganisation(tx, before, settings)),
    },
    documents: {
      /** Returns the running job that must end before an amendment, as the end of a sentence. */
      findRunning: bound(findRunning),
      /** Returns the work to start once the transaction is committed. */
      saveRetry: (document: AdminDocument, retry: Retry) =>
        save(() => saveRetry(tx, organisationId, document, retry)),
    },
    subscriptions: {
      /** Returns what an earlier try of this request has broken off. Null if there is none. */
      findBreakOff: bound(findBreakOff),
      /** Breaks off the running operation of a locked subscription. */
      breakOff: (running: RunningSubscription, request: BreakOffToSave) =>
        save(() => saveBreakOff(tx, running, request)),
    },
    leftovers: {
      /** Returns the leftover as it is under the lock. Null if it is put right by now. */
      find: bound(findLeftover),
      /** Returns the issued documents. */
      mend: (leftover: LockedLeftover, reason: string) =>
        save(() => mendLeftover(tx, leftover, reason)),
    },
    usageEvents: {
      /** Returns the voided event. */
      saveVoid: (event: StoredUsageEvent, order: VoidToSave) =>
        save(() => saveVoid(tx, organisationId, event, order)),
    },
  };
}

/** Runs the work on an open transaction, and returns its result with the changes that it saved. */
async function runAudited<T>(
  tx: Transaction,
  organisationId: string,
  check: () => Promise<void>,
  work: (tx: AuditedTransaction) => Promise<T>,
): Promise<Changed<T>> {
  const saved: Change[] = [];
  const save = async <R>(write: () => Promise<Changed<R>>): Promise<R> => {
    await check();
    const { result, changes } = await write();
    saved.push(...changes);
    return result;
  };
  const auditedTx = auditedTransaction(tx, organisationId, save);
  return changed(await refusingChanged(() => work(auditedTx), check), ...saved);
}
