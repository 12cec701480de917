/**
 * Puts a leftover right, by one separate document or one corrected status. The subscription is
 * locked, and the leftover is read under the lock, so that it is put right once. SQL, because one
 * read finds a line of either kind of document with its period. ADMIN-16.
 */
import { strict as assert } from "node:assert";
import { draftCreditNote } from "../../../domain/billing/invoice-lines.ts";
import {
  billIncrease,
  chargeBack,
  creditBack,
} from "../../../domain/billing/leftover-documents.ts";
import { civilDate } from "../../../domain/calendar/civil-date.ts";
import type { ReversalCreditFacts } from "../../../domain/explanation/facts.ts";
import type { BillingState } from "../../../domain/model/billing-state.ts";
import type { CreditNoteDraft } from "../../../domain/model/credit-note.ts";
import type { InvoiceDraft } from "../../../domain/model/invoice.ts";
import { formatShort, isZero, parseDecimal } from "../../../domain/money/decimal.ts";
import { decideLateRemoval } from "../../../domain/subscriptions/reissue.ts";
import { columns } from "../../../gen/columns.ts";
import type { LockedOrganisation } from "../../billing/locked-subscription.ts";
import { getThese } from "../../database/page.ts";
import type { Transaction } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { pick } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { command, query } from "../../database/sql/statement.ts";
import { withIds } from "../../documents/document-writes.ts";
import { invoiceListing } from "../../documents/invoices.ts";
import { issueDocuments } from "../../documents/issue-documents.ts";
import { type IssuedDocument, issuedSince, lastNumber } from "../../documents/issued-since.ts";
import { withFacts } from "../../documents/line-facts.ts";
import { closeAmendment } from "../../ledger-jobs/amendments/abandon-amendment.ts";
import { planAllocations } from "../../ledger-jobs/credit-allocations.ts";
import { seizeJob } from "../../ledger-jobs/job-lease.ts";
import { reissueInvoices } from "../../subscriptions/reissue-invoices.ts";
import { dropRefusedLines, loadNextPeriodLines } from "../../subscriptions/reversals.ts";
import { type Changed, changed } from "../changes.ts";
import { amendAgain } from "../documents/retry-documents.ts";
import { loadReversal } from "./leftover-kinds.ts";
import type { Leftover } from "./list-leftovers.ts";
import { findUnbilledIncreases } from "./unbilled-increases.ts";

/** A leftover whose subscription is locked. */
export interface LockedLeftover {
  readonly leftover: Leftover;
  readonly state: BillingState;
  readonly locked: LockedOrganisation;
}

/** Puts the leftover right. Returns the documents that it issued, with the change for the log. */
export async function mendLeftover(
  client: Transaction,
  { leftover, state, locked }: LockedLeftover,
  reason: string,
): Promise<Changed<readonly IssuedDocument[]>> {
  const organisationId = state.organisation.id;
  const { subscriptionId } = leftover;
  const before = await lastNumber(client, organisationId, subscriptionId);
  await menders[leftover.kind](client, { leftover, state, locked });
  await planAllocations(client, organisationId, [subscriptionId]);
  const documents = await issuedSince(client, organisationId, subscriptionId, before);
  const { id, numbers, amount } = leftover;
  return changed(documents, {
    targetKind: "subscription",
    targetId: subscriptionId,
    organisationId,
    before: { leftover: id, numbers, amount },
    after: { documents, reason },
  });
}

type Mend = (client: Transaction, locked: LockedLeftover) => Promise<void>;

const menders: Readonly<Record<Leftover["kind"], Mend>> = {
  unbilled_amendment: billSeparately,
  end_without_counterpart: takeReversalBack,
  removed_stands: removeAgain,
  setup_mode_usage: creditUsage,
  unbilled_increase: billInPeriod,
};

/** Closes the amendment as one whose invoice can no longer be changed (UNITS-8). */
async function billSeparately(client: Transaction, { leftover, state }: LockedLeftover) {
  const organisationId = state.organisation.id;
  const { objectId: id, subscriptionId } = leftover;
  const invoice = await db(client).invoice.findFirst({
    where: { organisationId, id },
    select: { status: true },
  });
  const refused = await db(client).ledgerJob.findFirst({
    where: { organisationId, invoiceId: id, kind: "amend_invoice", state: "refused" },
    orderBy: { seq: "desc" },
    select: { id: true },
  });
  assert(invoice && refused, "an amendment was refused");
  const retried = { id, subscriptionId, refusedId: refused.id };
  const jobId = await amendAgain(client, organisationId, retried);
  const { attempt } = await seizeJob(client, organisationId, jobId);
  const amendment = { id: jobId, attempts: attempt, subscriptionId };
  const status = invoice.status as BillingState["invoices"][number]["status"];
  await closeAmendment(client, organisationId, amendment, {
    kind: "closed",
    reason: "billed_separately",
    message: "An operator had the refused amendment billed separately.",
    invoice: { status, total: null, amountDue: null, sent: null },
    isRepriceable: false,
  });
}

/**
 * Charges a credit back, or credits a charge back. What the ledger refused and never had loses its
 * lines of that period, so that a retry bills the rest alone (END-7).
 */
async function takeReversalBack(client: Transaction, { leftover, state, locked }: LockedLeftover) {
  const organisationId = state.organisation.id;
  const reversed = leftover.numbers[1];
  const [row] = await loadReversal(client, organisationId, leftover.objectId, reversed);
  assert(row, "a reversal has its period");
  const { isCredit, documentId, index } = row;
  const period = { index, start: civilDate(row.start), end: civilDate(row.end) };
  const billedUnits = row.billedUnits ?? 0;
  const lineId = leftover.objectId;
  const wrong = { ...row, lineId, amount: parseDecimal(row.amount), period, billedUnits };
  if (isCredit) {
    await issue(client, { state, locked }, chargeBack(state, wrong), null);
    const where = { organisationId, id: leftover.objectId };
    await db(client).creditNoteLine.updateMany({ where, data: { reversedInvoiceId: null } });
  } else await issue(client, { state, locked }, null, creditBack(state, wrong, documentId));
  await dropRefusedLines(client, { ...state, nextPeriod: { ...state.period, ...period } });
}

const setRemoved = query({
  name: "set_removed_again",
  text: sql`
    UPDATE invoices i
    SET
      sync_error = NULL,
      amount_due = 0,
      status = CASE
        WHEN EXISTS (
          SELECT
          FROM removals r
          WHERE r.organisation_id = $1 AND r.invoice_id = i.id AND r.outcome = 'voided'
        ) THEN 'voided'
        ELSE 'deleted'
      END
    WHERE i.organisation_id = $1 AND i.id = $2
    RETURNING i.period_index
  `,
  row: pick(columns.invoice, "periodIndex"),
});

/**
 * Sets the invoice removed again. If the subscription was restored since and nothing bills the
 * period, the invoice is issued again (RESTORE-3).
 */
async function removeAgain(client: Transaction, { leftover, state, locked }: LockedLeftover) {
  const organisationId = state.organisation.id;
  const [row] = await setRemoved(client, organisationId, leftover.objectId);
  const found = await getThese(client, organisationId, invoiceListing, [leftover.objectId]);
  const [invoice] = await withFacts(client, organisationId, found);
  if (isZero(parseDecimal(leftover.amount)) || invoice === undefined || row === undefined) return;
  const next = await loadNextPeriodLines(client, state);
  const again = decideLateRemoval(state, { ...invoice, ...row }, next);
  const issuing = { createdAt: locked.now, awaitedUntil: null };
  await reissueInvoices(client, state, again, issuing);
  const removal = { organisationId, invoiceId: invoice.id, state: "removed" };
  if (again.invoices.length > 0)
    await db(client).removal.updateMany({ where: removal, data: { reissued: true } });
}

const loadUsage = query({
  name: "load_usage_to_credit",
  text: sql`
    SELECT
      m.name, m.id AS meter_id,
      sum(b.amount) AS amount,
      (max(b.invoice_id::text))::uuid AS invoice_id,
      max(m.revenue_account) AS revenue_account,
      max(m.tax_type) AS tax_type
    FROM
      usage_bills b
      JOIN meters m ON m.organisation_id = $1 AND m.id = b.meter_id
    WHERE b.organisation_id = $1 AND b.subscription_id = $2 AND b.period_index = 0
    GROUP BY m.id, m.name
    HAVING sum(b.amount) > 0
    ORDER BY m.name, m.id
  `,
  row: {
    ...pick(columns.meter, "name", "revenueAccount", "taxType"),
    ...pick(columns.usageBill, "meterId", "amount", "invoiceId"),
  },
});

/** Credits what was billed of the period's usage. The period counts as one of Setup Mode. */
async function creditUsage(client: Transaction, { leftover, state, locked }: LockedLeftover) {
  const organisationId = state.organisation.id;
  const { subscriptionId } = leftover;
  const rows = await loadUsage(client, organisationId, subscriptionId);
  const { subscription, organisation, today } = state;
  const lines = rows.map(({ name, meterId, amount, invoiceId, revenueAccount, taxType }) => ({
    name,
    description: `Credits usage from ${subscription.startDate} on: the period began in Setup Mode`,
    amount: parseDecimal(amount),
    facts: creditFacts(amount),
    effectiveDate: subscription.startDate,
    meterId,
    revenueAccount: revenueAccount ?? organisation.revenueAccount,
    taxType: taxType ?? organisation.taxType,
    ...(invoiceId === null ? {} : { reversedInvoiceId: invoiceId }),
  }));
  await issue(client, { state, locked }, null, draftCreditNote(subscription, lines, today));
  await db(client).period.updateMany({
    where: { organisationId, subscriptionId, index: 0 },
    data: { setupMode: true },
  });
}

const setBilled = command({
  name: "set_increase_billed",
  text: sql`
    UPDATE periods p
    SET
      billed_separately = true,
      billed_units = CASE WHEN p.billed_units = $4 THEN $5 ELSE p.billed_units END
    WHERE p.organisation_id = $1 AND p.subscription_id = $2 AND p.index = $3
  `,
});

/** Bills the increase over all days of its period, as a separate change would have (UNITS-9). */
async function billInPeriod(client: Transaction, { leftover, state, locked }: LockedLeftover) {
  const organisationId = state.organisation.id;
  const increases = await findUnbilledIncreases(client, organisationId);
  const found = increases.find(({ leftover: { id } }) => id === leftover.id);
  assert(found, "a leftover is read under its lock");
  const { period, fromUnits, toUnits } = found.increase;
  await issue(client, { state, locked }, billIncrease(state, found.increase), null);
  const { subscriptionId } = leftover;
  await setBilled(client, organisationId, subscriptionId, period.index, fromUnits, toUnits);
}

/** The whole of what usage bills charged is credited. It may stand on several lines. */
function creditFacts(amount: string): ReversalCreditFacts {
  return { r: "reversal_credit/1", l: [formatShort(parseDecimal(amount))], y: [], o: [] };
}

async function issue(
  client: Transaction,
  { state, locked }: Pick<LockedLeftover, "state" | "locked">,
  invoice: InvoiceDraft | null,
  note: CreditNoteDraft | null,
): Promise<void> {
  const { organisation, subscription } = state;
  const documents = {
    invoices: withIds(subscription.id, [invoice && { draft: invoice }]),
    creditNotes: withIds(subscription.id, [note && { draft: note }]),
  };
  const issuing = { createdAt: locked.now, awaitedUntil: null };
  await issueDocuments(client, organisation.id, documents, issuing);
}
