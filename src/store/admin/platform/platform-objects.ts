/**
 * The objects of an organisation's platform, as operators list and look them up. Each list has the
 * reads of the public API and the filters by which an operator searches. SQL, because the lists are
 * those of the public API. ADMIN-11.
 */
import { type CivilDate, civilDate } from "../../../domain/calendar/civil-date.ts";
import type { DocumentStatus } from "../../../domain/model/invoice.ts";
import type { SubscriptionStatus } from "../../../domain/model/subscription.ts";
import { collection, declarePage, type Filter, filter } from "../../database/page.ts";
import type { Pool } from "../../database/pool.ts";
import { type Sql, sql } from "../../database/sql/sql.ts";
import { creditNoteListing } from "../../documents/credit-notes.ts";
import { renews } from "../../documents/document-presence.ts";
import { invoiceListing } from "../../documents/invoices.ts";
import { subscriptionListing } from "../../subscriptions/subscriptions.ts";
import { eventFilters, eventListing } from "./events.ts";

/** By whom a list can be searched. A null member excludes nothing. */
interface CustomerSearch {
  readonly customerId: string | null;
  readonly customerCode: string | null;
}

/** Days from the first to the last, both included. A null end is open. */
interface Days {
  readonly from: CivilDate | null;
  readonly to: CivilDate | null;
}

/** The search of a list of subscriptions. `label` is a part of the label, in any case. */
export interface SubscriptionSearch extends CustomerSearch {
  readonly planId: string | null;
  readonly renewal: Days;
  readonly status: SubscriptionStatus | null;
  readonly label: string | null;
  /** The number of an invoice or credit note of the subscription. */
  readonly number: string | null;
}

/** The search of a list of documents. An empty list of statuses excludes nothing. */
export interface DocumentSearch extends CustomerSearch {
  readonly issued: Days;
  readonly number: string | null;
  readonly subscriptionId: string | null;
  readonly statuses: readonly DocumentStatus[];
}

/** The search of a list of invoices. `renewal` leaves renewals only. */
export interface InvoiceSearch extends DocumentSearch {
  readonly due: Days;
  readonly renewal: Days;
}

/** Creates the reads over a pool. */
export function createPlatformObjects(pool: Pool) {
  return {
    subscriptions: collection(pool, subscriptionListing, subscriptionFilters),
    invoices: collection(pool, invoiceListing, invoiceFilters),
    creditNotes: collection(pool, creditNoteListing, creditNoteFilters),
    events: collection(pool, eventListing, eventFilters),
  };
}

function dayFilters(column: Sql, { from, to }: Days): readonly Filter[] {
  return [...filter(sql`${column} >= ?`, from), ...filter(sql`${column} <= ?`, to)];
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
    ...filter(sql`t.plan_id = ?`, search.planId),
    ...dayFilters(sql`t.renewal_date`, search.renewal),
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

function invoiceFilters(search: InvoiceSearch): readonly Filter[] {
  return [
    ...documentFilters(search),
    ...dayFilters(sql`t.issue_date`, search.issued),
    ...dayFilters(sql`t.due_date`, search.due),
    ...dayFilters(sql`${renews(sql`t`)} AND t.period_start`, search.renewal),
  ];
}

// A credit note's day is stored as its midnight in UTC.
function creditNoteFilters(search: DocumentSearch): readonly Filter[] {
  const { from, to } = search.issued;
  return [
    ...documentFilters(search),
    ...filter(sql`t.credit_note_date >= ?::date::timestamp AT TIME ZONE 'UTC'`, from),
    ...filter(sql`t.credit_note_date <= ?::date::timestamp AT TIME ZONE 'UTC'`, to),
  ];
}

const anyCustomer: CustomerSearch = { customerId: "", customerCode: "" };
const anyDays: Days = { from: civilDate("2026-03-10"), to: civilDate("2026-03-10") };
const anyDocument: DocumentSearch = {
  ...anyCustomer,
  issued: anyDays,
  number: "",
  subscriptionId: "",
  statuses: ["draft"],
};

declarePage(
  "search_subscriptions",
  subscriptionListing,
  subscriptionFilters({
    ...anyCustomer,
    planId: "",
    renewal: anyDays,
    status: "active",
    label: "",
    number: "",
  }),
);
declarePage(
  "search_invoices",
  invoiceListing,
  invoiceFilters({ ...anyDocument, due: anyDays, renewal: anyDays }),
);
declarePage("search_credit_notes", creditNoteListing, creditNoteFilters(anyDocument));
