/**
 * Changes of units: saves a decided change with every document that it issues, and finds it again
 * (IDEMPOTENCY-2).
 */
import { strict as assert } from "node:assert";
import { nextDueDate } from "../../domain/billing/due-date.ts";
import { prorationLine } from "../../domain/billing/invoice-lines.ts";
import type { CivilDate } from "../../domain/calendar/civil-date.ts";
import type { BillingState, PeriodState } from "../../domain/model/billing-state.ts";
import type { InvoiceAmendment, InvoiceLineDraft } from "../../domain/model/invoice.ts";
import { formatDecimal } from "../../domain/money/decimal.ts";
import type { UnitsDecision } from "../../domain/subscriptions/change-units.ts";
import type { UnitChange as UnitChangeRow } from "../../gen/prisma/client.ts";
import type { OpenTransaction } from "../billing/current-subscription.ts";
import { savePeriods, updateSubscriptions } from "../billing/locked-subscription.ts";
import { newId } from "../database/ids.ts";
import { db } from "../database/prisma/client.ts";
import type { Executor } from "../database/sql/statement.ts";
import { withIds } from "../documents/document-writes.ts";
import { issueDocuments } from "../documents/issue-documents.ts";
import { factsText } from "../documents/line-facts.ts";
import { saveAmendment } from "../documents/save-amendment.ts";
import { foundSince, type RequestToSave } from "./saved-requests.ts";

/** A saved change of units. An id of a document is null if no such document was issued. */
export type UnitChange = Pick<UnitChangeRow, keyof typeof fields>;

const fields = {
  id: true,
  subscriptionId: true,
  toUnits: true,
  invoiceId: true,
  renewalInvoiceId: true,
  creditNoteId: true,
  deferred: true,
  jobIds: true,
  requestHash: true,
} as const;

/**
 * What is saved with a decision. `id` is the `changeId` of its request. `jobIds` has an id for each
 * job that a change may leave.
 */
export interface UnitChangeToSave extends RequestToSave {
  readonly id: string;
  readonly effectiveDate: CivilDate | null;
  readonly jobIds: {
    readonly invoice: string;
    readonly amendment: string;
    readonly creditNote: string;
  };
}

/** Loads the change with this id. It must exist. */
export async function getUnitChange(
  executor: Executor,
  organisationId: string,
  id: string,
): Promise<UnitChange> {
  const where = { organisationId, id };
  const change = await db(executor).unitChange.findFirst({ where, select: fields });
  assert(change, `change of units ${id} exists`);
  return change;
}

/** Finds the change that an earlier try of this request has saved. Null if there is none. */
export async function findUnitChange(
  { client, organisationId, databaseNow }: OpenTransaction,
  requestId: string,
): Promise<UnitChange | null> {
  return db(client).unitChange.findFirst({
    where: { organisationId, requestId, createdAt: { gt: foundSince(databaseNow) } },
    orderBy: { seq: "desc" },
    select: fields,
  });
}

/** Saves a decided change: units, periods, documents with a job for each, and the change itself. */
export async function saveUnitChange(
  tx: OpenTransaction,
  state: BillingState,
  decision: UnitsDecision,
  {
    id,
    requestId,
    requestHash,
    requestedBy,
    effectiveDate,
    jobIds,
    awaitedUntil,
  }: UnitChangeToSave,
): Promise<UnitChange> {
  const { client, organisationId, now, databaseNow } = tx;
  const { organisation, subscription, plan } = state;
  const subscriptionId = subscription.id;
  const issuing = { createdAt: now, awaitedUntil };
  await saveUnits(tx, state, decision);

  const amended = await saveAmendments(tx, state, decision, jobIds.amendment, awaitedUntil);
  const { invoice, creditNote } = decision;
  const invoices = withIds(subscriptionId, [invoice && { draft: invoice, jobId: jobIds.invoice }]);
  const creditNotes = withIds(subscriptionId, [
    creditNote && { draft: creditNote, jobId: jobIds.creditNote },
  ]);
  const others = [{ subscriptionId, lines: amendedLines(decision) }];
  await issueDocuments(client, organisationId, { invoices, creditNotes, others }, issuing);
  if (decision.deferred !== null)
    await deferLine(tx, state, prorationLine(plan, decision.deferred, organisation), null);

  const jobs = [...invoices, ...creditNotes].map(({ jobId }) => jobId);
  return db(client).unitChange.create({
    data: {
      id,
      organisationId,
      requestId,
      requestHash,
      requestedBy: requestedBy ?? null,
      subscriptionId,
      fromUnits: subscription.units,
      toUnits: decision.units,
      effectiveDate: effectiveDate && new Date(effectiveDate),
      invoiceId: invoices[0]?.id ?? decision.joined?.invoiceId ?? null,
      renewalInvoiceId: decision.amended?.invoiceId ?? null,
      creditNoteId: creditNotes[0]?.id ?? null,
      deferred: decision.deferred !== null,
      jobIds: amended ? [jobIds.amendment, ...jobs] : jobs,
      // The database's time, also in a sandbox: an idempotency key's 24 hours are real hours.
      createdAt: databaseNow,
      changedAt: now,
    },
    select: fields,
  });
}

/** The lines of amendments, and the deferred one. */
function amendedLines({ joined, amended, deferred }: UnitsDecision) {
  const amendments = [joined, amended].filter((amendment) => amendment !== null);
  return [
    ...amendments.flatMap(({ planLine, added }) => (planLine ? [planLine, ...added] : added)),
    ...(deferred === null ? [] : [deferred]),
  ];
}

async function saveUnits(
  { client, organisationId, now }: OpenTransaction,
  state: BillingState,
  { units, periods }: UnitsDecision,
): Promise<void> {
  const subscription = { ...state.subscription, units };
  const currentPeriod = state.period.index;
  const changed = { subscription, currentPeriod, dueDate: nextDueDate(state) };
  await updateSubscriptions(client, organisationId, [changed], now);
  const saved = periods.map((period) => ({ subscriptionId: subscription.id, period }));
  await savePeriods(client, organisationId, saved);
}

/** Saves the amendments of a draft and of the renewal invoice. True if one must be posted. */
async function saveAmendments(
  tx: OpenTransaction,
  state: BillingState,
  { joined, amended }: UnitsDecision,
  jobId: string,
  awaitedUntil: Date,
): Promise<boolean> {
  const save = async (amendment: InvoiceAmendment | null, before: PeriodState | null) =>
    amendment !== null &&
    (await saveAmendment(tx.client, tx.organisationId, {
      jobId,
      subscriptionId: state.subscription.id,
      amendment,
      before,
      now: tx.now,
      awaitedUntil,
    }));
  const isJoined = await save(joined, state.period);
  const isAmended = await save(amended, state.nextPeriod);
  // The current period's charge stands on the renewal invoice. If that invoice is removed, the
  // charge is deferred again.
  for (const line of amended?.added ?? [])
    await deferLine(tx, state, line, amended?.invoiceId ?? null);
  return isJoined || isAmended;
}

/**
 * Saves a prorated charge of the current period that a renewal invoice bills. `invoiceId` is null
 * until that invoice exists.
 */
async function deferLine(
  { client, organisationId }: OpenTransaction,
  { subscription, period }: BillingState,
  line: InvoiceLineDraft,
  invoiceId: string | null,
): Promise<void> {
  const { proration } = line;
  assert(proration !== null && line.period !== null, "what is deferred is a proration");
  await db(client).deferredLine.create({
    data: {
      id: newId(),
      organisationId,
      subscriptionId: subscription.id,
      periodIndex: period.index,
      name: line.name,
      description: line.description,
      amount: formatDecimal(line.amount),
      periodStart: new Date(line.period.start),
      periodEnd: new Date(line.period.end),
      fromUnits: proration.fromUnits,
      toUnits: proration.toUnits,
      daysRemaining: proration.daysRemaining,
      daysInPeriod: proration.daysInPeriod,
      invoiceId,
      facts: factsText(line, subscription.id),
    },
  });
}
