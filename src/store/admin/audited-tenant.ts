/**
 * One organisation as an operator changes it. Each method takes its locks in the one order, runs
 * the work on what it locked, and saves the changes with their audit entries in one transaction.
 * There is no change without an entry. ADMIN-2, INVARIANT-5.
 */
import type { Retry } from "../../domain/billing/retry-document.ts";
import type { SwitchObstacles } from "../../domain/billing/setup-mode.ts";
import type { OrganisationSettings } from "../../domain/model/organisation-settings.ts";
import type { Organisation } from "../../gen/prisma/client.ts";
import type { Pool, Transaction } from "../database/pool.ts";
import type { DocumentWork } from "../ledger-jobs/stale-jobs.ts";
import type { StoredUsageEvent } from "../usage/usage-events.ts";
import { type Actor, type Change, type Changed, type Changes, changed } from "./changes.ts";
import type { AdminDocument } from "./documents/document-listing.ts";
import { findRunning, lockDocument, saveRetry } from "./documents/retry-documents.ts";
import { type BillingFirst, onCurrentOrganisation } from "./organisations/current-organisation.ts";
import { loadObstacles } from "./organisations/setup-mode-obstacles.ts";
import { type AdminOrganisation, updateOrganisation } from "./organisations/update-organisation.ts";
import { lockEvent, saveVoid, type VoidToSave } from "./usage/void-usage.ts";

/** What the work may do in the transaction. Each save adds its entries to the audit log. */
export interface AuditedTransaction {
  readonly organisation: {
    /** Returns the work under way that blocks this switch of Setup Mode. */
    loadObstacles(to: "on" | "off"): Promise<SwitchObstacles>;
    save(before: Organisation, settings: Partial<Organisation>): Promise<AdminOrganisation>;
  };
  readonly documents: {
    /** Returns the running job that must end before an amendment, as the end of a sentence. */
    findRunning(document: AdminDocument): Promise<string | null>;
    /** Returns the work to start once the transaction is committed. */
    saveRetry(document: AdminDocument, retry: Retry): Promise<DocumentWork>;
  };
  readonly usageEvents: {
    /** Returns the voided event. */
    saveVoid(event: StoredUsageEvent, order: VoidToSave): Promise<StoredUsageEvent>;
  };
}

/** The work of a service on what was locked. Null stands for an object that does not exist. */
type Work<Locked extends readonly unknown[], T> = (
  tx: AuditedTransaction,
  ...locked: Locked
) => Promise<T>;

/** The changes of one operator to one organisation. A refusal of the work rolls all of it back. */
export interface AuditedTenant {
  /**
   * Locks the organisation. Bills what is due in separate transactions until nothing is due, if the
   * work needs that, and then runs it in one more. Refuses `invalid_state` if the billing takes too
   * long. What was billed stays billed.
   */
  onCurrentOrganisation<T>(
    billing: BillingFirst,
    work: Work<[organisation: Organisation | null], T>,
  ): Promise<T>;
  /** Locks the organisation, shared, and the subscription of an invoice or credit note. */
  onDocument<T>(
    id: string,
    work: Work<[document: AdminDocument | null, organisation: OrganisationSettings], T>,
  ): Promise<T>;
  /** Locks the usage of the event's subscription, so that no bill takes the event meanwhile. */
  onUsageEvent<T>(id: string, work: Work<[event: StoredUsageEvent | null], T>): Promise<T>;
}

/** Opens an organisation for the changes of an operator. */
export type OpenAuditedTenant = (organisationId: string, actor: Actor) => AuditedTenant;

/**
 * Time limit of the billing before a switch of Setup Mode. It covers some hundred thousand
 * subscriptions while the operator waits.
 */
const performLimitMs = 20_000;

/**
 * Returns the function that opens organisations. Billing before a change runs over the pool, for at
 * most `performMs`.
 */
export function createAuditedTenants(
  pool: Pool,
  changes: Changes,
  performMs = performLimitMs,
): OpenAuditedTenant {
  return (organisationId, actor) => {
    const run = <T>(write: (tx: Transaction) => Promise<Changed<T>>) => changes.run(actor, write);
    return {
      onCurrentOrganisation: (billing, work) =>
        onCurrentOrganisation({ run, pool, performMs }, organisationId, billing, (tx, found) =>
          audited(tx, organisationId, (own) => work(own, found)),
        ),
      onDocument: (id, work) =>
        run(async (tx) => {
          const { document, organisation } = await lockDocument(tx, organisationId, id);
          return audited(tx, organisationId, (own) => work(own, document, organisation));
        }),
      onUsageEvent: (id, work) =>
        run(async (tx) => {
          const event = await lockEvent(tx, organisationId, id);
          return audited(tx, organisationId, (own) => work(own, event));
        }),
    };
  };
}

/** Runs the work on an open transaction, and returns its result with the changes that it saved. */
async function audited<T>(
  tx: Transaction,
  organisationId: string,
  work: (tx: AuditedTransaction) => Promise<T>,
): Promise<Changed<T>> {
  const saved: Change[] = [];
  const save = async <R>(write: Promise<Changed<R>>): Promise<R> => {
    const { result, changes } = await write;
    saved.push(...changes);
    return result;
  };
  const result = await work({
    organisation: {
      loadObstacles: (to) => loadObstacles(tx, organisationId, to),
      save: (before, settings) => save(updateOrganisation(tx, before, settings)),
    },
    documents: {
      findRunning: (document) => findRunning(tx, organisationId, document),
      saveRetry: (document, retry) => save(saveRetry(tx, organisationId, document, retry)),
    },
    usageEvents: {
      saveVoid: (event, order) => save(saveVoid(tx, organisationId, event, order)),
    },
  });
  return changed(result, ...saved);
}
