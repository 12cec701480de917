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
import type { Prisma } from "../../gen/prisma/client.ts";
import { loadStates } from "../billing/billing-state.ts";
import type { LockedOrganisation } from "../billing/locked-subscription.ts";
import { newId } from "../database/ids.ts";
import type { Transaction } from "../database/pool.ts";
import type { Row } from "../database/prisma/row.ts";
import { counts, isNeverThere } from "../documents/document-presence.ts";
import { issueCreditNotes, issueInvoices } from "../documents/issue-documents.ts";

interface LineRow
  extends Row<
    Prisma.InvoiceLineModel,
    "name" | "description" | "amount" | "revenueAccount" | "taxType"
  > {
  invoice_id: string | null;
  number: string;
}

interface NextPeriodRow {
  lines: readonly LineRow[] | null;
  renewal_units: number | null;
}

// Invoices that an end is still to remove are left out. If the end leaves them alone, it reverses
// them when it finishes.
const isOtherInvoice = `d.organisation_id = $1 AND d.subscription_id = $2
  AND NOT (d.type = 'renewal' AND d.period_index = $5)
  AND NOT EXISTS (SELECT 1 FROM removals r WHERE r.organisation_id = $1 AND r.invoice_id = d.id
    AND r.state = 'waiting')`;
const isNote = "d.organisation_id = $1 AND d.subscription_id = $2";

// Usage of the period is no charge in advance.
const isInvoiceLine = `(l.kind <> 'usage'
  AND coalesce(l.period_start >= $3::date AND l.period_end <= $4::date, false))`;
const isNoteLine = `(l.meter_id IS NULL
  AND l.effective_date >= $3::date::timestamp AT TIME ZONE 'UTC'
  AND l.effective_date < $4::date::timestamp AT TIME ZONE 'UTC')`;

// Amounts are text, because a JSON number would become a float.
const nextPeriodText = `
SELECT (SELECT json_agg(line ORDER BY line.seq, line.position) FROM (
    SELECT d.seq, l.position, d.id AS invoice_id, d.number, l.name, l.description, l.amount::text,
      l.revenue_account, l.tax_type
    FROM invoices d JOIN invoice_lines l ON l.organisation_id = $1 AND l.invoice_id = d.id
    WHERE ${isOtherInvoice} AND ${counts("d")} AND ${isInvoiceLine}
    UNION ALL
    SELECT d.seq, l.position, NULL, d.number, l.name, l.description, (-l.amount)::text,
      l.revenue_account, l.tax_type
    FROM credit_notes d JOIN credit_note_lines l ON l.organisation_id = $1
      AND l.credit_note_id = d.id
    WHERE ${isNote} AND ${counts("d")} AND ${isNoteLine}
  ) line) AS lines,
  (SELECT l.units FROM invoices i JOIN invoice_lines l ON l.organisation_id = $1
    AND l.invoice_id = i.id AND l.kind = 'plan'
    WHERE i.organisation_id = $1 AND i.subscription_id = $2 AND i.type = 'renewal'
      AND i.period_index = $5
    ORDER BY i.seq DESC LIMIT 1) AS renewal_units`;

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
  const { rows } = await client.query<NextPeriodRow>({
    name: "load_next_period_lines",
    text: nextPeriodText,
    values: [...valuesOf(state, nextPeriod), nextPeriod.index],
  });
  return {
    lines: (rows[0]?.lines ?? []).map(readLine),
    renewalUnits: rows[0]?.renewal_units ?? null,
  };
}

const noteCredit = "remaining_credit = coalesce(r.kept, d.remaining_credit)";

// A document without another line is deleted with its lines, like one that was never sent. `kept`:
// what a retry still bills of the document.
const withoutNextText = (kind: "invoice" | "credit_note", isOfNext: string) => `
WITH refused AS (
  SELECT d.id, sum(l.amount) FILTER (WHERE NOT ${isOfNext}) AS kept
  FROM ${kind}s d JOIN ${kind}_lines l ON l.organisation_id = $1 AND l.${kind}_id = d.id
  WHERE ${kind === "invoice" ? isOtherInvoice : isNote}
    AND ${isNeverThere("d", `ledger_${kind}_id`)}
  GROUP BY d.id HAVING bool_or(${isOfNext})
), line AS (
  DELETE FROM ${kind}_lines l USING refused r
  WHERE l.organisation_id = $1 AND l.${kind}_id = r.id AND r.kept IS NOT NULL AND ${isOfNext}
)
UPDATE ${kind}s d SET status = CASE WHEN r.kept IS NULL THEN 'deleted' ELSE d.status END,
  sync_error = CASE WHEN r.kept IS NOT NULL THEN d.sync_error END,
  subtotal = coalesce(r.kept, d.subtotal), total = coalesce(r.kept, d.total),
  ${kind === "invoice" ? "amount_due = coalesce(r.kept, 0)" : noteCredit}
FROM refused r WHERE d.organisation_id = $1 AND d.id = r.id`;

const refusedInvoicesText = withoutNextText("invoice", isInvoiceLine);
const refusedNotesText = withoutNextText("credit_note", isNoteLine);

/**
 * Takes the lines of the next period off documents that the ledger refused and never had, so that a
 * retry bills the rest alone. The subscription must be locked (END-7).
 */
export async function dropRefusedLines(client: Transaction, state: BillingState): Promise<void> {
  const { nextPeriod } = state;
  if (nextPeriod === null) return;
  const values = valuesOf(state, nextPeriod);
  await client.query({
    name: "drop_refused_invoice_lines",
    text: refusedInvoicesText,
    values: [...values, nextPeriod.index],
  });
  await client.query({ name: "drop_refused_note_lines", text: refusedNotesText, values });
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
  const [loaded] = await loadStates(client, organisation, { ids: [subscriptionId], now });
  if (loaded === undefined) throw new Error(`subscription ${subscriptionId} is gone`);
  await dropRefusedLines(client, loaded.state);
  const { invoice, creditNote } = decideReversal(
    loaded.state,
    await loadNextPeriodLines(client, loaded.state),
  );
  const ids = () => ({ id: newId(), jobId: newId(), subscriptionId });
  const issuing = { createdAt: now, awaitedUntil: null };
  await issueInvoices(
    client,
    organisation.id,
    invoice === null ? [] : [{ ...ids(), ...invoice }],
    issuing,
  );
  await issueCreditNotes(
    client,
    organisation.id,
    creditNote === null ? [] : [{ ...ids(), draft: creditNote }],
    issuing,
  );
  return invoice !== null || creditNote !== null;
}

function readLine(row: LineRow): NextPeriodLine {
  return {
    invoiceId: row.invoice_id,
    number: row.number,
    name: row.name,
    description: row.description,
    amount: parseDecimal(row.amount),
    revenueAccount: row.revenue_account,
    taxType: row.tax_type,
  };
}
