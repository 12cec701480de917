/**
 * Breaks off an end or amendment that waits for a ledger which does not come back, and previews
 * that (END-12, UNITS-14). The job is taken over in a new attempt, so that a worker that is at it
 * records nothing more. SQL, because removals are read with what makes them certain or not.
 */
import { strict as assert } from "node:assert";
import { presenceOf } from "../../domain/billing/document-presence.ts";
import type { BillingState, RunningJob } from "../../domain/model/billing-state.ts";
import type { CreditNoteDraft } from "../../domain/model/credit-note.ts";
import type { DocumentStatus, InvoiceDraft } from "../../domain/model/invoice.ts";
import { formatDecimal } from "../../domain/money/decimal.ts";
import { billClosedAmendment } from "../../domain/subscriptions/abandoned-amendment.ts";
import { decideGoingOn } from "../../domain/subscriptions/reissue.ts";
import { columns } from "../../gen/columns.ts";
import { loadStates } from "../billing/billing-state.ts";
import type { LockedOrganisation } from "../billing/locked-subscription.ts";
import type { Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { bool } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import { type IssuedDocument, issuedSince, lastNumber } from "../documents/issued-since.ts";
import { closeAmendment } from "../ledger-jobs/amendments/abandon-amendment.ts";
import { loadClosed } from "../ledger-jobs/amendments/closed-amendment.ts";
import { planAllocations } from "../ledger-jobs/credit-allocations.ts";
import { seizeJob } from "../ledger-jobs/job-lease.ts";
import { isAhead } from "./end-lease.ts";
import { goOn, refuseLeased, removedAlready } from "./end-outcomes.ts";
import { loadRemoved } from "./reissue-invoices.ts";
import { loadNextPeriodLines } from "./reversals.ts";

/**
 * What a break-off does: the operation in words, what is recorded of it, and the documents that it
 * issues. Invoices come before credit notes.
 */
export interface BreakOff {
  readonly running: string;
  readonly message: string;
  readonly documents: readonly IssuedDocument[];
}

/** A subscription whose operation runs. A break-off has locked it and its organisation. */
export interface RunningSubscription {
  readonly locked: LockedOrganisation;
  readonly state: BillingState;
  readonly running: RunningJob;
}

/** Loads the state of a subscription. Null if the organisation has no such subscription. */
export async function loadRunning(
  client: Transaction,
  locked: LockedOrganisation,
  id: string,
  isSnapshot: boolean,
): Promise<BillingState | null> {
  const query = { ids: [id], now: locked.now, isSnapshot };
  const [state] = await loadStates(client, locked.organisation, query);
  return state ?? null;
}

/** Returns what `breakOff` would do, without a write. */
export async function previewBreakOff(
  client: Transaction,
  { state, running }: RunningSubscription,
): Promise<BreakOff> {
  const organisationId = state.organisation.id;
  const isSent = await wasSent(client, organisationId, running.id);
  if (running.kind === "amend_invoice") {
    const { invoiceId, status, message } = await describeAmendment(
      client,
      organisationId,
      running.id,
    );
    const known = { isRepriceable: false, stands: presenceOf({ status }) === "stands" };
    const { closed } = await loadClosed(client, organisationId, invoiceId, known);
    const { invoice, creditNote } = billClosedAmendment(state, closed);
    const invoices = invoice === null ? [] : [invoice];
    return { running: running.description, message, documents: drafted(invoices, creditNote) };
  }
  const { message } = await describeEnd(client, organisationId, running.id, isSent);
  const removed = await loadRemoved(client, organisationId, {
    subscriptionId: state.subscription.id,
    currentPeriod: state.period.index,
    terminationId: running.id,
  });
  const again = decideGoingOn(state, removed, await loadNextPeriodLines(client, state));
  const drafts = again?.invoices.map(({ draft }) => draft) ?? [];
  const documents = drafted(drafts, again?.creditNote ?? null);
  return { running: running.description, message, documents };
}

/**
 * Breaks off the operation. An end is refused, and what it
 * removed of the period that the subscription enters is issued again. What an amendment owes is
 * billed on a separate document.
 */
export async function breakOff(
  client: Transaction,
  { locked, state, running }: RunningSubscription,
): Promise<BreakOff> {
  const organisationId = state.organisation.id;
  const subscriptionId = state.subscription.id;
  const { attempt, isSent } = await seizeJob(client, organisationId, running.id);
  const before = await lastNumber(client, organisationId, subscriptionId);
  const end = running.kind === "end_subscription";
  const message = end
    ? await refuseEnd(client, { locked, state, running }, { attempt, isSent })
    : await closeRunning(client, { locked, state, running }, attempt);
  // Held credit skipped these invoices meanwhile. The dispatcher starts the planned allocation.
  await planAllocations(client, organisationId, [subscriptionId]);
  const documents = await issuedSince(client, organisationId, subscriptionId, before);
  return { running: running.description, message, documents };
}

async function refuseEnd(
  client: Transaction,
  { locked, state, running }: RunningSubscription,
  { attempt, isSent }: { readonly attempt: number; readonly isSent: boolean },
): Promise<string> {
  const organisationId = state.organisation.id;
  const leased = { terminationId: running.id, subscriptionId: state.subscription.id, attempt };
  const { message, step, reason } = await describeEnd(client, organisationId, running.id, isSent);
  await refuseLeased(client, locked, { ...leased, step }, { reason, message, whole: message });
  await goOn(client, locked, leased);
  return message;
}

async function closeRunning(
  client: Transaction,
  { state, running }: RunningSubscription,
  attempts: number,
): Promise<string> {
  const organisationId = state.organisation.id;
  const { status, message } = await describeAmendment(client, organisationId, running.id);
  const amendment = { id: running.id, attempts, subscriptionId: state.subscription.id };
  await closeAmendment(client, organisationId, amendment, {
    kind: "closed",
    reason: brokenOff,
    message,
    invoice: { status, total: null, amountDue: null, sent: null },
    isRepriceable: false,
  });
  return message;
}

const brokenOff = "broken_off";

/** The reason of a broken-off removal that the ledger may have done (END-12). */
export const answerLost = "answer_lost";

const findNext = query({
  name: "load_removal_to_break_off",
  text: sql`
    SELECT r.step, i.number, ${isAhead} AS ahead
    FROM
      removals r
      JOIN invoices i ON i.organisation_id = $1 AND i.id = r.invoice_id
      JOIN subscriptions s ON s.organisation_id = $1 AND s.id = i.subscription_id
    WHERE
      r.organisation_id = $1
      AND r.termination_id = $2
      AND r.state = 'waiting'
      AND i.ledger_invoice_id IS NOT NULL
      AND r.step = (
        SELECT min(w.step)
        FROM removals w
        WHERE w.organisation_id = $1 AND w.termination_id = $2 AND w.state = 'waiting'
      )
  `,
  row: { step: columns.removal.step, number: columns.invoice.number, ahead: bool },
});

/**
 * Returns what is recorded of the end. Only of an invoice that the ledger has, and whose removal
 * was tried, the answer can be lost. That of an invoice of a period that never begins is
 * remembered, because the subscription goes on into that period. `step` is the removal under way,
 * −1 if none is left.
 */
async function describeEnd(
  client: Transaction,
  organisationId: string,
  terminationId: string,
  isSent: boolean,
) {
  const [next] = await findNext(client, organisationId, terminationId);
  const removed = await removedAlready(client, organisationId, terminationId);
  const first = "An operator broke off the end, which waited for the ledger.";
  const begun = `${first} The subscription goes on. ${removed}`;
  if (next === undefined || !isSent)
    return { message: begun.trim(), step: next?.step ?? -1, reason: brokenOff };
  const lost = `Whether the ledger has removed invoice ${next.number} is not known.`;
  const reason = next.ahead ? answerLost : brokenOff;
  return { message: `${begun}${lost}`, step: next.step, reason };
}

async function describeAmendment(client: Transaction, organisationId: string, jobId: string) {
  const job = await db(client).ledgerJob.findFirst({
    where: { organisationId, id: jobId },
    select: { invoice: { select: { id: true, number: true, status: true } } },
  });
  const invoice = job?.invoice;
  assert(invoice, `amendment ${jobId} has an invoice`);
  const message =
    `An operator broke off the change of invoice ${invoice.number}, which waited for the ledger. ` +
    "It is billed separately.";
  return { invoiceId: invoice.id, status: invoice.status as DocumentStatus, message };
}

async function wasSent(client: Transaction, organisationId: string, id: string): Promise<boolean> {
  const job = await db(client).ledgerJob.findFirst({
    where: { organisationId, id },
    select: { firstSentAt: true },
  });
  return job !== null && job.firstSentAt !== null;
}

function drafted(
  invoices: readonly InvoiceDraft[],
  creditNote: CreditNoteDraft | null,
): readonly IssuedDocument[] {
  const notes = creditNote === null ? [] : [{ ...creditNote, type: null }];
  return [...invoices, ...notes].map(({ type, currency, subtotal }) => ({
    kind: type === null ? "credit_note" : "invoice",
    id: null,
    number: null,
    type,
    currency,
    subtotal: formatDecimal(subtotal),
  }));
}
