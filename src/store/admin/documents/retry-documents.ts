/**
 * Retries what the ledger refused of a document, or makes its waiting job due at once. The change
 * and its ledger job are written in one transaction. ADMIN-6, POSTING-1.
 */

import { strict as assert } from "node:assert";
import { invalidationsOf } from "../../../domain/billing/ledger-validation.ts";
import { holdOrganisation } from "../../billing/locked-subscription.ts";
import { newId } from "../../database/ids.ts";
import { lockSubscriptions } from "../../database/lock-order.ts";
import { getOne } from "../../database/page.ts";
import type { Transaction } from "../../database/pool.ts";
import { documentNumber } from "../../documents/invoice-writes.ts";
import { invalidateReferenceData } from "../../ledger-connection/reference-data.ts";
import { lackingChanges } from "../../ledger-jobs/closed-amendment.ts";
import { planAllocations } from "../../ledger-jobs/credit-allocations.ts";
import type { DocumentWork } from "../../ledger-jobs/stale-jobs.ts";
import type { Changed } from "../changes.ts";
import { type AdminDocument, type DocumentKind, documentListing } from "./document-listing.ts";

/**
 * `retried`: `work` starts now. `settled`: no job of it failed or waits, or the ledger has lost the
 * document. `setup_mode`: Setup Mode allows no posting now. `busy`: another job must end first, and
 * `running` names it as the end of a sentence.
 */
export type RetryOutcome =
  | { readonly kind: "retried"; readonly work: DocumentWork }
  | { readonly kind: "settled" }
  | { readonly kind: "setup_mode" }
  | { readonly kind: "busy"; readonly running: string };

/**
 * Retries the document in its current state. Null if the organisation has no document with this id.
 * Returns the changes for the audit log.
 */
export async function retryDocument(
  client: Transaction,
  organisationId: string,
  id: string,
): Promise<Changed<RetryOutcome | null>> {
  const organisation = await holdOrganisation(client, organisationId);
  const document = await lockDocument(client, organisationId, id);
  if (document === null) return { result: null, changes: [] };
  const isGone = document.status === "not_in_external" && document.ledgerId !== null;
  if (document.state === "waiting") return bringForward(client, organisationId, document);
  if (document.state === "synced" || document.operation === null || isGone)
    return unchanged({ kind: "settled" });
  if (organisation.setupMode) return unchanged({ kind: "setup_mode" });
  switch (document.operation) {
    case "creation":
      return retryCreation(client, organisationId, document);
    case "amendment":
      return retryAmendment(client, organisationId, document);
    case "allocation":
      return retryAllocation(client, organisationId, document);
  }
}

/** Locks the document's subscription and reads the document again. */
async function lockDocument(
  client: Transaction,
  organisationId: string,
  id: string,
): Promise<AdminDocument | null> {
  const seen = await getOne(client, organisationId, documentListing, id);
  if (seen === null) return null;
  await lockSubscriptions(client, organisationId, [seen.subscriptionId]);
  return getOne(client, organisationId, documentListing, id);
}

function unchanged(result: RetryOutcome): Changed<RetryOutcome> {
  return { result, changes: [] };
}

/**
 * Returns the outcome with its log entry. Number, status and error are logged for every retry,
 * other fields only if they changed.
 */
function retried(
  organisationId: string,
  { id, number, status, syncError, operation }: AdminDocument,
  work: DocumentWork,
  before: object,
  after: object,
): Changed<RetryOutcome> {
  const kept = { operation, number, status, syncError };
  return {
    result: { kind: "retried", work },
    changes: [
      {
        targetKind: "document",
        targetId: id,
        organisationId,
        before: { ...kept, ...before },
        after: { ...kept, ...after },
      },
    ],
  };
}

/** Returns the work that completes the waiting job of a document. */
function workOf(organisationId: string, document: AdminDocument, jobId: string): DocumentWork {
  const { id, subscriptionId, operation } = document;
  if (operation === "amendment") {
    return { kind: "amendment", organisationId, subscriptionId, invoiceId: id, jobId };
  }
  if (operation === "allocation") return { kind: "allocation", organisationId, subscriptionId };
  return { kind: "posting", organisationId };
}

async function bringForward(
  client: Transaction,
  organisationId: string,
  document: AdminDocument,
): Promise<Changed<RetryOutcome>> {
  const { jobId, nextAttemptAt } = document;
  assert(jobId, "what waits has its operation");
  const work = workOf(organisationId, document, jobId);
  const { rows } = await client.query<{ not_before: Date }>({
    name: "bring_job_forward",
    text: `UPDATE ledger_jobs SET not_before = now()
      WHERE organisation_id = $1 AND id = $2 AND state = 'ready' AND not_before > now() RETURNING not_before`,
    values: [organisationId, jobId],
  });
  if (rows[0] === undefined) return unchanged({ kind: "retried", work });
  return retried(
    organisationId,
    document,
    work,
    { nextAttemptAt },
    { nextAttemptAt: rows[0].not_before },
  );
}

// The number format of creations and new credit notes: four digits after the prefix. The prefix of
// credit notes begins with CN-.
const prefixes: Readonly<Record<DocumentKind, string>> = {
  invoice: "o.number_prefix",
  credit_note: "'CN-' || regexp_replace(o.number_prefix, '^INV-', '')",
};

/**
 * Reserves the next number of its kind, because the ledger uses the document's number for another
 * document. INVARIANT-2.
 */
async function reserveNumber(
  client: Transaction,
  organisationId: string,
  kind: DocumentKind,
): Promise<string> {
  const text = `WITH counter AS (
      INSERT INTO document_counters AS d (organisation_id, kind, next) VALUES ($1, $2, 2)
      ON CONFLICT (organisation_id, kind) DO UPDATE SET next = d.next + 1 RETURNING d.next - 1 AS taken
    ) SELECT ${documentNumber(prefixes[kind], "k.taken")} AS number FROM counter k, organisations o WHERE o.id = $1`;
  const { rows } = await client.query<{ number: string }>({ text, values: [organisationId, kind] });
  assert(rows[0], "a counter counts");
  return rows[0].number;
}

// The narrowest mapping applies: the plan's, charge's or meter's, then the organisation's.
// DOCUMENT-5.
const mapTexts: Readonly<Record<DocumentKind, string>> = {
  invoice: `UPDATE invoice_lines l
    SET revenue_account = coalesce(m.revenue_account, l.revenue_account), tax_type = m.tax_type
    FROM (
      SELECT k.id, coalesce(c.revenue_account, m.revenue_account, p.revenue_account, o.revenue_account) AS revenue_account,
        coalesce(c.tax_type, m.tax_type, p.tax_type, o.tax_type) AS tax_type
      FROM invoice_lines k
        JOIN invoices i ON i.organisation_id = $1 AND i.id = k.invoice_id
        JOIN organisations o ON o.id = i.organisation_id
        JOIN subscriptions s ON s.organisation_id = i.organisation_id AND s.id = i.subscription_id
        LEFT JOIN plans p ON k.kind IN ('plan', 'proration') AND p.organisation_id = i.organisation_id AND p.id = s.plan_id
        LEFT JOIN charges c ON c.organisation_id = i.organisation_id AND c.id = k.charge_id
        LEFT JOIN meters m ON m.organisation_id = i.organisation_id AND m.id = k.meter_id
      WHERE k.organisation_id = $1 AND k.invoice_id = $2 AND (k.amending OR i.status = 'not_in_external')
    ) m
    WHERE l.organisation_id = $1 AND l.id = m.id AND ($3 OR l.revenue_account IS NULL)`,
  credit_note: `UPDATE credit_note_lines l
    SET revenue_account = coalesce(m.revenue_account, l.revenue_account), tax_type = m.tax_type
    FROM (
      SELECT k.id, coalesce(m.revenue_account, p.revenue_account, o.revenue_account) AS revenue_account,
        coalesce(m.tax_type, p.tax_type, o.tax_type) AS tax_type
      FROM credit_note_lines k
        JOIN credit_notes n ON n.organisation_id = $1 AND n.id = k.credit_note_id
        JOIN organisations o ON o.id = n.organisation_id
        JOIN subscriptions s ON s.organisation_id = n.organisation_id AND s.id = n.subscription_id
        LEFT JOIN plans p ON k.meter_id IS NULL AND p.organisation_id = n.organisation_id AND p.id = s.plan_id
        LEFT JOIN meters m ON m.organisation_id = n.organisation_id AND m.id = k.meter_id
      WHERE k.organisation_id = $1 AND k.credit_note_id = $2
    ) m
    WHERE l.organisation_id = $1 AND l.id = m.id AND ($3 OR l.revenue_account IS NULL)`,
};

/**
 * Updates accounts and tax types of lines that the ledger does not have. Lines without an account
 * are updated. If the ledger refused an account or tax type, all lines are. The operator may also
 * have repaired the ledger, so its reference data is invalidated.
 */
async function mapLines(
  client: Transaction,
  organisationId: string,
  { id, kind, reason }: AdminDocument,
): Promise<void> {
  await invalidateReferenceData(client, organisationId, invalidationsOf(reason ?? ""), "mended");
  const isRefused = reason === "account_invalid" || reason === "tax_invalid";
  await client.query({ text: mapTexts[kind], values: [organisationId, id, isRefused] });
}

async function retryCreation(
  client: Transaction,
  organisationId: string,
  document: AdminDocument,
): Promise<Changed<RetryOutcome>> {
  const { id, kind, subscriptionId, reason } = document;
  const isTaken = reason === "duplicate_number";
  const number = isTaken ? await reserveNumber(client, organisationId, kind) : document.number;
  await mapLines(client, organisationId, document);
  const jobId = newId();
  await client.query({ text: scheduleTexts[kind], values: [organisationId, id, number] });
  await client.query({ text: askTexts[kind], values: [jobId, organisationId, subscriptionId, id] });
  const after = { number, status: "scheduled", syncError: null };
  return retried(organisationId, document, workOf(organisationId, document, jobId), {}, after);
}

const scheduleTexts: Readonly<Record<DocumentKind, string>> = {
  invoice: `UPDATE invoices SET status = 'scheduled', sync_error = NULL, number = $3
    WHERE organisation_id = $1 AND id = $2`,
  credit_note: `UPDATE credit_notes SET status = 'scheduled', sync_error = NULL, number = $3
    WHERE organisation_id = $1 AND id = $2`,
};

const askTexts: Readonly<Record<DocumentKind, string>> = {
  invoice: `INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id, skip_validation)
    VALUES ($1, $2, 'create_invoice', 'ready', $3, $4, true)`,
  credit_note: `INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, credit_note_id, skip_validation)
    VALUES ($1, $2, 'create_credit_note', 'ready', $3, $4, true)`,
};

// The ledger does not amend an invoice that has credit on it. So an allocation under way to this
// invoice comes first.
const runningText = `SELECT
    CASE o.kind WHEN 'amend_invoice' THEN 'invoice ' || i.number || ' is being amended in the ledger'
    WHEN 'end_subscription' THEN 'the subscription is being ended'
    ELSE 'credit is being put on invoice ' || i.number || ' in the ledger' END AS running
  FROM ledger_jobs o LEFT JOIN invoices i ON i.organisation_id = $1 AND i.id = o.invoice_id
  WHERE o.organisation_id = $1 AND o.subscription_id = $2 AND o.state IN ('ready', 'sending', 'uncertain')
    AND (o.kind IN ('amend_invoice', 'end_subscription') OR o.kind = 'allocate_credit' AND o.invoice_id = $3) ORDER BY o.seq LIMIT 1`;

// A change of price alone adds no line. It can also be amended if the invoice is no longer a draft.
const askAgainText = `INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id, skip_validation, joins)
  SELECT $3, o.organisation_id, 'amend_invoice', 'ready', o.subscription_id, o.invoice_id, true, o.joins AND EXISTS (SELECT 1
    FROM invoice_lines l WHERE l.organisation_id = $1 AND l.invoice_id = o.invoice_id AND l.amending AND l.kind <> 'plan')
  FROM ledger_jobs o WHERE o.organisation_id = $1 AND o.id = $2`;

// The unit changes of these lines wait for this job from now on and take their outcome from it.
const nameAgainText = `UPDATE unit_changes c SET job_ids = c.job_ids || $4::uuid
  WHERE c.organisation_id = $1 AND c.id IN (${lackingChanges})`;

async function retryAmendment(
  client: Transaction,
  organisationId: string,
  document: AdminDocument,
): Promise<Changed<RetryOutcome>> {
  const { id, subscriptionId } = document;
  const { rows } = await client.query<{ running: string }>({
    text: runningText,
    values: [organisationId, subscriptionId, id],
  });
  if (rows[0] !== undefined) return unchanged({ kind: "busy", ...rows[0] });
  await mapLines(client, organisationId, document);
  const jobId = newId();
  await client.query({ text: askAgainText, values: [organisationId, document.jobId, jobId] });
  await client.query({ text: nameAgainText, values: [organisationId, subscriptionId, id, jobId] });
  await client.query({
    text: "UPDATE invoices SET sync_error = NULL WHERE organisation_id = $1 AND id = $2",
    values: [organisationId, id],
  });
  const work = workOf(organisationId, document, jobId);
  return retried(organisationId, document, work, {}, { syncError: null });
}

/**
 * Abandons the note's refused allocations, so that the next step of the subscription's credit
 * ignores them. The next step is this allocation or one that comes before it. If another allocation
 * is under way, that one plans the next.
 */
async function retryAllocation(
  client: Transaction,
  organisationId: string,
  document: AdminDocument,
): Promise<Changed<RetryOutcome>> {
  const { id, subscriptionId, invoiceId, reason, message } = document;
  await client.query({
    text: `UPDATE ledger_jobs SET state = 'abandoned'
      WHERE organisation_id = $1 AND credit_note_id = $2 AND kind = 'allocate_credit' AND state = 'refused'`,
    values: [organisationId, id],
  });
  await planAllocations(client, organisationId, [subscriptionId], { creditNoteId: id, invoiceId });
  const work = { kind: "allocation", organisationId, subscriptionId } as const;
  const refusal = { invoiceId, reason, message };
  return retried(organisationId, document, work, refusal, {
    invoiceId,
    reason: null,
    message: null,
  });
}
