/**
 * The store as the services see it. Every read and write goes through one organisation, the tenant,
 * and every statement names it. ACCESS-8.
 */
import type { BillingState } from "../domain/model/billing-state.ts";
import { getOrganisation } from "./access/organisation-settings.ts";
import { type OpenTransaction, onCurrentSubscription } from "./billing/current-subscription.ts";
import { catalogueFilters, chargeListing, planListing } from "./catalogue/catalogue.ts";
import { loadPlanMeters } from "./catalogue/meters.ts";
import {
  customerFilters,
  customerListing,
  findCustomerCreation,
  saveCustomer,
} from "./customers/customers.ts";
import { binding } from "./database/bind.ts";
import {
  type Filter,
  getOne,
  type Listing,
  listPage,
  type Page,
  type PageRequest,
} from "./database/page.ts";
import type { Pool } from "./database/pool.ts";
import type { Shape } from "./database/sql/columns.ts";
import { creditNoteListing } from "./documents/credit-notes.ts";
import { loadDocumentToExplain } from "./documents/explained-documents.ts";
import { documentFilters, invoiceListing } from "./documents/invoices.ts";
import { findFirstInvoice, findUnsent } from "./documents/unsent-invoices.ts";
import {
  type EventBody,
  type EventFilters,
  type EventReader,
  getEvent,
  listEvents,
} from "./events/list-events.ts";
import { abandonContact } from "./ledger-jobs/jobs.ts";
import { createPreviews } from "./previews.ts";
import { loadCreation } from "./subscriptions/create.ts";
import {
  findRestoration,
  loadRestorationFacts,
  saveRestoration,
} from "./subscriptions/restorations.ts";
import { saveCreation } from "./subscriptions/save-creation.ts";
import { listPeriods, listUnitChanges } from "./subscriptions/subscription-history.ts";
import { subscriptionFilters, subscriptionListing } from "./subscriptions/subscriptions.ts";
import {
  findTermination,
  loadEndFacts,
  markReported,
  saveRemovals,
  saveTermination,
} from "./subscriptions/terminations.ts";
import { findUnitChange, getUnitChange, saveUnitChange } from "./subscriptions/unit-changes.ts";
import { wasDropped } from "./usage/event-rows.ts";
import type { StoreUsage, UsageReport } from "./usage/join-reports.ts";
import { listUsage } from "./usage/read-usage.ts";
import { createStoreUsage, type UsageCounts } from "./usage/store-batches.ts";
import { listUsageBills } from "./usage/usage-bills.ts";
import { getUsageEvent } from "./usage/usage-events.ts";

/**
 * A kind of object that can be listed, newest first, and looked up. Null for an id that does not
 * exist or belongs to another organisation.
 */
export interface Collection<T, Filters> {
  list(filters: Filters, page: PageRequest): Promise<Page<T>>;
  get(id: string): Promise<T | null>;
}

/** Opens the data of a tenant. `now` is the organisation's now when the request came. */
export interface Store {
  tenant(organisationId: string, now: Date): Tenant;
}

/** What the stores of one process share. */
interface Shared {
  readonly pool: Pool;
  readonly storeUsage: StoreUsage;
  readonly onIssued: (organisationId: string) => void;
}

/**
 * Creates the store over a pool. `onIssued` is called after each commit of documents that were due:
 * they must be posted. `onUsage` is called after each stored batch of usage events.
 */
export function createStore(
  pool: Pool,
  onIssued: (organisationId: string) => void = () => undefined,
  onUsage?: (counts: UsageCounts) => void,
): Store {
  const shared = { pool, storeUsage: createStoreUsage(pool, onUsage), onIssued };
  return { tenant: (organisationId, now) => openTenant(shared, organisationId, now) };
}

/** Everything that a service may do with one tenant's data. */
export type Tenant = ReturnType<typeof openTenant>;

function openTenant({ pool, storeUsage, onIssued }: Shared, organisationId: string, now: Date) {
  const bound = binding(pool, organisationId);
  const collection = <S extends Shape, T, Filters>(
    listing: Listing<S, T>,
    toFilters: (filters: Filters) => readonly Filter[],
  ): Collection<T, Filters> => ({
    list: (filters, page) => listPage(pool, organisationId, listing, toFilters(filters), page),
    get: (id) => getOne(pool, organisationId, listing, id),
  });
  return {
    organisationId,
    settings: bound(getOrganisation),
    customers: {
      ...collection(customerListing, customerFilters),
      save: bound(saveCustomer),
      findCreation: bound(findCustomerCreation),
      abandon: bound(abandonContact),
    },
    plans: { ...collection(planListing, catalogueFilters), getMeters: bound(loadPlanMeters) },
    charges: collection(chargeListing, catalogueFilters),
    subscriptions: {
      ...collection(subscriptionListing, subscriptionFilters),
      loadCreation: bound(loadCreation),
      saveCreation: bound(saveCreation),
      findUnsent: bound(findUnsent),
      listUnitChanges: bound(listUnitChanges),
      listPeriods: bound(listPeriods),
    },
    /** Runs work on a subscription that is locked and billed. Refuses `subscription_not_found`. */
    onCurrentSubscription: <T>(
      id: string,
      work: (tx: TenantTransaction, subscription: BillingState) => Promise<T>,
      { closing = false }: { readonly closing?: boolean } = {},
    ): Promise<T> =>
      onCurrentSubscription(
        pool,
        organisationId,
        { id, now, closing, onIssued: () => onIssued(organisationId) },
        (tx, state) => work(tenantTransaction(tx), state),
      ),
    previews: createPreviews(pool, organisationId, now),
    unitChanges: { get: bound(getUnitChange) },
    terminations: { markReported: bound(markReported) },
    invoices: {
      ...collection(invoiceListing, documentFilters),
      findFirst: bound(findFirstInvoice),
    },
    creditNotes: collection(creditNoteListing, documentFilters),
    explanations: { load: bound(loadDocumentToExplain) },
    /** The events that a reader may see, as they were sent. EVENT-6. */
    events: (reader: Omit<EventReader, "organisationId">): Collection<EventBody, EventFilters> => {
      const scoped = { ...reader, organisationId };
      return {
        list: (filters, page) => listEvents(pool, scoped, filters, page),
        get: (id) => getEvent(pool, scoped, id),
      };
    },
    usage: {
      /** Stores a batch of events. Returns the outcome of each, in order. USAGE-2. */
      report: (reported: UsageReport["reported"], at: Date) =>
        storeUsage({ organisationId, reported, now: at }),
      list: bound(listUsage),
      listBills: bound(listUsageBills),
      getEvent: bound(getUsageEvent),
      wasDropped: bound(wasDropped),
    },
  };
}

/**
 * What the work of a service may do in its transaction, on a locked, fully billed subscription.
 * `findByRequest` finds what an earlier try of the request has saved, or returns null.
 */
export type TenantTransaction = ReturnType<typeof tenantTransaction>;

/** Binds the reads and writes of a service's work to an open transaction. */
export function tenantTransaction(tx: OpenTransaction) {
  const bound = binding(tx);
  return {
    unitChanges: { findByRequest: bound(findUnitChange), save: bound(saveUnitChange) },
    terminations: {
      findByRequest: bound(findTermination),
      loadFacts: bound(loadEndFacts),
      saveEnded: bound(saveTermination),
      saveRemovals: bound(saveRemovals),
    },
    restorations: {
      findByRequest: bound(findRestoration),
      loadFacts: bound(loadRestorationFacts),
      save: bound(saveRestoration),
    },
  };
}

/** An id that no organisation has. */
const noOrganisation = "00000000-0000-0000-0000-000000000000";

/**
 * Loads the typed client by reads that find nothing. Otherwise the first change of a process would
 * load it inside its transaction, while it holds the locks.
 */
export async function warmUp(pool: Pool): Promise<void> {
  const tx = {
    client: pool,
    organisationId: noOrganisation,
    now: new Date(0),
    databaseNow: new Date(0),
  };
  await findUnitChange(tx, noOrganisation);
  await findRestoration(tx, noOrganisation);
}
