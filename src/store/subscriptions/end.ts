/**
 * Stores ends of subscriptions. Without removals an end is written at once. Otherwise a termination
 * with its removals and a job are written. A repeat of the request finds either.
 */

import type { DocumentStatus, InvoiceType } from "../../domain/billing/invoice.ts";
import { parseDecimal } from "../../domain/money/decimal.ts";
import {
  decideEnded,
  type EndDecision,
  type EndedSubscription,
  type EndFacts,
  type EndWhen,
  type OpenInvoice,
} from "../../domain/subscriptions/end.ts";
import {
  type ChangedSubscription,
  changeSubscription,
  updateSubscriptions,
} from "../billing/locked-subscription.ts";
import { leavesDocuments, saveCharges } from "../billing/save-billing.ts";
import type { Pool, Transaction } from "../database/pool.ts";
import { loadNextPeriodLines } from "../documents/reversals.ts";

/**
 * A requested end. `terminationId` is also the id of its job, created early so that a caller can
 * watch it. `requestId` is derived from the idempotency key, or unique to this request without a
 * key. Null skips the search for a repeat.
 */
export interface TerminationRequest extends ChangedSubscription {
  readonly terminationId: string;
  readonly when: EndWhen;
  readonly requestId: string | null;
  readonly requestHash: Uint8Array;
  readonly awaitedUntil: Date;
}

/**
 * The outcome. `ended`: it is over or set to end, by this request or an earlier try.
 * `hasDocuments`: a document must be posted. `unchanged`: it was set to end already. `begun`:
 * invoices are removed first. `running`: an earlier try is under way. `refused`: the ledger refused
 * an earlier try, and its caller got no answer. `conflict`: the key belongs to another request.
 * `unknown`: the organisation has no such subscription.
 */
export type TerminationOutcome =
  | { readonly kind: "ended" | "unchanged"; readonly hasDocuments: boolean }
  | { readonly kind: "begun"; readonly terminationId: string; readonly customerId: string }
  | { readonly kind: "refused"; readonly terminationId: string; readonly message: string }
  | { readonly kind: "running" | "conflict" | "unknown" };

/** Ends the subscription as `decide` decides. A refusal by `decide` leaves everything as it was. */
export async function createTermination(
  pool: Pool,
  organisationId: string,
  asked: TerminationRequest,
  decide: (facts: EndFacts) => EndDecision,
): Promise<TerminationOutcome> {
  const { subscriptionId, now } = asked;
  const order = { ...asked, closing: asked.when === "now" };
  const changed = await changeSubscription<TerminationOutcome>(
    pool,
    organisationId,
    order,
    async (client, state) => {
      const earlier = await findRepeated(client, organisationId, asked);
      const repeated =
        earlier === null ? null : repeat(earlier, asked, state.subscription.customerId);
      if (repeated !== null) return repeated;
      const next = await loadNextPeriodLines(client, state);
      const facts = {
        state,
        invoices: await loadOpenInvoices(client, organisationId, subscriptionId),
        next,
      };
      const decision = decide(facts);
      if (decision.kind === "unchanged") return { kind: "unchanged", hasDocuments: false };
      if (decision.removals.length > 0) {
        await insertTermination(client, organisationId, asked, decision);
        return {
          kind: "begun",
          terminationId: asked.terminationId,
          customerId: state.subscription.customerId,
        };
      }
      await insertTermination(client, organisationId, asked, null);
      const ended = decideEnded(state, asked.when, next);
      await writeEnded(client, organisationId, state.period.index, ended, now);
      return { kind: "ended", hasDocuments: leavesDocuments(ended) };
    },
  );
  return changed ?? { kind: "unknown" };
}

/** Writes a subscription that is over or set to end, and issues its outstanding charges (END-6). */
export async function writeEnded(
  client: Transaction,
  organisationId: string,
  currentPeriod: number,
  ended: EndedSubscription,
  now: Date,
): Promise<void> {
  const subscriptionId = ended.subscription.id;
  await updateSubscriptions(client, organisationId, [{ currentPeriod, ...ended }], now);
  await saveCharges(client, organisationId, [{ subscriptionId, ...ended }], now);
}

/**
 * Records that a caller got the ledger's refusal. From then on a repeat of the request is a new one
 * (IDEMPOTENCY-5).
 */
export async function reportTermination(
  pool: Pool,
  organisationId: string,
  terminationId: string,
): Promise<void> {
  await pool.query({
    name: "report_termination",
    text: "UPDATE terminations SET reported = true WHERE organisation_id = $1 AND id = $2",
    values: [organisationId, terminationId],
  });
}

interface EarlierRow {
  id: string;
  request_hash: Buffer;
  ended: boolean;
  state: string | null;
  message: string | null;
}

/**
 * An idempotency key lives 24 hours (IDEMPOTENCY-6). A failed request releases its key for other
 * requests, not for itself (IDEMPOTENCY-5).
 */
async function findRepeated(
  client: Transaction,
  organisationId: string,
  { requestId, terminationId }: TerminationRequest,
): Promise<EarlierRow | null> {
  if (requestId === null) return null;
  const { rows } = await client.query<EarlierRow>({
    name: "find_termination",
    text: `SELECT e.id, e.request_hash, e.ended, o.state, o.message
      FROM terminations e LEFT JOIN ledger_jobs o ON o.organisation_id = $1 AND o.id = e.id
      WHERE e.organisation_id = $1 AND e.request_id = $2 AND (NOT e.reported OR e.id = $3)
        AND e.created_at > now() - interval '23 hours 59 minutes'
      ORDER BY e.seq DESC LIMIT 1`,
    values: [organisationId, requestId, terminationId],
  });
  return rows[0] ?? null;
}

/**
 * Null if the earlier try failed and this is another request: its key is free (IDEMPOTENCY-5). The
 * same request whose answer was lost continues as it began.
 */
function repeat(
  earlier: EarlierRow,
  { requestHash, terminationId }: TerminationRequest,
  customerId: string,
): TerminationOutcome | null {
  const isOwn = earlier.id === terminationId;
  if (!earlier.request_hash.equals(requestHash))
    return earlier.state === "refused" ? null : { kind: "conflict" };
  if (earlier.ended) return { kind: "ended", hasDocuments: isOwn };
  if (earlier.state !== "refused")
    return isOwn ? { kind: "begun", terminationId, customerId } : { kind: "running" };
  return { kind: "refused", terminationId: earlier.id, message: earlier.message ?? "" };
}

interface OpenRow {
  id: string;
  number: string;
  type: InvoiceType;
  period_index: number;
  status: DocumentStatus;
  total: string;
  amount_due: string;
  in_ledger: boolean;
  sent: boolean;
}

/** The invoices of a subscription that are not removed, newest first. */
async function loadOpenInvoices(
  client: Transaction,
  organisationId: string,
  subscriptionId: string,
): Promise<readonly OpenInvoice[]> {
  const { rows } = await client.query<OpenRow>({
    name: "load_open_invoices",
    // Credit that is being allocated counts as allocated. So does what a credit note has reversed:
    // if the invoice were removed, that would be refunded twice.
    text: `SELECT i.id, i.number, i.type, i.period_index, i.status, i.total, i.ledger_invoice_id IS NOT NULL AS in_ledger, i.sent,
        i.amount_due - (SELECT coalesce(sum(l.amount), 0) FROM credit_notes n JOIN credit_note_lines l ON l.organisation_id = $1
            AND l.credit_note_id = n.id WHERE n.organisation_id = $1 AND n.subscription_id = $2 AND n.status NOT IN ('voided', 'deleted')
            AND l.reversed_invoice_id = i.id) - (SELECT coalesce(sum(c.amount), 0) FROM ledger_jobs c WHERE c.organisation_id = $1 AND c.subscription_id = $2
          AND c.invoice_id = i.id AND c.kind = 'allocate_credit' AND c.state IN ('ready', 'sending', 'uncertain')) AS amount_due
      FROM invoices i WHERE i.organisation_id = $1 AND i.subscription_id = $2 AND i.status NOT IN ('voided', 'deleted') ORDER BY i.seq DESC`,
    values: [organisationId, subscriptionId],
  });
  return rows.map((row) => ({
    id: row.id,
    number: row.number,
    type: row.type,
    periodIndex: row.period_index,
    status: row.status,
    total: parseDecimal(row.total),
    amountDue: parseDecimal(row.amount_due),
    inLedger: row.in_ledger,
    sent: row.sent,
  }));
}

// Uses the database's time, also in a sandbox: an idempotency key's 24 hours are real hours.
const insertText = `
WITH ending AS (
  INSERT INTO terminations (id, organisation_id, subscription_id, end_when, ended, request_id, request_hash)
  VALUES ($2, $1, $3, $4, $5::uuid[] IS NULL, $6, $7) RETURNING id
), removal AS (
  INSERT INTO removals (organisation_id, termination_id, step, invoice_id, only_unsent, state)
  SELECT $1, ending.id, r.ordinality - 1, r.invoice_id, r.invoice_id = ANY ($9::uuid[]), 'waiting'
  FROM ending, unnest($5::uuid[]) WITH ORDINALITY AS r(invoice_id, ordinality)
)
INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, awaited_until)
SELECT ending.id, $1, 'end_subscription', 'ready', $3, $8::timestamptz FROM ending WHERE $5::uuid[] IS NOT NULL`;

/**
 * Without removals (null) the subscription has ended. With removals a job of the same id blocks the
 * subscription until it is decided.
 */
async function insertTermination(
  client: Transaction,
  organisationId: string,
  asked: TerminationRequest,
  decision: Pick<EndDecision & { readonly kind: "ends" }, "removals" | "onlyUnsent"> | null,
): Promise<void> {
  await client.query({
    name: "insert_termination",
    text: insertText,
    values: [
      organisationId,
      asked.terminationId,
      asked.subscriptionId,
      asked.when,
      decision?.removals ?? null,
      asked.requestId,
      asked.requestHash,
      asked.awaitedUntil,
      decision?.onlyUnsent ?? [],
    ],
  });
}
