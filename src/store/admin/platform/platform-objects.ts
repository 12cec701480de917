/**
 * The objects of an organisation's platform, as operators list and look them up. Each list has the
 * reads of the public API and the filters by which an operator searches. SQL, because the lists are
 * those of the public API. ADMIN-11.
 */
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

/** By whom a list can be searched. An absent member excludes nothing, here and below. */
interface CustomerSearch {
  readonly customer?: string | undefined;
  readonly customerCode?: string | undefined;
}

/** The first and the last day of a renewal, both included. */
interface RenewalSearch {
  readonly renewalFrom?: string | undefined;
  readonly renewalTo?: string | undefined;
}

/** The search of a list of subscriptions. `label` is a part of the label, in any case. */
interface SubscriptionSearch extends CustomerSearch, RenewalSearch {
  readonly plan?: string | undefined;
  readonly status: SubscriptionStatus | null;
  readonly label?: string | undefined;
  /** The number of an invoice or credit note of the subscription. */
  readonly number?: string | undefined;
}

/** The search of a list of documents. An empty list of statuses excludes nothing. */
interface DocumentSearch extends CustomerSearch {
  readonly issuedFrom?: string | undefined;
  readonly issuedTo?: string | undefined;
  readonly number?: string | undefined;
  readonly subscription?: string | undefined;
  readonly statuses: readonly DocumentStatus[];
}

/** The search of a list of invoices. Days of a renewal leave renewals only. */
interface InvoiceSearch extends DocumentSearch, RenewalSearch {
  readonly dueFrom?: string | undefined;
  readonly dueTo?: string | undefined;
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

/** SQL: whether a day is from the first to the last, both included. */
function dayFilters(
  column: Sql,
  from: string | undefined,
  to: string | undefined,
): readonly Filter[] {
  return [...filter(sql`${column} >= ?`, from), ...filter(sql`${column} <= ?`, to)];
}

// The code is looked up first, so that the list follows the customer's index.
const ofCode = sql`t.customer_id = (SELECT k.id FROM customers k
  WHERE k.organisation_id = $1 AND k.code = ?)`;

function customerFilters({ customer, customerCode }: CustomerSearch): readonly Filter[] {
  return [...filter(sql`t.customer_id = ?`, customer), ...filter(ofCode, customerCode)];
}

// One document has a number: those of invoices and of credit notes have different prefixes.
const ofNumber = sql`t.id = (SELECT d.subscription_id FROM invoices d
    WHERE d.organisation_id = $1 AND d.number = ?
  UNION ALL SELECT d.subscription_id FROM credit_notes d
    WHERE d.organisation_id = $1 AND d.number = ? LIMIT 1)`;

function subscriptionFilters(search: SubscriptionSearch): readonly Filter[] {
  return [
    ...customerFilters(search),
    ...filter(sql`t.plan_id = ?`, search.plan),
    ...dayFilters(sql`t.renewal_date`, search.renewalFrom, search.renewalTo),
    ...filter(sql`t.status = ?`, search.status),
    ...filter(sql`strpos(lower(t.label), lower(?)) > 0`, search.label),
    ...filter(ofNumber, search.number),
  ];
}

function documentFilters(search: DocumentSearch): readonly Filter[] {
  return [
    ...customerFilters(search),
    ...filter(sql`t.number = ?`, search.number),
    ...filter(sql`t.subscription_id = ?`, search.subscription),
    ...filter(sql`t.status = ANY (?)`, search.statuses.length === 0 ? null : search.statuses),
  ];
}

function invoiceFilters(search: InvoiceSearch): readonly Filter[] {
  return [
    ...documentFilters(search),
    ...dayFilters(sql`t.issue_date`, search.issuedFrom, search.issuedTo),
    ...dayFilters(sql`t.due_date`, search.dueFrom, search.dueTo),
    ...dayFilters(sql`${renews(sql`t`)} AND t.period_start`, search.renewalFrom, search.renewalTo),
  ];
}

// A credit note's day is stored as its midnight in UTC.
function creditNoteFilters(search: DocumentSearch): readonly Filter[] {
  return [
    ...documentFilters(search),
    ...filter(sql`t.credit_note_date >= ?::date::timestamp AT TIME ZONE 'UTC'`, search.issuedFrom),
    ...filter(sql`t.credit_note_date <= ?::date::timestamp AT TIME ZONE 'UTC'`, search.issuedTo),
  ];
}

const anyDay = "2026-03-10";
const anyCustomer = { customer: "", customerCode: "" };
const anyRenewal = { renewalFrom: anyDay, renewalTo: anyDay };
const anyDocument: DocumentSearch = {
  ...anyCustomer,
  ...{ issuedFrom: anyDay, issuedTo: anyDay, number: "", subscription: "", statuses: ["draft"] },
};

declarePage(
  "search_subscriptions",
  subscriptionListing,
  subscriptionFilters({
    ...anyCustomer,
    ...anyRenewal,
    ...{ plan: "", status: "active", label: "", number: "" },
  }),
);
declarePage(
  "search_invoices",
  invoiceListing,
  invoiceFilters({ ...anyDocument, ...anyRenewal, dueFrom: anyDay, dueTo: anyDay }),
);
declarePage("search_credit_notes", creditNoteListing, creditNoteFilters(anyDocument));
