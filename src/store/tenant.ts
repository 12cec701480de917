/**
 * The store as the services see it. Every read and write goes through one organisation, the tenant,
 * and every statement names it. ACCESS-8.
 */

import type { CreditNote } from "../domain/billing/credit-note.ts";
import type { Invoice } from "../domain/billing/invoice.ts";
import type { Charge, Plan } from "../domain/catalogue/plan.ts";
import type { Customer } from "../domain/customers/customer.ts";
import type { BillingState } from "../domain/subscriptions/billing-state.ts";
import type { UnitsDecision } from "../domain/subscriptions/change-units.ts";
import type { EndDecision, EndFacts } from "../domain/subscriptions/end.ts";
import type { OrganisationSettings } from "../domain/subscriptions/organisation-settings.ts";
import type { Restoration, RestorationFacts } from "../domain/subscriptions/restore.ts";
import type { ReportedUsage, UsageVerdict } from "../domain/usage/ingest.ts";
import { getOrganisation } from "./access/organisation-settings.ts";
import { findUnsent } from "./billing/billing-state.ts";
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
import { isId } from "./database/ids.ts";
import { getOne, type Listing, listPage, type Page, type PageRequest } from "./database/page.ts";
import type { AnyRow, Pool } from "./database/pool.ts";
import { creditNoteListing } from "./documents/credit-notes.ts";
import { type DocumentFilters, documentFilters, invoiceListing } from "./documents/invoices.ts";
import { abandonContact } from "./ledger-jobs/jobs.ts";
import {
  type AppliedUnitsChange,
  applyUnitsChange,
  getUnitsChange,
  type UnitsChangeOrder,
  type UnitsChangeOutcome,
} from "./subscriptions/change-units.ts";
import {
  type CreationQuery,
  type CreationSave,
  type CreationToSave,
  type InvoiceIds,
  type LoadedCreation,
  loadCreation,
  saveCreation,
} from "./subscriptions/create.ts";
import {
  createTermination,
  reportTermination,
  type TerminationOutcome,
  type TerminationRequest,
} from "./subscriptions/end.ts";
import {
  createRestoration,
  type RestorationOutcome,
  type RestorationRequest,
} from "./subscriptions/restore.ts";
import {
  type PlannedSubscription,
  type SubscriptionFilters,
  subscriptionFilters,
  subscriptionListing,
} from "./subscriptions/subscriptions.ts";
import { createStoreUsage, type StoreUsage } from "./usage/ingest.ts";

/**
 * A kind of object that can be listed, newest first, and looked up. Null for an id that does not
 * exist or belongs to another organisation.
 */
export interface Collection<T, Filters> {
  list(filters: Filters, page: PageRequest): Promise<Page<T>>;
  get(id: string): Promise<T | null>;
}

/** Everything that a service may do with one tenant's data. */
export interface Scope {
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
    /**
     * Bills what is due, then makes the change that `decide` returns, all under the lock of the
     * subscription. STATE-2.
     */
    changeUnits(
      change: UnitsChangeOrder,
      decide: (state: BillingState) => UnitsDecision,
    ): Promise<UnitsChangeOutcome>;
    getUnitsChange(id: string): Promise<AppliedUnitsChange>;
    /**
     * Bills what is due, then ends the subscription as `decide` returns. If invoices must be
     * removed first, only starts the end. END-3, END-4.
     */
    end(
      ending: TerminationRequest,
      decide: (facts: EndFacts) => EndDecision,
    ): Promise<TerminationOutcome>;
    /** Records that a caller was notified that the ledger refused this end. */
    reportTermination(terminationId: string): Promise<void>;
    /** Bills what is due, then restores the subscription as `decide` returns. RESTORE-1. */
    restore(
      restoration: RestorationRequest,
      decide: (facts: RestorationFacts) => Restoration,
    ): Promise<RestorationOutcome>;
    /** Returns the jobs that still have to post the subscription's first or renewal invoices. */
    findUnsent(id: string): Promise<readonly string[]>;
  };
  readonly invoices: Collection<Invoice, DocumentFilters> & {
    /** Returns the first invoice of a creation and the job that posts it. Null in Setup Mode. */
    findFirst(subscriptionId: string): Promise<InvoiceIds | null>;
  };
  readonly creditNotes: Collection<CreditNote, DocumentFilters>;
  readonly usage: {
    /** Stores a batch of events. Returns the outcome of each, in order. USAGE-2. */
    report(reported: readonly ReportedUsage[], now: Date): Promise<readonly UsageVerdict[]>;
  };
}

/** Opens the data of a tenant. */
export interface Store {
  organisation(organisationId: string): Scope;
}

/** Creates the store over a pool. */
export function createStore(pool: Pool): Store {
  const storeUsage = createStoreUsage(pool);
  return { organisation: (organisationId) => openScope(pool, storeUsage, organisationId) };
}

function openScope(pool: Pool, storeUsage: StoreUsage, organisationId: string): Scope {
  return {
    organisationId,
    settings: () => getOrganisation(pool, organisationId),
    customers: {
      ...collect(pool, organisationId, customerListing, customerFilters),
      save: (customer) => saveCustomer(pool, organisationId, customer),
      findCreation: (id) => findCustomerCreation(pool, organisationId, id),
      abandon: (jobId) => abandonContact(pool, organisationId, jobId),
    },
    plans: collect(pool, organisationId, planListing, catalogueFilters),
    charges: collect(pool, organisationId, chargeListing, catalogueFilters),
    subscriptions: {
      ...collect(pool, organisationId, subscriptionListing, subscriptionFilters),
      loadCreation: (query) => loadCreation(pool, organisationId, query),
      saveCreation: (creation) => saveCreation(pool, organisationId, creation),
      changeUnits: (change, decide) => applyUnitsChange(pool, organisationId, change, decide),
      getUnitsChange: (id) => getUnitsChange(pool, organisationId, id),
      end: (ending, decide) => createTermination(pool, organisationId, ending, decide),
      reportTermination: (terminationId) => reportTermination(pool, organisationId, terminationId),
      restore: (restoration, decide) =>
        createRestoration(pool, organisationId, restoration, decide),
      findUnsent: (id) => findUnsent(pool, organisationId, id),
    },
    invoices: {
      ...collect(pool, organisationId, invoiceListing, documentFilters),
      findFirst: (subscriptionId) => findFirst(pool, organisationId, subscriptionId),
    },
    creditNotes: collect(pool, organisationId, creditNoteListing, documentFilters),
    usage: { report: (reported, now) => storeUsage(organisationId, reported, now) },
  };
}

function collect<Row extends AnyRow, T, Filters>(
  pool: Pool,
  organisationId: string,
  listing: Listing<Row, T>,
  toFilters: (filters: Filters) => Parameters<typeof listPage>[3],
): Collection<T, Filters> {
  return {
    list: (filters, page) => listPage(pool, organisationId, listing, toFilters(filters), page),
    // An id that is no UUID identifies no object. REQUEST-12.
    get: async (id) => (isId(id) ? getOne(pool, organisationId, listing, id) : null),
  };
}

async function findFirst(
  pool: Pool,
  organisationId: string,
  subscriptionId: string,
): Promise<InvoiceIds | null> {
  const { rows } = await pool.query<{ invoice_id: string; job_id: string }>({
    name: "find_first_invoice",
    text: `SELECT o.invoice_id, o.id AS job_id
      FROM invoices i JOIN ledger_jobs o ON o.organisation_id = $1 AND o.invoice_id = i.id AND o.kind = 'create_invoice'
      WHERE i.organisation_id = $1 AND i.subscription_id = $2 AND i.type = 'first' ORDER BY i.seq, o.seq DESC LIMIT 1`,
    values: [organisationId, subscriptionId],
  });
  const row = rows[0];
  return row === undefined ? null : { invoiceId: row.invoice_id, jobId: row.job_id };
}
