/**
 * Ends of subscriptions as rows: what was decided is written at once where no invoice has to be removed, else as an ending with its
 * removals and the operation that carries them out; both are found again by a repeat of the request.
 */
import type pg from "pg";
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
import { type ChangedSubscription, changeSubscription, updateSubscriptions } from "../billing/locked-subscription.ts";
import { leavesDocuments, saveCharges } from "../billing/save-billing.ts";
import type { Client } from "../documents/issue-documents.ts";
import { loadNextPeriodLines } from "../documents/reversals.ts";

/**
 * An end to be made. `terminationId` is also the id of its operation, made before so that it can be watched; `requestId` is derived from
 * the idempotency key, or of this request alone without one; null where it is not looked for.
 */
export interface TerminationRequest extends ChangedSubscription {
  readonly terminationId: string;
  readonly when: EndWhen;
  readonly requestId: string | null;
  readonly requestHash: Uint8Array;
  readonly awaitedUntil: Date;
}

/**
 * What came of it. `ended`: it is over, or set to end, by this request or an earlier try of it; `hasDocuments`: something waits for the
 * ledger. `unchanged`: it was set to end so already. `begun`: invoices are to be removed first. `running`: an earlier try is at it.
 * `refused`: the ledger refused an earlier try, whose caller was not told. `conflict`: the key belongs to another request. `unknown`:
 * the organisation has no such subscription.
 */
export type TerminationOutcome =
  | { readonly kind: "ended" | "unchanged"; readonly hasDocuments: boolean }
  | { readonly kind: "begun"; readonly terminationId: string; readonly customerId: string }
  | { readonly kind: "refused"; readonly terminationId: string; readonly message: string }
  | { readonly kind: "running" | "conflict" | "unknown" };

/** Ends the subscription as `decide` decides; what it refuses leaves everything as it was. Spec: End; Idempotency. */
export async function createTermination(
  pool: pg.Pool,
  organisationId: string,
  asked: TerminationRequest,
  decide: (facts: EndFacts) => EndDecision,
): Promise<TerminationOutcome> {
  const { subscriptionId, now } = asked;
  const order = { ...asked, closing: asked.when === "now" };
  const changed = await changeSubscription<TerminationOutcome>(pool, organisationId, order, async (client, state) => {
    const earlier = await findRepeated(client, organisationId, asked);
    const repeated = earlier === null ? null : repeat(earlier, asked, state.subscription.customerId);
    if (repeated !== null) return repeated;
    const next = await loadNextPeriodLines(client, state);
    const facts = { state, invoices: await loadOpenInvoices(client, organisationId, subscriptionId), next };
    const decision = decide(facts);
    if (decision.kind === "unchanged") return { kind: "unchanged", hasDocuments: false };
    if (decision.removals.length > 0) {
      await insertTermination(client, organisationId, asked, decision);
      return { kind: "begun", terminationId: asked.terminationId, customerId: state.subscription.customerId };
    }
    await insertTermination(client, organisationId, asked, null);
    const ended = decideEnded(state, asked.when, next);
    await writeEnded(client, organisationId, state.period.index, ended, now);
    return { kind: "ended", hasDocuments: leavesDocuments(ended) };
  });
  return changed ?? { kind: "unknown" };
}

/** Writes a subscription that is over or set to end, and raises what is still owed. */
export async function writeEnded(
  client: Client,
  organisationId: string,
  currentPeriod: number,
  ended: EndedSubscription,
  now: Date,
): Promise<void> {
  const subscriptionId = ended.subscription.id;
  await updateSubscriptions(client, organisationId, [{ currentPeriod, ...ended }], now);
  await saveCharges(client, organisationId, [{ subscriptionId, ...ended }], now);
}

/** Notes that a caller is told that the ledger refused: a repeat of the request is a new one from then on. */
export async function reportTermination(pool: pg.Pool, organisationId: string, terminationId: string): Promise<void> {
  await pool.query({
    name: "report_termination",
    text: "UPDATE terminations SET told = true WHERE organisation_id = $1 AND id = $2",
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
 * An idempotency key lives 24 hours, and one whose request failed is free again; not for that
 * request itself. Spec: Idempotency.
 */
async function findRepeated(
  client: Client,
  organisationId: string,
  { requestId, terminationId }: TerminationRequest,
): Promise<EarlierRow | null> {
  if (requestId === null) return null;
  const { rows } = await client.query<EarlierRow>({
    name: "find_termination",
    text: `SELECT e.id, e.request_hash, e.ended, o.state, o.message
      FROM terminations e LEFT JOIN ledger_jobs o ON o.organisation_id = $1 AND o.id = e.id
      WHERE e.organisation_id = $1 AND e.request_id = $2 AND (NOT e.told OR e.id = $3)
        AND e.created_at > now() - interval '23 hours 59 minutes'
      ORDER BY e.seq DESC LIMIT 1`,
    values: [organisationId, requestId, terminationId],
  });
  return rows[0] ?? null;
}

/**
 * Null where the earlier try failed and this is another request: the key is free for it. Spec:
 * Idempotency. One of this very request, whose answer was lost, goes on as it began.
 */
function repeat(
  earlier: EarlierRow,
  { requestHash, terminationId }: TerminationRequest,
  customerId: string,
): TerminationOutcome | null {
  const isOwn = earlier.id === terminationId;
  if (!earlier.request_hash.equals(requestHash)) return earlier.state === "refused" ? null : { kind: "conflict" };
  if (earlier.ended) return { kind: "ended", hasDocuments: isOwn };
  if (earlier.state !== "refused") return isOwn ? { kind: "begun", terminationId, customerId } : { kind: "running" };
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
  client: Client,
  organisationId: string,
  subscriptionId: string,
): Promise<readonly OpenInvoice[]> {
  const { rows } = await client.query<OpenRow>({
    name: "load_open_invoices",
    // Credit that is on its way to an invoice counts as on it, and so does what a credit note has reversed of it: removed, it would be
    // given back twice.
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

// Its time is the database's, also in a sandbox: an idempotency key's 24 hours are real ones.
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

/** Without removals (null) it has ended; with them an operation of the same id holds the subscription until it is decided. */
async function insertTermination(
  client: Client,
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
