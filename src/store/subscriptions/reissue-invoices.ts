/**
 * Loads the invoices that ends removed, with what they billed, and reissues them (RESTORE-3,
 * END-4). SQL for a list with lines.
 */
import type { BillingState } from "../../domain/model/billing-state.ts";
import type { Reissued, RemovedInvoice } from "../../domain/subscriptions/reissue.ts";
import { columns } from "../../gen/columns.ts";
import { savePeriods } from "../billing/locked-subscription.ts";
import type { Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { bool, type RowOf } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import { keepsPlace } from "../documents/document-presence.ts";
import { withIds } from "../documents/document-writes.ts";
import { invoiceColumns, invoiceRow, readInvoice } from "../documents/invoices.ts";
import { type Issuing, issueDocuments } from "../documents/issue-documents.ts";
import { withFacts } from "../documents/line-facts.ts";
import { dropRefusedLines } from "./reversals.ts";

const removedRow = {
  ...invoiceRow,
  periodIndex: columns.invoice.periodIndex,
  billsDeferred: bool,
};

// `now` may follow `period_end`, so all ends since the last restoration count. Reissued invoices
// are excluded. What a refused end removed stays removed. Invoices before the previous period bill
// nothing that can be restored. `$4` names one end, refused or not.
const readRemovedInvoices = query({
  name: "load_removed_invoices",
  text: sql`
    SELECT
      ${invoiceColumns}, t.period_index,
      EXISTS (
        SELECT 1
        FROM deferred_lines d
        WHERE d.organisation_id = $1 AND d.invoice_id = t.id
      ) AS bills_deferred
    FROM invoices t
    WHERE
      t.organisation_id = $1
      AND t.subscription_id = $2
      AND t.period_index >= $3::int - 1
      AND NOT ${keepsPlace(sql`t`)}
      AND EXISTS (
        SELECT 1
        FROM
          removals r
          JOIN terminations e ON e.organisation_id = $1 AND e.id = r.termination_id
        WHERE
          r.organisation_id = $1
          AND r.invoice_id = t.id
          AND r.state = 'removed'
          AND NOT r.reissued
          AND CASE WHEN $4::uuid IS NULL THEN e.ended ELSE e.id = $4 END
          AND e.seq > (
            SELECT coalesce(max(m.seq), 0)
            FROM restorations m
            WHERE m.organisation_id = $1 AND m.subscription_id = $2
          )
      )
    ORDER BY t.seq
  `,
  row: removedRow,
});

/**
 * Selects the current period's removed invoices and its neighbours'. With `terminationId`: of that
 * end. Without: of all completed ends since the last restoration.
 */
interface RemovedQuery {
  readonly subscriptionId: string;
  readonly currentPeriod: number;
  readonly terminationId: string | null;
}

/** The invoices that ends removed and that are not reissued, oldest first. */
export async function loadRemoved(
  client: Transaction,
  organisationId: string,
  { subscriptionId, currentPeriod, terminationId }: RemovedQuery,
): Promise<readonly RemovedInvoice[]> {
  const wanted = [subscriptionId, currentPeriod, terminationId];
  const rows = await readRemovedInvoices(client, organisationId, ...wanted);
  return withFacts(client, organisationId, rows.map(readRemoved));
}

function readRemoved(row: RowOf<typeof removedRow>): RemovedInvoice {
  const { id, number, type, lines } = readInvoice(row);
  const { periodIndex, billsDeferred } = row;
  return { id, number, type, lines, periodIndex, billsDeferred };
}

/** Reissues the invoices of a subscription. Returns the ids of the jobs that post them. */
export async function reissueInvoices(
  client: Transaction,
  state: BillingState,
  { periods, invoices, creditNote }: Reissued,
  issuing: Issuing,
): Promise<readonly string[]> {
  const { organisation, subscription, nextPeriod } = state;
  // The renewal invoice alone bills its period: what else bills of it is reversed (RESTORE-4).
  if (periods.some(({ index }) => index === nextPeriod?.index))
    await dropRefusedLines(client, state);
  const organisationId = organisation.id;
  const { id: subscriptionId } = subscription;
  const issued = withIds(subscriptionId, invoices);
  const creditNotes = withIds(subscriptionId, [creditNote && { draft: creditNote }]);
  const saved = periods.map((period) => ({ subscriptionId, period }));
  await savePeriods(client, organisationId, saved);
  await issueDocuments(client, organisationId, { invoices: issued, creditNotes }, issuing);
  // Deferred lines and billed usage move from removed invoices to the ones that replace them.
  for (const { id: invoiceId, replaces } of issued) {
    if (replaces === null) continue;
    const billed = { where: { organisationId, invoiceId: replaces }, data: { invoiceId } };
    await db(client).deferredLine.updateMany(billed);
    await db(client).usageBill.updateMany(billed);
  }
  return [...issued, ...creditNotes].map(({ jobId }) => jobId);
}
