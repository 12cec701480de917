/**
 * The store as the services see it. Every read and write goes through one organisation, the tenant,
 * and every statement names it. ACCESS-8.
 */

import type { Charge, Plan } from "../domain/catalogue/plan.ts";
import type { Customer } from "../domain/customers/customer.ts";
import type { BillingState } from "../domain/model/billing-state.ts";
import type { CreditNote } from "../domain/model/credit-note.ts";
import type { Invoice, ShownInvoice } from "../domain/model/invoice.ts";
import type { OrganisationSettings } from "../domain/model/organisation-settings.ts";
import type { ReportedUsage, UsageVerdict } from "../domain/usage/ingest.ts";
import { getOrganisation } from "./access/organisation-settings.ts";
import { onCurrentSubscription } from "./billing/current-subscription.ts";
import {
  type CatalogueFilters,
  catalogueFilters,
  chargeListing,
  planListing,
} from "./catalogue/catalogue.ts";
import {
  type CustomerCreation,
  type CustomerFilters,
  type CustomerSave,
  type CustomerToSave,
  customerFilters,
  customerListing,
  findCustomerCreation,
  saveCustomer,
} from "./customers/customers.ts";
import type { Executor } from "./database/client.ts";
import { createEventLoopPace, type EventLoopPace, pacedReads } from "./database/event-loop-pace.ts";
import { isId } from "./database/ids.ts";
import { getOne, type Listing, listPage, type Page, type PageRequest } from "./database/page.ts";
import type { AnyRow, Pool } from "./database/pool.ts";
import { creditNoteListing } from "./documents/credit-notes.ts";
import {
  type DocumentFilters,
  documentFilters,
  invoiceListing,
  listInvoices,
} from "./documents/invoices.ts";
import { findFirstInvoice, findUnsent, type InvoiceIds } from "./documents/unsent-invoices.ts";
import {
  type EventBody,
  type EventFilters,
  type EventReader,
  getEvent,
  listEvents,
} from "./events/list-events.ts";
import { abandonContact } from "./ledger-jobs/jobs.ts";
import { createPreviews, type Previews } from "./previews.ts";
import { type CreationQuery, type LoadedCreation, loadCreation } from "./subscriptions/create.ts";
import { joinCreations, type SaveCreation } from "./subscriptions/join-creations.ts";
import { findRestoration } from "./subscriptions/restorations.ts";
import {
  type CreationSave,
  type CreationToSave,
  saveCreations,
} from "./subscriptions/save-creation.ts";
import {
  type PlannedSubscription,
  type SubscriptionFilters,
  subscriptionFilters,
  subscriptionListing,
} from "./subscriptions/subscriptions.ts";
import { markReported } from "./subscriptions/terminations.ts";
import { findUnitChange, getUnitChange, type UnitChange } from "./subscriptions/unit-changes.ts";
import { type TenantTransaction, tenantTransaction } from "./tenant-transaction.ts";
import type { StoreUsage } from "./usage/batch.ts";
import { createStoreUsage, type UsageCounts } from "./usage/ingest.ts";
import { listUsage, type UsageOfMeter, type UsageQuery } from "./usage/read-usage.ts";
import { getEvent as getUsageEvent, type StoredUsageEvent } from "./usage/usage-events.ts";

/**
 * A kind of object that can be listed, newest first, and looked up. Null for an id that does not
 * exist or belongs to another organisation.
 */
export interface Collection<T, Filters, Listed = T> {
  list(filters: Filters, page: PageRequest): Promise<Page<Listed>>;
  get(id: string): Promise<T | null>;
}

/** Options of the work on a subscription. */
interface WorkOptions {
  /** The work may end the subscription at once, so all its usage is loaded and locked. */
  readonly closing?: boolean;
}

/** Everything that a service may do with one tenant's data. */
export interface Tenant {
  readonly organisationId: string;
  settings(): Promise<OrganisationSettings>;
  readonly customers: Collection<Customer, CustomerFilters> & {
    save(customer: CustomerToSave): Promise<CustomerSave>;
    findCreation(id: string): Promise<CustomerCreation | null>;
    /** True if the contact's job was abandoned before anything was sent. */
    abandon(jobId: string): Promise<boolean>;
  };
  readonly plans: Collection<Plan, CatalogueFilters>;
  readonly charges: Collection<Charge, CatalogueFilters>;
  readonly subscriptions: Collection<PlannedSubscription, SubscriptionFilters> & {
    loadCreation(query: CreationQuery): Promise<LoadedCreation>;
    saveCreation(creation: CreationToSave): Promise<CreationSave>;
    /** Returns the jobs that still have to post the subscription's first or renewal invoices. */
    findUnsent(id: string): Promise<readonly string[]>;
  };
  /**
   * Locks the subscription, bills what is due in separate transactions until nothing is due, and
   * then runs `work` in one more. A refusal of `work` rolls back only what `work` wrote. Refuses
   * `subscription_not_found` (STATE-2).
   */
  onCurrentSubscription<T>(
    id: string,
    work: (tx: TenantTransaction, subscription: BillingState) => Promise<T>,
    options?: WorkOptions,
  ): Promise<T>;
  readonly previews: Previews;
  readonly unitChanges: { get(id: string): Promise<UnitChange> };
  readonly terminations: {
    /** Records that a caller was notified that the ledger refused this end. */
    markReported(id: string): Promise<void>;
  };
  readonly invoices: Collection<Invoice, DocumentFilters, ShownInvoice> & {
    /** Returns the first invoice of a creation and the job that posts it. Null in Setup Mode. */
    findFirst(subscriptionId: string): Promise<InvoiceIds | null>;
  };
  readonly creditNotes: Collection<CreditNote, DocumentFilters>;
  /** The events that a reader may see, as they were sent. EVENT-6. */
  events(reader: Omit<EventReader, "organisationId">): Collection<EventBody, EventFilters>;
  readonly usage: {
    /** Stores a batch of events. Returns the outcome of each, in order. USAGE-2. */
    report(reported: readonly ReportedUsage[], now: Date): Promise<readonly UsageVerdict[]>;
    /** By period and meter, newest first. Null for an unknown subscription. USAGE-16. */
    list(subscriptionId: string, query: UsageQuery): Promise<Page<UsageOfMeter> | null>;
    getEvent(eventId: string): Promise<StoredUsageEvent | null>;
  };
}

/** Opens the data of a tenant. `now` is the organisation's now when the request came. */
export interface Store {
  tenant(organisationId: string, now: Date): Tenant;
}

/**
 * Creates the store over a pool. `onIssued` is called after each commit of documents that were due:
 * they must be posted. `onUsage` is called after each stored batch of usage events.
 */
export function createStore(
  pool: Pool,
  onIssued: (organisationId: string) => void = () => undefined,
  onUsage?: (counts: UsageCounts) => void,
  pace: EventLoopPace = createEventLoopPace(),
): Store {
  const storeUsage = createStoreUsage(pool, onUsage);
  const saveCreation = joinCreations((...creations) => saveCreations(pool, ...creations));
  const joined = { storeUsage, saveCreation };
  return {
    tenant: (organisationId, now) => ({
      ...openTenant(pool, pacedReads(pool, pace, organisationId), joined, organisationId),
      previews: createPreviews(pool, organisationId, now),
      onCurrentSubscription: (id, work, { closing = false } = {}) =>
        onCurrentSubscription(
          pool,
          organisationId,
          { id, now, closing, onIssued: () => onIssued(organisationId) },
          (tx, state) => work(tenantTransaction(tx), state),
        ),
    }),
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

/** Writes of one process that join those of other requests. */
interface Joined {
  readonly storeUsage: StoreUsage;
  readonly saveCreation: SaveCreation;
}

function openTenant(
  pool: Pool,
  reads: Executor,
  { storeUsage, saveCreation }: Joined,
  organisationId: string,
): Omit<Tenant, "onCurrentSubscription" | "previews"> {
  return {
    organisationId,
    settings: () => getOrganisation(pool, organisationId),
    customers: {
      ...collect(reads, organisationId, customerListing, customerFilters),
      save: (customer) => saveCustomer(pool, organisationId, customer),
      findCreation: (id) => findCustomerCreation(pool, organisationId, id),
      abandon: (jobId) => abandonContact(pool, organisationId, jobId),
    },
    plans: collect(reads, organisationId, planListing, catalogueFilters),
    charges: collect(reads, organisationId, chargeListing, catalogueFilters),
    subscriptions: {
      ...collect(reads, organisationId, subscriptionListing, subscriptionFilters),
      loadCreation: (query) => loadCreation(pool, organisationId, query),
      saveCreation: (creation) => saveCreation(organisationId, creation),
      findUnsent: (id) => findUnsent(pool, organisationId, id),
    },
    unitChanges: { get: (id) => getUnitChange(pool, organisationId, id) },
    terminations: { markReported: (id) => markReported(pool, organisationId, id) },
    invoices: {
      ...collect(reads, organisationId, invoiceListing, documentFilters),
      list: (filters, page) => listInvoices(reads, organisationId, documentFilters(filters), page),
      findFirst: (subscriptionId) => findFirstInvoice(pool, organisationId, subscriptionId),
    },
    creditNotes: collect(reads, organisationId, creditNoteListing, documentFilters),
    events: (reader) => {
      const own = { ...reader, organisationId };
      return {
        list: (filters, page) => listEvents(reads, own, filters, page),
        get: (id) => getEvent(reads, own, id),
      };
    },
    usage: {
      report: (reported, now) => storeUsage(organisationId, reported, now),
      list: (id, query) => listUsage(reads, organisationId, id, query),
      getEvent: (eventId) => getUsageEvent(pool, organisationId, eventId),
    },
  };
}

function collect<Row extends AnyRow, T, Filters>(
  reads: Executor,
  organisationId: string,
  listing: Listing<Row, T>,
  toFilters: (filters: Filters) => Parameters<typeof listPage>[3],
): Collection<T, Filters> {
  return {
    list: (filters, page) => listPage(reads, organisationId, listing, toFilters(filters), page),
    // An id that is no UUID identifies no object. REQUEST-12.
    get: async (id) => (isId(id) ? getOne(reads, organisationId, listing, id) : null),
  };
}
