/**
 * Rolls back an amendment whose invoice can no longer be edited. Bills its lines on new documents
 * in the same transaction.
 */

import { strict as assert } from "node:assert";
import type { ProrationParts } from "../../domain/billing/proration.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import {
  billClosedAmendment,
  type ClosedAmendment,
  type ClosedDecision,
} from "../../domain/subscriptions/abandoned-amendment.ts";
import type { BillingState, PeriodState } from "../../domain/subscriptions/billing-state.ts";
import { loadStates, type PeriodRow, readPeriod } from "../billing/billing-state.ts";
import { holdOrganisation, savePeriods } from "../billing/locked-subscription.ts";
import { newId } from "../database/ids.ts";
import { lockSubscriptions } from "../database/lock-order.ts";
import type { Transaction } from "../database/pool.ts";
import { type Issuing, issueCreditNotes, issueInvoices } from "../documents/issue-documents.ts";
import { appendLines } from "../documents/save-amendment.ts";
import type { AmendmentAttempt, AmendmentOutcome } from "./amendment-outcomes.ts";
import { plain } from "./document-outcomes.ts";
import { doneMark, outcomesChannel } from "./job-notifications.ts";

/** The reason of a done amendment that new documents bill. */
export const movedReason = "moved";

/**
 * SQL: ids of subscription `$2`'s unit changes that invoice `$3` should bill but lacks in the
 * ledger, all since its last successful amendment.
 */
export const lackingChanges = `SELECT asked.id FROM (
    SELECT c.id, o.seq, o.state = 'refused' OR o.reason = '${movedReason}' AS is_lacking,
      max(o.seq) FILTER (WHERE o.state = 'done' AND o.reason IS NULL) OVER () AS done_seq
    FROM unit_changes c JOIN ledger_jobs o ON o.organisation_id = $1 AND o.id = ANY (c.job_ids)
    WHERE c.organisation_id = $1 AND c.subscription_id = $2 AND $3::uuid IN (c.invoice_id, c.renewal_invoice_id)
      AND o.invoice_id = $3 AND o.kind = 'amend_invoice'
  ) asked WHERE asked.is_lacking AND asked.seq > coalesce(asked.done_seq, 0)`;

type Closing = AmendmentOutcome & { readonly kind: "closed" };

/** The issued documents. An id is null if no such document was issued. */
interface IssuedIds {
  readonly invoiceId: string | null;
  readonly creditNoteId: string | null;
  readonly jobIds: readonly string[];
}

/**
 * Bills the added lines and what a re-pricing lacks on an invoice, or a credit note if negative.
 * Restores plan line and billed units, and moves the unit changes to the new documents. The job is
 * `done` if anything was issued, else `refused`. False if another attempt has the job.
 */
export async function closeAmendment(
  client: Transaction,
  organisationId: string,
  amendment: AmendmentAttempt,
  closing: Closing,
): Promise<boolean> {
  const { id, subscription_id: subscriptionId } = amendment;
  // The lock order of every change of a subscription (INVARIANT-5).
  const organisation = await holdOrganisation(client, organisationId);
  await lockSubscriptions(client, organisationId, [subscriptionId]);
  const held = await hold(client, organisationId, amendment);
  if (held === null) return false;
  const { invoice_id: invoiceId, awaited_until: awaitedUntil } = held;
  const { closed, now } = await loadClosed(
    client,
    organisationId,
    invoiceId,
    closing.isRepriceable,
  );
  const [loaded] = await loadStates(client, organisation, { ids: [subscriptionId], now });
  assert(loaded, "an amended invoice is a subscription's");
  const decision = billClosedAmendment(loaded.state, closed);
  const issued = await raise(client, loaded.state, invoiceId, decision, {
    createdAt: now,
    awaitedUntil,
  });
  if (closed.repricing !== null)
    await takeBack(client, organisationId, subscriptionId, invoiceId, decision.period);
  const isBilled = issued.jobIds.length > 0;
  await leaveInvoice(client, organisationId, invoiceId, closing, isBilled);
  await client.query({
    name: "close_amendment",
    text: closeText,
    values: [
      organisationId,
      id,
      isBilled ? "done" : "refused",
      isBilled ? movedReason : plain(closing.reason),
      plain(closing.message),
      `${isBilled ? doneMark : ""}${id}`,
    ],
  });
  await client.query({
    name: "sync_abandoned_amendment",
    text: syncText,
    values: [
      organisationId,
      subscriptionId,
      invoiceId,
      issued.invoiceId,
      closing.isRepriceable,
      issued.creditNoteId,
      issued.jobIds,
    ],
  });
  return true;
}

interface HeldRow {
  invoice_id: string;
  awaited_until: Date | null;
}

/** Locks the job. Null if another attempt has it. */
async function hold(
  client: Transaction,
  organisationId: string,
  { id, attempts }: AmendmentAttempt,
): Promise<HeldRow | null> {
  const { rows } = await client.query<HeldRow>({
    name: "hold_amendment",
    text: `SELECT o.invoice_id, o.awaited_until FROM ledger_jobs o
      WHERE o.organisation_id = $1 AND o.id = $2 AND o.attempts = $3 AND o.state IN ('sending', 'uncertain') FOR UPDATE`,
    values: [organisationId, id, attempts],
  });
  return rows[0] ?? null;
}

const closeText = `
WITH op AS (
  UPDATE ledger_jobs o SET state = $3, reason = $4, message = $5, lease_until = NULL, finished_at = now()
  WHERE o.organisation_id = $1 AND o.id = $2
)
SELECT pg_notify('${outcomesChannel}', $6)`;

/** The lines to add. An amendment only re-prices a plan line and never adds one. */
const addedLines = "l.amending AND l.ledger_line_id IS NULL AND l.kind <> 'plan'";

interface ClosedRow extends PeriodRow {
  now: Date;
  added: string | null;
  is_usage: boolean | null;
  from_units: number | null;
  to_units: number | null;
  charged: readonly ChargedRow[] | null;
}

interface ChargedRow {
  from_units: number;
  to_units: number;
  days_remaining: number;
}

// Charges of the period above the target units came later: an invoice is not amended once a change
// was billed separately. Each increase counts once, also if it was deferred or reissued after an
// end removed its invoice. Earlier documents bill none of the period, because they were reversed.
const closedText = `
SELECT p.index, p.start_date, p.end_date, p.billed_units, p.setup_mode, p.proration_closed, p.billed_separately,
  coalesce(o.test_clock, now()) AS now, (i.amending_from->>'billed_units')::int AS from_units, plan.units AS to_units,
  (SELECT sum(l.amount)::text FROM invoice_lines l WHERE l.organisation_id = $1 AND l.invoice_id = i.id AND ${addedLines}) AS added,
  (SELECT bool_and(l.kind = 'usage') FROM invoice_lines l WHERE l.organisation_id = $1 AND l.invoice_id = i.id AND ${addedLines}) AS is_usage,
  (SELECT json_agg(c ORDER BY c.from_units) FROM (
    SELECT l.from_units, l.to_units, l.days_remaining
    FROM invoices b JOIN invoice_lines l ON l.organisation_id = $1 AND l.invoice_id = b.id
    WHERE b.organisation_id = $1 AND b.subscription_id = i.subscription_id AND b.seq >= i.seq AND l.kind = 'proration'
      AND l.period_end = p.end_date
    UNION
    SELECT d.from_units, d.to_units, d.days_remaining
    FROM deferred_lines d
    WHERE d.organisation_id = $1 AND d.subscription_id = i.subscription_id AND d.invoice_id IS NULL AND d.period_end = p.end_date
  ) c WHERE c.from_units >= plan.units AND c.from_units < c.to_units) AS charged
FROM invoices i
  JOIN periods p ON p.organisation_id = $1 AND p.subscription_id = i.subscription_id AND p.index = i.period_index
  JOIN organisations o ON o.id = $1
  LEFT JOIN invoice_lines plan ON plan.organisation_id = $1 AND plan.invoice_id = i.id AND plan.kind = 'plan'
WHERE i.organisation_id = $1 AND i.id = $2`;

/** Loads the amendment's content and the organisation's now. */
async function loadClosed(
  client: Transaction,
  organisationId: string,
  invoiceId: string,
  isRepriceable: boolean,
): Promise<{ readonly closed: ClosedAmendment; readonly now: Date }> {
  const { rows } = await client.query<ClosedRow>({
    name: "load_closed_amendment",
    text: closedText,
    values: [organisationId, invoiceId],
  });
  assert(rows[0], "an amended invoice is there");
  const {
    now,
    added,
    is_usage: isUsage,
    from_units: fromUnits,
    to_units: toUnits,
    charged,
    ...period
  } = rows[0];
  const isRepriced = !isRepriceable && fromUnits !== null && toUnits !== null;
  const repricing = isRepriced
    ? { fromUnits, toUnits, charged: (charged ?? []).map(readCharged) }
    : null;
  return {
    closed: {
      period: readPeriod(period),
      added: added === null ? null : parseDecimal(added),
      isUsage: isUsage ?? false,
      repricing,
    },
    now,
  };
}

function readCharged(
  row: ChargedRow,
): Pick<ProrationParts, "fromUnits" | "toUnits" | "daysRemaining"> {
  return { fromUnits: row.from_units, toUnits: row.to_units, daysRemaining: row.days_remaining };
}

// A deferred line follows its invoice line to the new invoice.
const moveLinesText = `
WITH moved AS (
  SELECT l.id, row_number() OVER (ORDER BY l.position) - 1 AS position FROM invoice_lines l
  WHERE l.organisation_id = $1 AND l.invoice_id = $2 AND ${addedLines}
), line AS (
  UPDATE invoice_lines l SET invoice_id = $3, position = moved.position, amending = false
  FROM moved WHERE l.organisation_id = $1 AND l.id = moved.id RETURNING l.kind, l.period_end, l.from_units, l.to_units
), used AS (
  UPDATE usage_bills b SET invoice_id = $3 WHERE b.organisation_id = $1 AND b.invoice_id = $2 AND EXISTS (
    SELECT 1 FROM line WHERE line.kind = 'usage')
)
UPDATE deferred_lines d SET invoice_id = $3
FROM line WHERE d.organisation_id = $1 AND d.invoice_id = $2
  AND (d.period_end, d.from_units, d.to_units) = (line.period_end, line.from_units, line.to_units)`;

/**
 * Issues the decided documents. The lines to add keep their ids and come first on the new invoice.
 */
async function raise(
  client: Transaction,
  { organisation: { id: organisationId }, subscription: { id: subscriptionId } }: BillingState,
  fromId: string,
  { invoice, creditNote }: ClosedDecision,
  raising: Issuing,
): Promise<IssuedIds> {
  const jobIds: string[] = [];
  const reserve = () => {
    const ids = { id: newId(), jobId: newId(), subscriptionId };
    jobIds.push(ids.jobId);
    return ids;
  };
  const own =
    invoice === null ? null : { ...reserve(), draft: { ...invoice, lines: [] }, deferredIds: [] };
  if (invoice !== null && own !== null) {
    await issueInvoices(client, organisationId, [own], raising);
    await client.query({
      name: "move_lines",
      text: moveLinesText,
      values: [organisationId, fromId, own.id],
    });
    await appendLines(client, organisationId, own.id, { lines: invoice.lines, amending: false });
  }
  // After the invoice: credit is allocated to invoices with later numbers.
  const note = creditNote === null ? null : { ...reserve(), draft: creditNote };
  if (note !== null) await issueCreditNotes(client, organisationId, [note], raising);
  return { invoiceId: own?.id ?? null, creditNoteId: note?.id ?? null, jobIds };
}

const takeBackText = `
WITH line AS (
  UPDATE invoice_lines l SET units = (i.amending_from->>'units')::int, description = i.amending_from->>'description',
    unit_price = (i.amending_from->>'unit_price')::numeric, amount = (i.amending_from->>'amount')::numeric, amending = false
  FROM invoices i
  WHERE i.organisation_id = $1 AND i.id = $2 AND l.organisation_id = $1 AND l.invoice_id = i.id AND l.kind = 'plan'
)
UPDATE invoices SET amending_from = NULL WHERE organisation_id = $1 AND id = $2`;

/** Restores the ledger's plan line, and saves the invoice's period to match. */
async function takeBack(
  client: Transaction,
  organisationId: string,
  subscriptionId: string,
  invoiceId: string,
  period: PeriodState,
): Promise<void> {
  await client.query({
    name: "take_back_price",
    text: takeBackText,
    values: [organisationId, invoiceId],
  });
  await savePeriods(client, organisationId, [{ subscriptionId, period }]);
}

// While the ledger lacks a line of an earlier amendment, the invoice keeps that error. If a retry
// cleared it, the job's message replaces it.
const leaveText = `
UPDATE invoices i SET status = $3, total = coalesce($4, i.total), amount_due = coalesce($5, i.amount_due),
  sent = coalesce($6, i.sent), ledger_updated_at = coalesce($9, i.ledger_updated_at), ledger_reported_at = now(),
  ledger_subtotal = coalesce($10, i.ledger_subtotal),
  subtotal = (SELECT coalesce(sum(l.amount), 0) FROM invoice_lines l WHERE l.organisation_id = $1 AND l.invoice_id = i.id),
  sync_error = CASE WHEN $3 = 'not_in_external' OR NOT $8 THEN $7 WHEN EXISTS (SELECT 1 FROM invoice_lines l
    WHERE l.organisation_id = $1 AND l.invoice_id = i.id AND l.amending) THEN coalesce(i.sync_error, (
      SELECT o.message FROM ledger_jobs o WHERE o.organisation_id = $1 AND o.invoice_id = i.id AND o.kind = 'amend_invoice'
        AND o.state = 'refused' ORDER BY o.seq DESC LIMIT 1), $7) END
WHERE i.organisation_id = $1 AND i.id = $2`;

async function leaveInvoice(
  client: Transaction,
  organisationId: string,
  invoiceId: string,
  { message, invoice }: Closing,
  isBilled: boolean,
): Promise<void> {
  const { status, total, amountDue, sent, updatedAt = null, subtotal = null } = invoice;
  const told = [status, total, amountDue, sent, plain(message)];
  const values = [organisationId, invoiceId, ...told, isBilled, updatedAt, subtotal];
  await client.query({ name: "leave_invoice", text: leaveText, values });
}

// A change that another invoice billed keeps that invoice. `$5`: the plan line can still be
// amended. Then only changes whose lines moved follow them.
const syncText = `
UPDATE unit_changes c SET invoice_id = CASE WHEN c.invoice_id IS NULL OR c.invoice_id = $3 THEN $4 ELSE c.invoice_id END,
  renewal_invoice_id = CASE WHEN $5 THEN c.renewal_invoice_id ELSE nullif(c.renewal_invoice_id, $3) END,
  credit_note_id = coalesce(c.credit_note_id, $6), job_ids = c.job_ids || $7::uuid[]
WHERE c.organisation_id = $1 AND c.id IN (${lackingChanges}) AND (NOT $5 OR c.to_units > c.from_units AND c.to_units IN (
  SELECT l.to_units FROM invoice_lines l WHERE l.organisation_id = $1 AND l.invoice_id = $4))`;
