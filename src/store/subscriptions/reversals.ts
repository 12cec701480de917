/**
 * Loads what documents other than the renewal invoice bill of the next period. Issues the document
 * that reverses it, in the transaction that removes the renewal invoice (END-7). SQL: one read
 * loads the lines of several documents.
 */

import type { BillingState, PeriodState } from "../../domain/model/billing-state.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import {
  decideReversal,
  type NextPeriodLine,
  type NextPeriodLines,
  noNextPeriodLines,
} from "../../domain/subscriptions/reversal.ts";
import { columns } from "../../gen/columns.ts";
import { loadStates } from "../billing/billing-state.ts";
import type { LockedOrganisation } from "../billing/locked-subscription.ts";
import type { Transaction } from "../database/pool.ts";
import { int, jsonRows, pick, type RowOf, text } from "../database/sql/columns.ts";
import { identifier, type Sql, sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";
import { counts, isNeverThere } from "../documents/document-presence.ts";
import { withIds } from "../documents/document-writes.ts";
import { issueDocuments } from "../documents/issue-documents.ts";

const lineRow = {
  ...pick(columns.invoiceLine, "id", "name", "description", "revenueAccount", "taxType"),
  invoiceId: columns.invoiceLine.invoiceId.orNull(),
  number: columns.invoice.number,
  amount: text,
};

// Invoices that an end is still to remove are left out. If the end leaves them alone, it reverses
// them when it finishes.
const isOtherInvoice = sql`d.organisation_id = $1 AND d.subscription_id = $2
  AND NOT (d.type = 'renewal' AND d.period_index = $5)
  AND NOT EXISTS (SELECT 1 FROM removals r WHERE r.organisation_id = $1 AND r.invoice_id = d.id
    AND r.state = 'waiting')`;
const isNote = sql`d.organisation_id = $1 AND d.subscription_id = $2`;

// Usage of the period is no charge in advance.
const isInvoiceLine = sql`(l.kind <> 'usage'
  AND coalesce(l.period_start >= $3::date AND l.period_end <= $4::date, false))`;
const isNoteLine = sql`(l.meter_id IS NULL
  AND l.effective_date >= $3::date::timestamp AT TIME ZONE 'UTC'
  AND l.effective_date < $4::date::timestamp AT TIME ZONE 'UTC')`;

// Amounts are text, because a JSON number would become a float.
const readNextPeriod = query({
  name: "load_next_period_lines",
  text: sql`
    SELECT
      (
        SELECT json_agg(line ORDER BY line.seq, line.position)
        FROM
          (
            SELECT
              d.seq, l.position, l.id, d.id AS invoice_id, d.number, l.name, l.description,
              l.amount::text, l.revenue_account, l.tax_type
            FROM
              invoices d
              JOIN invoice_lines l ON l.organisation_id = $1 AND l.invoice_id = d.id
            WHERE ${isOtherInvoice} AND ${counts(sql`d`)} AND ${isInvoiceLine}
            UNION ALL
            SELECT
              d.seq, l.position, l.id, NULL, d.number, l.name, l.description,
              (-l.amount)::text,
              l.revenue_account, l.tax_type
            FROM
              credit_notes d
              JOIN credit_note_lines l ON l.organisation_id = $1 AND l.credit_note_id = d.id
            WHERE ${isNote} AND ${counts(sql`d`)} AND ${isNoteLine}
          ) line
      ) AS lines,
      (
        SELECT l.units
        FROM
          invoices i
          JOIN invoice_lines l ON l.organisation_id = $1 AND l.invoice_id = i.id AND l.kind = 'plan'
        WHERE
          i.organisation_id = $1
          AND i.subscription_id = $2
          AND i.type = 'renewal'
          AND i.period_index = $5
        ORDER BY i.seq DESC
        LIMIT 1
      ) AS renewal_units
  `,
  row: { lines: jsonRows(lineRow).orNull(), renewalUnits: int.orNull() },
});

function valuesOf({ organisation, subscription }: BillingState, next: PeriodState): unknown[] {
  return [organisation.id, subscription.id, next.start, next.end];
}

/**
 * Loads what documents other than the renewal invoice bill of the next period. The subscription
 * must be locked.
 */
export async function loadNextPeriodLines(
  client: Transaction,
  state: BillingState,
): Promise<NextPeriodLines> {
  const { nextPeriod } = state;
  if (nextPeriod === null) return noNextPeriodLines;
  const [row] = await readNextPeriod(client, ...valuesOf(state, nextPeriod), nextPeriod.index);
  return { lines: (row?.lines ?? []).map(readLine), renewalUnits: row?.renewalUnits ?? null };
}

const noteCredit = sql`remaining_credit = coalesce(r.kept, d.remaining_credit)`;

// A document without another line is deleted with its lines, like one that was never sent. `kept`:
// what a retry still bills of the document.
const dropLines = (name: string, kind: "invoice" | "credit_note", isOfNext: Sql) => {
  const [documents, lines] = [identifier(`${kind}s`), identifier(`${kind}_lines`)];
  const documentId = identifier(`${kind}_id`);
  return command({
    name,
    text: sql`WITH refused AS (
        SELECT d.id, sum(l.amount) FILTER (WHERE NOT ${isOfNext}) AS kept
        FROM ${documents} d JOIN ${lines} l ON l.organisation_id = $1 AND l.${documentId} = d.id
        WHERE ${kind === "invoice" ? isOtherInvoice : isNote}
          AND ${isNeverThere(sql`d`, identifier(`ledger_${kind}_id`))}
        GROUP BY d.id HAVING bool_or(${isOfNext})
      ), line AS (
        DELETE FROM ${lines} l USING refused r
        WHERE l.organisation_id = $1 AND l.${documentId} = r.id AND r.kept IS NOT NULL
          AND ${isOfNext}
      )
      UPDATE ${documents} d SET status = CASE WHEN r.kept IS NULL THEN 'deleted' ELSE d.status END,
        sync_error = CASE WHEN r.kept IS NOT NULL THEN d.sync_error END,
        subtotal = coalesce(r.kept, d.subtotal), total = coalesce(r.kept, d.total),
        ${kind === "invoice" ? sql`amount_due = coalesce(r.kept, 0)` : noteCredit}
      FROM refused r WHERE d.organisation_id = $1 AND d.id = r.id`,
  });
};

const dropInvoiceLines = dropLines("drop_refused_invoice_lines", "invoice", isInvoiceLine);
const dropNoteLines = dropLines("drop_refused_note_lines", "credit_note", isNoteLine);

/**
 * Takes the lines of the next period off documents that the ledger refused and never had, so that a
 * retry bills the rest alone. The subscription must be locked (END-7).
 */
export async function dropRefusedLines(client: Transaction, state: BillingState): Promise<void> {
  const { nextPeriod } = state;
  if (nextPeriod === null) return;
  const values = valuesOf(state, nextPeriod);
  await dropInvoiceLines(client, ...values, nextPeriod.index);
  await dropNoteLines(client, ...values);
}

/**
 * Reverses those lines once the renewal invoice is removed. True if a document must be posted. The
 * subscription must be locked.
 */
export async function reverseNextPeriod(
  client: Transaction,
  { organisation, now }: LockedOrganisation,
  subscriptionId: string,
): Promise<boolean> {
  const [state] = await loadStates(client, organisation, { ids: [subscriptionId], now });
  if (state === undefined) throw new Error(`subscription ${subscriptionId} is gone`);
  await dropRefusedLines(client, state);
  const { invoice, creditNote } = decideReversal(state, await loadNextPeriodLines(client, state));
  const documents = {
    invoices: withIds(subscriptionId, [invoice]),
    creditNotes: withIds(subscriptionId, [creditNote && { draft: creditNote }]),
  };
  const issuing = { createdAt: now, awaitedUntil: null };
  await issueDocuments(client, organisation.id, documents, issuing);
  return invoice !== null || creditNote !== null;
}

function readLine(row: RowOf<typeof lineRow>): NextPeriodLine {
  return { ...row, amount: parseDecimal(row.amount) };
}
