/**
 * Syncs invoices that people changed in the ledger, and documents that the ledger no longer has. A
 * row is written only if our state is older. A row that was written since the ledger was queried,
 * or that a job is posting, is left (LEDGER-4).
 */
import { lockInOrder, lockSubscriptions } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import type { ObservedInvoiceState } from "../documents/credit-note-state.ts";
import { planAllocations } from "../ledger-jobs/credit-allocations.ts";
import { isUnwritable } from "../ledger-jobs/document-outcomes.ts";
import {
  type Dated,
  type DocumentKind,
  type Followed,
  isBusy,
  joinSyncResults,
  ledgerIdColumn,
  nothingSynced,
  unfitText,
  verdict,
} from "../ledger-jobs/observed-state.ts";

/** An invoice as observed. */
export type ObservedInvoice = ObservedInvoiceState & Dated;

const observedInvoice = `jsonb_to_recordset($2) AS r(id text, status text, subtotal numeric, total numeric, amount_due numeric, sent boolean,
    updated_at timestamptz)`;
const isOtherInvoice =
  "(d.status, d.total, d.amount_due, d.sent) IS DISTINCT FROM (r.status, r.total, r.amount_due, r.sent)";

const isDifferent = `(${isOtherInvoice} OR d.ledger_updated_at IS DISTINCT FROM r.updated_at OR d.sync_error = ${unfitText})`;

// A row that differs only since the locks were taken was written here meanwhile. It is read again.
const invoicesText = `
WITH judged AS (
  SELECT d.id AS own_id, d.subscription_id, d.ledger_invoice_id AS ledger_id, r.status, r.subtotal, r.total, r.amount_due, r.sent, r.updated_at,
    ${isOtherInvoice} AS is_other, ${verdict("invoices")} AS verdict
  FROM ${observedInvoice} JOIN invoices d ON d.organisation_id = $1 AND d.ledger_invoice_id = r.id
  WHERE ${isDifferent} AND d.subscription_id = ANY ($4::uuid[]) ORDER BY d.id FOR NO KEY UPDATE OF d
), written AS (
  UPDATE invoices i SET status = j.status, total = j.total, amount_due = j.amount_due, sent = j.sent, ledger_updated_at = j.updated_at,
    ledger_subtotal = coalesce(j.subtotal, i.ledger_subtotal), ledger_reported_at = now(),
    sync_error = CASE WHEN i.status <> 'not_in_external' THEN nullif(i.sync_error, ${unfitText}) END
  FROM judged j WHERE i.organisation_id = $1 AND i.id = j.own_id AND j.verdict = 'write'
)
SELECT subscription_id, ledger_id, status, is_other, verdict FROM judged
UNION ALL SELECT d.subscription_id, d.ledger_invoice_id, r.status, ${isOtherInvoice}, 'again'
FROM ${observedInvoice} JOIN invoices d ON d.organisation_id = $1 AND d.ledger_invoice_id = r.id
WHERE ${isDifferent} AND d.subscription_id <> ALL ($4::uuid[])`;

interface EvaluatedRow {
  subscription_id: string;
  ledger_id: string;
  status: string;
  is_other: boolean;
  verdict: "older" | "again" | "write";
}

/**
 * Writes invoices that were read after `askedAt` (the database's clock) in one statement. Invoices
 * that are not ours are skipped. One whose amounts do not fit the columns here keeps its state and
 * shows the error.
 */
export async function syncInvoices(
  pool: Pool,
  organisationId: string,
  looked: readonly ObservedInvoice[],
  askedAt: string,
): Promise<Followed> {
  if (looked.length === 0) return nothingSynced;
  try {
    return await inTransaction(pool, (client) =>
      writeInvoices(client, organisationId, looked, askedAt),
    );
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    const [only] = looked;
    if (looked.length === 1 && only !== undefined)
      return leaveUnfit(pool, organisationId, only, askedAt);
    const each: Followed[] = [];
    for (const one of looked) each.push(await syncInvoices(pool, organisationId, [one], askedAt));
    return joinSyncResults(each);
  }
}

async function writeInvoices(
  client: Transaction,
  organisationId: string,
  looked: readonly ObservedInvoice[],
  askedAt: string,
): Promise<Followed> {
  const records = looked.map(({ id, status, subtotal, total, amountDue, sent, updatedAt }) => {
    return { id, status, subtotal, total, amount_due: amountDue, sent, updated_at: updatedAt };
  });
  const seen = JSON.stringify(records);
  const { rows: found } = await client.query<{ subscription_id: string }>({
    name: "find_synced_invoices",
    text: `SELECT DISTINCT d.subscription_id FROM ${observedInvoice}
      JOIN invoices d ON d.organisation_id = $1 AND d.ledger_invoice_id = r.id WHERE ${isDifferent}`,
    values: [organisationId, seen],
  });
  if (found.length === 0) return nothingSynced;
  const subscriptionIds = found.map((row) => row.subscription_id);
  await lockSubscriptions(client, organisationId, subscriptionIds);
  const { rows } = await client.query<EvaluatedRow>({
    name: "sync_invoices",
    text: invoicesText,
    values: [organisationId, seen, askedAt, subscriptionIds],
  });
  const written = rows.filter((row) => row.verdict === "write" && row.is_other);
  const open = written
    .filter(({ status }) => status === "approved")
    .map((row) => row.subscription_id);
  return {
    ...nothingSynced,
    changed: written.length,
    credited: await planAllocations(client, organisationId, open),
    again: againOf(rows),
  };
}

/** Only a row that differs needs a second read. */
function againOf(rows: readonly EvaluatedRow[]): readonly string[] {
  return rows.filter((row) => row.verdict === "again" && row.is_other).map((row) => row.ledger_id);
}

const unfitInvoiceText = `
WITH judged AS (
  SELECT d.id AS own_id, ${verdict("invoices")} AS verdict FROM (SELECT $4::timestamptz AS updated_at) AS r
    JOIN invoices d ON d.organisation_id = $1 AND d.ledger_invoice_id = $2 AND d.status <> 'scheduled' FOR NO KEY UPDATE OF d
), told AS (
  UPDATE invoices i SET sync_error = ${unfitText} FROM judged j WHERE i.organisation_id = $1 AND i.id = j.own_id AND j.verdict = 'write'
    AND (i.sync_error IS NULL OR i.status = 'not_in_external')
)
SELECT verdict FROM judged`;

async function leaveUnfit(
  pool: Pool,
  organisationId: string,
  { id, updatedAt }: ObservedInvoice,
  askedAt: string,
): Promise<Followed> {
  const { rows } = await pool.query<{ verdict: string }>({
    name: "leave_unfit_invoice",
    text: unfitInvoiceText,
    values: [organisationId, id, askedAt, updatedAt],
  });
  // The invoice shows its own error. The ledger's earlier refusal of it stays.
  return rows[0]?.verdict === "again" ? { ...nothingSynced, again: [id] } : nothingSynced;
}

const goneText = (kind: DocumentKind): string => `
WITH judged AS (
  SELECT d.id AS own_id, d.${ledgerIdColumn[kind]} AS ledger_id, coalesce(d.ledger_reported_at >= $3::timestamptz, false) OR ${isBusy[kind]} AS is_busy
  FROM ${kind} d WHERE d.organisation_id = $1 AND d.status NOT IN ('scheduled', 'not_in_external') AND d.${ledgerIdColumn[kind]} = ANY ($2)
  ORDER BY d.id FOR NO KEY UPDATE OF d
), lost AS (
  UPDATE ${kind} t SET status = 'not_in_external', ledger_reported_at = now(), sync_error = 'The ledger does not have it any more.'
  FROM judged j WHERE t.organisation_id = $1 AND t.id = j.own_id AND NOT j.is_busy
)
SELECT ledger_id, is_busy FROM judged`;

/**
 * Records that the ledger no longer has these documents, neither by id nor by number. One that was
 * written since `askedAt`, or that a job is posting, is read again.
 */
export async function loseDocuments(
  pool: Pool,
  organisationId: string,
  kind: DocumentKind,
  ledgerIds: readonly string[],
  askedAt: string,
): Promise<Followed> {
  const lost = kind === "invoices" ? { ledgerInvoiceIds: ledgerIds } : { ledgerNoteIds: ledgerIds };
  const { rows } = await inTransaction(pool, async (client) => {
    await lockInOrder(client, organisationId, lost);
    return client.query<{ ledger_id: string; is_busy: boolean }>({
      name: `lose_${kind}`,
      text: goneText(kind),
      values: [organisationId, ledgerIds, askedAt],
    });
  });
  const again = rows.filter((row) => row.is_busy).map((row) => row.ledger_id);
  return { ...nothingSynced, changed: rows.length - again.length, again };
}

/** The numbers of our documents, by their ids in the ledger. */
export async function findNumbers(
  pool: Pool,
  organisationId: string,
  kind: DocumentKind,
  ledgerIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const column = ledgerIdColumn[kind];
  const { rows } = await pool.query<{ ledger_id: string; number: string }>({
    name: `find_numbers_of_${kind}`,
    text: `SELECT ${column} AS ledger_id, number FROM ${kind} WHERE organisation_id = $1 AND ${column} = ANY ($2)`,
    values: [organisationId, ledgerIds],
  });
  return new Map(rows.map((row) => [row.ledger_id, row.number]));
}
