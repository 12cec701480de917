/**
 * The objects of an organisation's platform, as operators list and look them up. Each list has the
 * reads of the public API and the filters by which an operator searches. SQL, because the lists are
 * those of the public API. ADMIN-11.
 */
import type { CreditNote } from "../../../domain/model/credit-note.ts";
import type { DocumentStatus, Invoice } from "../../../domain/model/invoice.ts";
import type { SubscriptionStatus } from "../../../domain/model/subscription.ts";
import { isId } from "../../database/ids.ts";
import {
  declarePage,
  type Filter,
  getOne,
  type Listing,
  listPage,
  type Page,
  type PageRequest,
} from "../../database/page.ts";
import type { Pool } from "../../database/pool.ts";
import type { Shape } from "../../database/sql/columns.ts";
import { type Sql, sql } from "../../database/sql/sql.ts";
import { creditNoteListing } from "../../documents/credit-notes.ts";
import { invoiceListing } from "../../documents/invoices.ts";
import {
  type PlannedSubscription,
  subscriptionListing,
} from "../../subscriptions/subscriptions.ts";
import { type EventSearch, eventFilters, eventListing, type StoredEvent } from "./events.ts";

/** A kind of object. Null stands for an id that the organisation does not have. */
export interface Searched<T, Search> {
  list(organisationId: string, search: Search, page: PageRequest): Promise<Page<T>>;
  get(organisationId: string, id: string): Promise<T | null>;
}

/** By whom a list can be searched. A null member excludes nothing. */
interface CustomerSearch {
  readonly customerId: string | null;
  readonly customerCode: string | null;
}

/** The search of a list of subscriptions. `label` is a part of the label, in any case. */
export interface SubscriptionSearch extends CustomerSearch {
  readonly status: SubscriptionStatus | null;
  readonly label: string | null;
  /** The number of an invoice or credit note of the subscription. */
  readonly number: string | null;
}

/** The search of a list of documents. An empty list of statuses excludes nothing. */
export interface DocumentSearch extends CustomerSearch {
  readonly number: string | null;
  readonly subscriptionId: string | null;
  readonly statuses: readonly DocumentStatus[];
}

/** What the platform of an organisation sees. */
export interface PlatformObjects {
  readonly subscriptions: Searched<PlannedSubscription, SubscriptionSearch>;
  readonly invoices: Searched<Invoice, DocumentSearch>;
  readonly creditNotes: Searched<CreditNote, DocumentSearch>;
  readonly events: Searched<StoredEvent, EventSearch>;
}

/** Creates the reads over a pool. */
export function createPlatformObjects(pool: Pool): PlatformObjects {
  return {
    subscriptions: searched(pool, subscriptionListing, subscriptionFilters),
    invoices: searched(pool, invoiceListing, documentFilters),
    creditNotes: searched(pool, creditNoteListing, documentFilters),
    events: searched(pool, eventListing, eventFilters),
  };
}

function searched<S extends Shape, T, Search>(
  pool: Pool,
  listing: Listing<S, T>,
  filtersOf: (search: Search) => readonly Filter[],
): Searched<T, Search> {
  return {
    list: (organisationId, search, page) =>
      listPage(pool, organisationId, listing, filtersOf(search), page),
    // An id that is no UUID identifies no object. REQUEST-12.
    get: async (organisationId, id) =>
      isId(id) ? getOne(pool, organisationId, listing, id) : null,
  };
}

/** A condition, or none for a null value. */
function filter(condition: Sql, value: unknown): readonly Filter[] {
  return value === null ? [] : [{ sql: condition, value }];
}

// The code is looked up first, so that the list follows the customer's index.
const ofCode = sql`t.customer_id = (SELECT k.id FROM customers k
  WHERE k.organisation_id = $1 AND k.code = ?)`;

function customerFilters({ customerId, customerCode }: CustomerSearch): readonly Filter[] {
  return [...filter(sql`t.customer_id = ?`, customerId), ...filter(ofCode, customerCode)];
}

// One document has a number: those of invoices and of credit notes have different prefixes.
const ofNumber = sql`t.id = (SELECT d.subscription_id FROM invoices d
    WHERE d.organisation_id = $1 AND d.number = ?
  UNION ALL SELECT d.subscription_id FROM credit_notes d
    WHERE d.organisation_id = $1 AND d.number = ? LIMIT 1)`;

function subscriptionFilters(search: SubscriptionSearch): readonly Filter[] {
  return [
    ...customerFilters(search),
    ...filter(sql`t.status = ?`, search.status),
    ...filter(sql`strpos(lower(t.label), lower(?)) > 0`, search.label),
    ...filter(ofNumber, search.number),
  ];
}

function documentFilters(search: DocumentSearch): readonly Filter[] {
  return [
    ...customerFilters(search),
    ...filter(sql`t.number = ?`, search.number),
    ...filter(sql`t.subscription_id = ?`, search.subscriptionId),
    ...filter(sql`t.status = ANY (?)`, search.statuses.length === 0 ? null : search.statuses),
  ];
}

const anyCustomer: CustomerSearch = { customerId: "", customerCode: "" };
const anyDocument = documentFilters({
  ...anyCustomer,
  number: "",
  subscriptionId: "",
  statuses: ["draft"],
});

declarePage(
  "search_subscriptions",
  subscriptionListing,
  subscriptionFilters({ ...anyCustomer, status: "active", label: "", number: "" }),
);
declarePage("search_invoices", invoiceListing, anyDocument);
declarePage("search_credit_notes", creditNoteListing, anyDocument);
