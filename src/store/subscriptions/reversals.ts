/**
 * Loads what documents other than the renewal invoice bill of the next period. Issues the document
 * that reverses it, in the transaction that removes the renewal invoice (END-7). SQL: one read
 * loads the lines of several documents.
 */

import type { BillingState } from "../../domain/model/billing-state.ts";
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
import type { Row } from "../database/row.ts";
import { counts } from "../documents/document-presence.ts";
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

// Amounts are text, because a JSON number would become a float. Invoices that an end is still to
// remove are left out. If the end leaves them alone, it reverses them when it finishes. Usage of
// the period is no charge in advance.
const nextPeriodText = `
SELECT (SELECT json_agg(line ORDER BY line.seq, line.position) FROM (
    SELECT i.seq, l.position, i.id AS invoice_id, i.number, l.name, l.description, l.amount::text,
      l.revenue_account, l.tax_type
    FROM invoices i JOIN invoice_lines l ON l.organisation_id = $1 AND l.invoice_id = i.id
    WHERE i.organisation_id = $1 AND i.subscription_id = $2
      AND ${counts("i")}
      AND NOT (i.type = 'renewal' AND i.period_index = $3) AND l.kind <> 'usage'
        AND l.period_start >= $4::date AND l.period_end <= $5::date
      AND NOT EXISTS (SELECT 1 FROM removals r WHERE r.organisation_id = $1 AND r.invoice_id = i.id
        AND r.state = 'waiting')
    UNION ALL
    SELECT n.seq, l.position, NULL, n.number, l.name, l.description, (-l.amount)::text,
      l.revenue_account, l.tax_type
    FROM credit_notes n JOIN credit_note_lines l ON l.organisation_id = $1
      AND l.credit_note_id = n.id
    WHERE n.organisation_id = $1 AND n.subscription_id = $2
      AND ${counts("n")} AND l.meter_id IS NULL
      AND l.effective_date >= $4::date::timestamp AT TIME ZONE 'UTC'
        AND l.effective_date < $5::date::timestamp AT TIME ZONE 'UTC'
  ) line) AS lines,
  (SELECT l.units FROM invoices i JOIN invoice_lines l ON l.organisation_id = $1
    AND l.invoice_id = i.id AND l.kind = 'plan'
    WHERE i.organisation_id = $1 AND i.subscription_id = $2 AND i.type = 'renewal'
      AND i.period_index = $3
    ORDER BY i.seq DESC LIMIT 1) AS renewal_units`;

/**
 * Loads what documents other than the renewal invoice bill of the next period. The subscription
 * must be locked.
 */
export async function loadNextPeriodLines(
  client: Transaction,
  { organisation, subscription, nextPeriod }: BillingState,
): Promise<NextPeriodLines> {
  if (nextPeriod === null) return noNextPeriodLines;
  const { rows } = await client.query<NextPeriodRow>({
    name: "load_next_period_lines",
    text: nextPeriodText,
    values: [organisation.id, subscription.id, nextPeriod.index, nextPeriod.start, nextPeriod.end],
  });
  return {
    lines: (rows[0]?.lines ?? []).map(readLine),
    renewalUnits: rows[0]?.renewal_units ?? null,
  };
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
