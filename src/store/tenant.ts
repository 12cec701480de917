/**
 * The store as the services see it. Every read and write goes through one organisation, the tenant,
 * and every statement names it. ACCESS-8.
 */

import type { PlanMeter } from "../domain/catalogue/meter.ts";
import type { Charge, Plan } from "../domain/catalogue/plan.ts";
import type { Customer } from "../domain/customers/customer.ts";
import type { DocumentObject } from "../domain/explanation/named-facts.ts";
import type { DocumentToExplain } from "../domain/explanation/render.ts";
import type { BillingState } from "../domain/model/billing-state.ts";
import type { CreditNote } from "../domain/model/credit-note.ts";
import type { Invoice } from "../domain/model/invoice.ts";
import type { OrganisationSettings } from "../domain/model/organisation-settings.ts";
import type { ReportedUsage, UsageVerdict } from "../domain/usage/ingest.ts";
import { getOrganisation } from "./access/organisation-settings.ts";
import { onCurrentSubscription } from "./billing/current-subscription.ts";
import type { CatalogueFilters } from "./catalogue/catalogue.ts";
import { loadPlanMeters } from "./catalogue/meters.ts";
import { type Collection, createCollections } from "./collections.ts";
import {
  type CustomerCreation,
  type CustomerFilters,
  type CustomerSave,
  type CustomerToSave,
  findCustomerCreation,
  saveCustomer,
} from "./customers/customers.ts";
import type { Page, PageRequest } from "./database/page.ts";
import type { Pool } from "./database/pool.ts";
import { loadDocumentToExplain } from "./documents/explained-documents.ts";
import type { DocumentFilters } from "./documents/invoices.ts";
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
import { findRestoration } from "./subscriptions/restorations.ts";
import {
  type CreationSave,
  type CreationToSave,
  saveCreation,
} from "./subscriptions/save-creation.ts";
import {
  type ListedPeriod,
  type ListedUnitChange,
  listPeriods,
  listUnitChanges,
} from "./subscriptions/subscription-history.ts";
import type { PlannedSubscription, SubscriptionFilters } from "./subscriptions/subscriptions.ts";
import { markReported } from "./subscriptions/terminations.ts";
import { findUnitChange, getUnitChange, type UnitChange } from "./subscriptions/unit-changes.ts";
import { type TenantTransaction, tenantTransaction } from "./tenant-transaction.ts";
import { wasDropped } from "./usage/event-rows.ts";
import { createStoreUsage, type UsageCounts } from "./usage/ingest.ts";
import type { StoreUsage } from "./usage/join-reports.ts";
import { listUsage, type UsageOfMeter, type UsageQuery } from "./usage/read-usage.ts";
import { type BilledUsage, listUsageBills } from "./usage/usage-bills.ts";
import { getUsageEvent, type StoredUsageEvent } from "./usage/usage-events.ts";

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
  readonly plans: Collection<Plan, CatalogueFilters> & {
    /** In the plan's order. Null for an unknown plan. */
    getMeters(id: string): Promise<readonly PlanMeter[] | null>;
  };
  readonly charges: Collection<Charge, CatalogueFilters>;
  readonly subscriptions: Collection<PlannedSubscription, SubscriptionFilters> & {
    loadCreation(query: CreationQuery): Promise<LoadedCreation>;
    saveCreation(creation: CreationToSave): Promise<CreationSave>;
    /** Returns the jobs that still have to post the subscription's first or renewal invoices. */
    findUnsent(id: string): Promise<readonly string[]>;
    listUnitChanges(id: string, page: PageRequest): Promise<Page<ListedUnitChange>>;
    listPeriods(id: string, page: PageRequest): Promise<Page<ListedPeriod>>;
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
  readonly invoices: Collection<Invoice, DocumentFilters> & {
    /** Returns the first invoice of a creation and the job that posts it. Null in Setup Mode. */
    findFirst(subscriptionId: string): Promise<InvoiceIds | null>;
  };
  readonly creditNotes: Collection<CreditNote, DocumentFilters>;
  readonly explanations: {
    /** Loads what explains the document. Null for an unknown one, and one of another tenant. */
    load(kind: DocumentObject, id: string): Promise<DocumentToExplain | null>;
  };
  /** The events that a reader may see, as they were sent. EVENT-6. */
  events(reader: Omit<EventReader, "organisationId">): Collection<EventBody, EventFilters>;
  readonly usage: {
    /** Stores a batch of events. Returns the outcome of each, in order. USAGE-2. */
    report(reported: readonly ReportedUsage[], now: Date): Promise<readonly UsageVerdict[]>;
    /** By period and meter, newest first. Null for an unknown subscription. USAGE-16. */
    list(subscriptionId: string, query: UsageQuery): Promise<Page<UsageOfMeter> | null>;
    listBills(subscriptionId: string, page: PageRequest): Promise<Page<BilledUsage>>;
    getEvent(eventId: string): Promise<StoredUsageEvent | null>;
    /** Whether an event with this id was dropped. USAGE-18. */
    wasDropped(eventId: string): Promise<boolean>;
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
): Store {
  const storeUsage = createStoreUsage(pool, onUsage);
  const shared = { storeUsage, collections: createCollections(pool) };
  return {
    tenant: (organisationId, now) => ({
      ...openTenant(pool, shared, organisationId),
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

/** What the requests of one process share. */
interface Shared {
  readonly collections: ReturnType<typeof createCollections>;
  readonly storeUsage: StoreUsage;
}

function openTenant(
  pool: Pool,
  { storeUsage, collections }: Shared,
  organisationId: string,
): Omit<Tenant, "onCurrentSubscription" | "previews"> {
  return {
    organisationId,
    settings: () => getOrganisation(pool, organisationId),
    customers: {
      ...collections.customers(organisationId),
      save: (customer) => saveCustomer(pool, organisationId, customer),
      findCreation: (id) => findCustomerCreation(pool, organisationId, id),
      abandon: (jobId) => abandonContact(pool, organisationId, jobId),
    },
    plans: {
      ...collections.plans(organisationId),
      getMeters: (id) => loadPlanMeters(pool, organisationId, id),
    },
    charges: collections.charges(organisationId),
    subscriptions: {
      ...collections.subscriptions(organisationId),
      loadCreation: (query) => loadCreation(pool, organisationId, query),
      saveCreation: (creation) => saveCreation(pool, organisationId, creation),
      findUnsent: (id) => findUnsent(pool, organisationId, id),
      listUnitChanges: (id, page) => listUnitChanges(pool, organisationId, id, page),
      listPeriods: (id, page) => listPeriods(pool, organisationId, id, page),
    },
    unitChanges: { get: (id) => getUnitChange(pool, organisationId, id) },
    terminations: { markReported: (id) => markReported(pool, organisationId, id) },
    invoices: {
      ...collections.invoices(organisationId),
      findFirst: (subscriptionId) => findFirstInvoice(pool, organisationId, subscriptionId),
    },
    creditNotes: collections.creditNotes(organisationId),
    explanations: {
      load: (kind, id) => loadDocumentToExplain(pool, organisationId, kind, id),
    },
    events: (reader) => {
      const scoped = { ...reader, organisationId };
      return {
        list: (filters, page) => listEvents(pool, scoped, filters, page),
        get: (id) => getEvent(pool, scoped, id),
      };
    },
    usage: {
      report: (reported, now) => storeUsage({ organisationId, reported, now }),
      list: (id, query) => listUsage(pool, organisationId, id, query),
      listBills: (id, page) => listUsageBills(pool, organisationId, id, page),
      getEvent: (eventId) => getUsageEvent(pool, organisationId, eventId),
      wasDropped: (eventId) => wasDropped(pool, organisationId, eventId),
    },
  };
}
