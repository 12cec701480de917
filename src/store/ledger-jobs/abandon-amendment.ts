/**
 * What becomes of an amendment that its invoice takes no more: what was written of it is taken back, and what it was to
 * bill is raised as documents of its own, all at once. decisions §6.
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
import { type Client, type Issuing, issueCreditNotes, issueInvoices } from "../documents/issue-documents.ts";
import { appendLines } from "../documents/save-amendment.ts";
import type { AmendmentOutcome, AmendmentAttempt } from "./amendment-outcomes.ts";
import { plain } from "./document-outcomes.ts";
import { doneMark, outcomesChannel } from "./job-notifications.ts";

/** The reason of a done amendment that is billed by documents of its own. */
export const movedReason = "moved";

/**
 * SQL: the ids of the changes of units of subscription `$2` that invoice `$3` was to bill and, in the ledger, does not:
 * none that was asked for before its last amendment.
 */
export const lackingChanges = `SELECT asked.id FROM (
    SELECT c.id, o.seq, o.state = 'refused' OR o.reason = '${movedReason}' AS is_lacking,
      max(o.seq) FILTER (WHERE o.state = 'done' AND o.reason IS NULL) OVER () AS done_seq
    FROM unit_changes c JOIN ledger_jobs o ON o.organisation_id = $1 AND o.id = ANY (c.job_ids)
    WHERE c.organisation_id = $1 AND c.subscription_id = $2 AND $3::uuid IN (c.invoice_id, c.renewal_invoice_id)
      AND o.invoice_id = $3 AND o.kind = 'amend_invoice'
  ) asked WHERE asked.is_lacking AND asked.seq > coalesce(asked.done_seq, 0)`;

type Closing = AmendmentOutcome & { readonly kind: "closed" };

/** The documents that are raised; null where none is. */
interface IssuedIds {
  readonly invoiceId: string | null;
  readonly creditNoteId: string | null;
  readonly jobIds: readonly string[];
}

/**
 * Writes it: one invoice with the lines that were to be added and what a re-pricing lacks, a credit note where that is
 * below zero, the plan line and the billed units as they were, and the changes of units that asked for it, which name
 * these documents from now on. The amendment is done where something is raised, else refused. False where another
 * attempt has it by now.
 */
export async function closeAmendment(
  client: Client,
  organisationId: string,
  amendment: AmendmentAttempt,
  closing: Closing,
): Promise<boolean> {
  const { id, subscription_id: subscriptionId } = amendment;
  // In the order in which every change of the subscription holds both.
  const organisation = await holdOrganisation(client, organisationId);
  await lockSubscriptions(client, organisationId, [subscriptionId]);
  const held = await hold(client, organisationId, amendment);
  if (held === null) return false;
  const { invoice_id: invoiceId, awaited_until: awaitedUntil } = held;
  const { closed, now } = await loadClosed(client, organisationId, invoiceId, closing.isRepriceable);
  const [loaded] = await loadStates(client, organisation, { ids: [subscriptionId], now });
  assert(loaded, "an amended invoice is a subscription's");
  const decision = billClosedAmendment(loaded.state, closed);
  const raised = await raise(client, loaded.state, invoiceId, decision, { createdAt: now, awaitedUntil });
  if (closed.repricing !== null) await takeBack(client, organisationId, subscriptionId, invoiceId, decision.period);
  const isBilled = raised.jobIds.length > 0;
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
      raised.invoiceId,
      closing.isRepriceable,
      raised.creditNoteId,
      raised.jobIds,
    ],
  });
  return true;
}

interface HeldRow {
  invoice_id: string;
  awaited_until: Date | null;
}

/** Only the round that holds the operation may settle it. */
async function hold(
  client: Client,
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

/** The lines to be added: never a plan line, which an amendment only re-prices. */
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

// What is charged of the period above the units that were asked for came later: an invoice that further changes of its
// period were billed beside is not amended. Each rise is charged once: what waits again, or was raised again, because an
// end has removed its invoice, stands on that as well. Documents from before the invoice bill none of its period: they were reversed.
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

/** What there was to amend, and the organisation's now. */
async function loadClosed(
  client: Client,
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
  const { now, added, is_usage: isUsage, from_units: fromUnits, to_units: toUnits, charged, ...period } = rows[0];
  const isRepriced = !isRepriceable && fromUnits !== null && toUnits !== null;
  const repricing = isRepriced ? { fromUnits, toUnits, charged: (charged ?? []).map(readCharged) } : null;
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

function readCharged(row: ChargedRow): Pick<ProrationParts, "fromUnits" | "toUnits" | "daysRemaining"> {
  return { fromUnits: row.from_units, toUnits: row.to_units, daysRemaining: row.days_remaining };
}

// What is deferred for one of them names the invoice on which it is.
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

/** Raises what was decided. The lines that were to be added come over with their ids, before the invoice's own. */
async function raise(
  client: Client,
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
  const own = invoice === null ? null : { ...reserve(), draft: { ...invoice, lines: [] }, deferredIds: [] };
  if (invoice !== null && own !== null) {
    await issueInvoices(client, organisationId, [own], raising);
    await client.query({ name: "move_lines", text: moveLinesText, values: [organisationId, fromId, own.id] });
    await appendLines(client, organisationId, own.id, { lines: invoice.lines, amending: false });
  }
  // After the invoice: credit goes to invoices that are raised later than it.
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

/** The plan line as the ledger has it, and the invoice's period as it is then. */
async function takeBack(
  client: Client,
  organisationId: string,
  subscriptionId: string,
  invoiceId: string,
  period: PeriodState,
): Promise<void> {
  await client.query({ name: "take_back_price", text: takeBackText, values: [organisationId, invoiceId] });
  await savePeriods(client, organisationId, [{ subscriptionId, period }]);
}

// What an earlier amendment could not bring into the ledger stays told of the invoice, as long as there is such a line: by
// its own words, also where a retry took them away.
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
  client: Client,
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

// A change whose charge went elsewhere before keeps that invoice. `$5`: the price of this one is still to be amended, so
// that only those go with their lines that have one there.
const syncText = `
UPDATE unit_changes c SET invoice_id = CASE WHEN c.invoice_id IS NULL OR c.invoice_id = $3 THEN $4 ELSE c.invoice_id END,
  renewal_invoice_id = CASE WHEN $5 THEN c.renewal_invoice_id ELSE nullif(c.renewal_invoice_id, $3) END,
  credit_note_id = coalesce(c.credit_note_id, $6), job_ids = c.job_ids || $7::uuid[]
WHERE c.organisation_id = $1 AND c.id IN (${lackingChanges}) AND (NOT $5 OR c.to_units > c.from_units AND c.to_units IN (
  SELECT l.to_units FROM invoice_lines l WHERE l.organisation_id = $1 AND l.invoice_id = $4))`;
