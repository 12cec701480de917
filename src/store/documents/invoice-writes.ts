/**
 * Invoices and their lines as JSON records, and the SQL that reads them. Every statement that
 * issues invoices uses these.
 */

import type { InvoiceDraft, InvoiceLineDraft } from "../../domain/model/invoice.ts";
import { type Decimal, formatDecimal } from "../../domain/money/decimal.ts";
import { newId } from "../database/ids.ts";
import { type Sql, sql } from "../database/sql/sql.ts";
import { factsText } from "./line-facts.ts";

/** The columns of an `invoiceRecord`, as jsonb_to_recordset needs them. */
export const invoiceRecordType = sql`id uuid, position int, reference text, type text,
  currency text, subtotal numeric, issue_date date, due_date date, period_index int,
  period_start date, period_end date`;

/** The columns of a `lineRecord`, as jsonb_to_recordset needs them. */
export const lineRecordType = sql`id uuid, invoice_id uuid, position int, kind text, name text,
  description text, units int,
    quantity numeric, unit_price numeric, amount numeric, period_start date, period_end date,
      from_units int, to_units int, days_remaining int,
    days_in_period int, charge_id uuid, meter_id uuid, revenue_account text, tax_type text,
      amending boolean, facts text`;

/** Inserts lines from records `r`: everything between INSERT and FROM. `$1` is the organisation. */
export const insertLines = insertLinesAt(sql`r.position`);

/** The same, at a position that is SQL over `r`. */
export function insertLinesAt(position: Sql): Sql {
  return sql`
    INSERT INTO invoice_lines
      (
        id, organisation_id, invoice_id, position, kind, name, description, units, quantity,
        unit_price, amount, period_start, period_end, from_units, to_units, days_remaining,
        days_in_period, charge_id, meter_id, revenue_account, tax_type, amending, facts
      )
    SELECT
      r.id, $1, r.invoice_id, ${position}, r.kind, r.name, r.description, r.units, r.quantity,
      r.unit_price, r.amount, r.period_start, r.period_end, r.from_units, r.to_units,
      r.days_remaining, r.days_in_period, r.charge_id, r.meter_id, r.revenue_account, r.tax_type,
      r.amending, r.facts
  `;
}

/** SQL of a document's number: the prefix, then at least four digits. Both arguments are SQL. */
export function documentNumber(prefix: Sql, counted: Sql): Sql {
  const number = sql`(${counted})::text`;
  return sql`${prefix} || lpad(${number}, greatest(4, length(${number})), '0')`;
}

/** The record of an invoice to insert. Its number is counted from `position`. */
export function invoiceRecord(id: string, position: number, draft: InvoiceDraft): object {
  return {
    id,
    position,
    reference: draft.reference,
    type: draft.type,
    currency: draft.currency,
    subtotal: formatDecimal(draft.subtotal),
    issue_date: draft.issueDate,
    due_date: draft.dueDate,
    period_index: draft.periodIndex,
    period_start: draft.period?.start ?? null,
    period_end: draft.period?.end ?? null,
  };
}

/**
 * The records of an invoice's lines in order, with new ids. The sheets of their facts are saved by
 * `saveSheets`. `amending`: the ledger has the invoice already.
 */
export function lineRecords(
  { id: invoiceId, subscriptionId }: { readonly id: string; readonly subscriptionId: string },
  lines: readonly InvoiceLineDraft[],
  amending = false,
): object[] {
  return lines.map((line, position) => ({
    id: newId(),
    invoice_id: invoiceId,
    position,
    kind: line.kind,
    name: line.name,
    description: line.description,
    units: line.units,
    quantity: decimalText(line.quantity),
    unit_price: decimalText(line.unitPrice),
    amount: formatDecimal(line.amount),
    period_start: line.period?.start ?? null,
    period_end: line.period?.end ?? null,
    from_units: line.proration?.fromUnits ?? null,
    to_units: line.proration?.toUnits ?? null,
    days_remaining: line.proration?.daysRemaining ?? null,
    days_in_period: line.proration?.daysInPeriod ?? null,
    charge_id: line.chargeId,
    meter_id: line.meterId,
    revenue_account: line.revenueAccount,
    tax_type: line.taxType,
    amending,
    facts: factsText(line, subscriptionId),
  }));
}

/** Decimal text, or null for null. */
export function decimalText(value: Decimal | null): string | null {
  return value === null ? null : formatDecimal(value);
}
