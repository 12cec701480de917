/**
 * Stores changes of units. A decision is written with every document that it issues. A repeat of
 * the request finds it again (IDEMPOTENCY-2).
 */

import { strict as assert } from "node:assert";
import type { InvoiceLineDraft } from "../../domain/billing/invoice.ts";
import { prorationLine } from "../../domain/billing/invoice-lines.ts";
import { nextDueDate } from "../../domain/billing/renewal.ts";
import { formatDecimal } from "../../domain/money/decimal.ts";
import type { BillingState, PeriodState } from "../../domain/subscriptions/billing-state.ts";
import type { InvoiceAmendment, UnitsDecision } from "../../domain/subscriptions/change-units.ts";
import {
  type ChangedSubscription,
  changeSubscription,
  savePeriods,
  updateSubscriptions,
} from "../billing/locked-subscription.ts";
import { newId } from "../database/ids.ts";
import type { Pool, Transaction } from "../database/pool.ts";
import { issueCreditNotes, issueInvoices } from "../documents/issue-documents.ts";
import { amendInvoice } from "../documents/save-amendment.ts";

/**
 * A requested change of units. `requestId` is derived from the idempotency key, or unique to this
 * request without a key. Null skips the search for a repeat.
 */
export interface UnitsChangeOrder extends ChangedSubscription {
  readonly requestId: string | null;
  readonly requestHash: Uint8Array;
  readonly awaitedUntil: Date;
  readonly operations: UnitsJobIds;
}

/** Ids for the jobs that a change may leave, created first so that a caller can watch them. */
export interface UnitsJobIds {
  readonly invoice: string;
  readonly amendment: string;
  readonly creditNote: string;
}

/**
 * An applied change and the documents that it issued. An id is null if no such document was issued.
 */
export interface AppliedUnitsChange {
  readonly id: string;
  readonly subscriptionId: string;
  readonly units: number;
  readonly invoiceId: string | null;
  readonly renewalInvoiceId: string | null;
  readonly creditNoteId: string | null;
  readonly deferred: boolean;
  readonly jobIds: readonly string[];
}

/**
 * The outcome. `made`: applied now, or by an earlier try of this request (`isRepeat`). `conflict`:
 * the key belongs to another request. `unknown`: the organisation has no such subscription.
 */
export type UnitsChangeOutcome =
  | { readonly kind: "made"; readonly change: AppliedUnitsChange; readonly isRepeat: boolean }
  | { readonly kind: "conflict" }
  | { readonly kind: "unknown" };

interface ChangeRow {
  id: string;
  subscription_id: string;
  to_units: number;
  invoice_id: string | null;
  renewal_invoice_id: string | null;
  credit_note_id: string | null;
  deferred: boolean;
  job_ids: string[];
  request_hash: Buffer;
}

const columns = `id, subscription_id, to_units, invoice_id, renewal_invoice_id, credit_note_id, deferred, job_ids, request_hash`;

/** Applies the change that `decide` decides. A refusal by `decide` leaves everything as it was. */
export async function applyUnitsChange(
  pool: Pool,
  organisationId: string,
  asked: UnitsChangeOrder,
  decide: (state: BillingState) => UnitsDecision,
): Promise<UnitsChangeOutcome> {
  const changed = await changeSubscription(pool, organisationId, asked, async (client, state) => {
    const earlier = await findRepeated(client, organisationId, asked.requestId);
    if (earlier !== null) return { change: readChange(earlier), requestHash: earlier.request_hash };
    return { change: await saveChange(client, state, asked, decide(state)), requestHash: null };
  });
  if (changed === null) return { kind: "unknown" };
  const { change, requestHash } = changed;
  if (requestHash !== null && !requestHash.equals(asked.requestHash)) return { kind: "conflict" };
  return { kind: "made", change, isRepeat: requestHash !== null };
}

/** Loads the change with this id. It must exist. */
export async function getUnitsChange(
  pool: Pool,
  organisationId: string,
  id: string,
): Promise<AppliedUnitsChange> {
  const { rows } = await pool.query<ChangeRow>({
    name: "get_unit_change",
    text: `SELECT ${columns} FROM unit_changes WHERE organisation_id = $1 AND id = $2`,
    values: [organisationId, id],
  });
  if (rows[0] === undefined) throw new Error(`change of units ${id} is gone`);
  return readChange(rows[0]);
}

/**
 * An idempotency key lives 24 hours from the start of its request. Afterwards it stands for another
 * request (IDEMPOTENCY-6). The change is remembered a minute less, because it was applied later
 * than that start. Until then the response stored with the key answers.
 */
async function findRepeated(
  client: Transaction,
  organisationId: string,
  requestId: string | null,
): Promise<ChangeRow | null> {
  if (requestId === null) return null;
  const { rows } = await client.query<ChangeRow>({
    name: "find_unit_change",
    text: `SELECT ${columns} FROM unit_changes
      WHERE organisation_id = $1 AND request_id = $2 AND created_at > now() - interval '23 hours 59 minutes' ORDER BY seq DESC LIMIT 1`,
    values: [organisationId, requestId],
  });
  return rows[0] ?? null;
}

async function saveChange(
  client: Transaction,
  state: BillingState,
  asked: UnitsChangeOrder,
  decision: UnitsDecision,
): Promise<AppliedUnitsChange> {
  const { organisation, subscription, plan, period, nextPeriod } = state;
  const { id: organisationId } = organisation;
  const { subscriptionId, operations, awaitedUntil } = asked;
  const raising = { createdAt: asked.now, awaitedUntil };
  const changed = { ...subscription, units: decision.units };
  const written = {
    subscription: changed,
    currentPeriod: period.index,
    dueDate: nextDueDate(state),
  };
  await updateSubscriptions(client, organisationId, [written], asked.now);
  await savePeriods(
    client,
    organisationId,
    decision.periods.map((one) => ({ subscriptionId, period: one })),
  );
  const jobIds: string[] = [];
  const amend = async (
    amendment: InvoiceAmendment | null,
    before: PeriodState | null,
  ): Promise<string | null> => {
    if (amendment === null) return null;
    const billedUnits = before?.billedUnits ?? null;
    const toWrite = {
      jobId: operations.amendment,
      subscriptionId,
      amendment,
      billedUnits,
      awaitedUntil,
    };
    if (await amendInvoice(client, organisationId, toWrite)) jobIds.push(operations.amendment);
    return amendment.invoiceId;
  };
  const joinedId = await amend(decision.joined, period);
  const renewalInvoiceId = await amend(decision.amended, nextPeriod);
  // The current period's charge stands on the renewal invoice. If that invoice is removed, the
  // charge is deferred again.
  for (const line of decision.amended?.added ?? []) {
    await deferLine(client, state, line, renewalInvoiceId);
  }
  const invoiceId = decision.invoice === null ? joinedId : newId();
  if (decision.invoice !== null && invoiceId !== null) {
    const invoice = {
      id: invoiceId,
      jobId: operations.invoice,
      subscriptionId,
      draft: decision.invoice,
      deferredIds: [],
    };
    await issueInvoices(client, organisationId, [invoice], raising);
    jobIds.push(operations.invoice);
  }
  // After the invoice: credit is allocated to invoices with later numbers (DOCUMENT-4).
  const creditNoteId = decision.creditNote === null ? null : newId();
  if (decision.creditNote !== null && creditNoteId !== null) {
    const note = {
      id: creditNoteId,
      jobId: operations.creditNote,
      subscriptionId,
      draft: decision.creditNote,
    };
    await issueCreditNotes(client, organisationId, [note], raising);
    jobIds.push(operations.creditNote);
  }
  if (decision.deferred !== null) {
    await deferLine(client, state, prorationLine(plan, decision.deferred, organisation), null);
  }
  const made: AppliedUnitsChange = {
    id: newId(),
    subscriptionId,
    units: decision.units,
    invoiceId,
    renewalInvoiceId,
    creditNoteId,
    deferred: decision.deferred !== null,
    jobIds,
  };
  await insertChange(client, organisationId, subscription.units, made, asked);
  return made;
}

/**
 * Stores a prorated charge of the current period that a renewal invoice bills. `invoiceId` is null
 * until that invoice exists.
 */
async function deferLine(
  client: Transaction,
  { organisation, subscription, period }: BillingState,
  line: InvoiceLineDraft,
  invoiceId: string | null,
): Promise<void> {
  const { proration } = line;
  assert(proration !== null && line.period !== null, "what is deferred is a proration");
  await client.query({
    name: "defer_line",
    text: `INSERT INTO deferred_lines (id, organisation_id, subscription_id, period_index, name, description, amount, period_start,
        period_end, from_units, to_units, days_remaining, days_in_period, invoice_id)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    values: [
      newId(),
      organisation.id,
      subscription.id,
      period.index,
      line.name,
      line.description,
      formatDecimal(line.amount),
      line.period.start,
      line.period.end,
      proration.fromUnits,
      proration.toUnits,
      proration.daysRemaining,
      proration.daysInPeriod,
      invoiceId,
    ],
  });
}

// Uses the database's time, also in a sandbox: an idempotency key's 24 hours are real hours.
async function insertChange(
  client: Transaction,
  organisationId: string,
  fromUnits: number,
  change: AppliedUnitsChange,
  { requestId, requestHash }: UnitsChangeOrder,
): Promise<void> {
  await client.query({
    name: "insert_unit_change",
    text: `INSERT INTO unit_changes (id, organisation_id, request_id, subscription_id, from_units, to_units, invoice_id,
        renewal_invoice_id, credit_note_id, deferred, job_ids, request_hash)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    values: [
      change.id,
      organisationId,
      requestId,
      change.subscriptionId,
      fromUnits,
      change.units,
      change.invoiceId,
      change.renewalInvoiceId,
      change.creditNoteId,
      change.deferred,
      change.jobIds,
      requestHash,
    ],
  });
}

function readChange(row: ChangeRow): AppliedUnitsChange {
  return {
    id: row.id,
    subscriptionId: row.subscription_id,
    units: row.to_units,
    invoiceId: row.invoice_id,
    renewalInvoiceId: row.renewal_invoice_id,
    creditNoteId: row.credit_note_id,
    deferred: row.deferred,
    jobIds: row.job_ids,
  };
}
