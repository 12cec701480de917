/** Lists invoices with their lines. */

import type { DocumentStatus } from "../../domain/model/invoice.ts";
import { type Filter, filter, listing } from "../database/page.ts";
import { columnsOf, sql } from "../database/sql/sql.ts";
import { invoiceMembers, invoiceRow, readInvoice } from "./invoice-row.ts";

/**
 * The lines of invoice `t` as JSON, in order. Amounts are text, so that JSON makes no float of
 * them. Converting whole rows to JSON costs the server a third less than building objects by
 * member.
 */
const linesJson = sql`(SELECT json_agg(r)
  FROM (SELECT l.id, l.kind, l.name, l.description, l.units,
    l.quantity::text AS quantity, l.unit_price::text AS unit_price, l.amount::text AS amount,
      l.period_start, l.period_end,
    l.from_units, l.to_units, l.days_remaining, l.days_in_period, l.charge_id, l.meter_id,
      l.revenue_account,
    l.tax_type, l.amending
  FROM invoice_lines l WHERE l.organisation_id = t.organisation_id AND l.invoice_id = t.id
    ORDER BY l.position) r)`;

/** The columns of `invoiceRow`. */
export const invoiceColumns = sql`${columnsOf(sql`t`, invoiceMembers)}, ${linesJson} AS lines`;

/** The filters of document lists. A null or empty filter excludes nothing (OBJECT-5). */
export interface DocumentFilters {
  readonly subscription: string | null;
  readonly customer: string | null;
  readonly statuses: readonly DocumentStatus[];
}

/** Converts the filters to SQL conditions. */
export function documentFilters(filters: DocumentFilters): readonly Filter[] {
  const { subscription, customer, statuses } = filters;
  return [
    ...filter(sql`t.subscription_id = ?`, subscription, true),
    ...filter(sql`t.customer_id = ?`, customer, true),
    ...filter(sql`t.status = ANY (?)`, statuses.length === 0 ? null : statuses),
  ];
}

/** Reads invoices with their lines. */
export const invoiceListing = listing(
  "invoices",
  {
    table: sql`invoices`,
    columns: invoiceColumns,
    row: invoiceRow,
    read: readInvoice,
  },
  documentFilters({ subscription: "", customer: "", statuses: ["draft"] }),
);
