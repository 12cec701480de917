/**
 * Syncs invoices that people changed in the ledger, and documents that the ledger no longer has. A
 * row is written only if our state is older. A row that was written since the ledger was queried,
 * or that a job is posting, is left (LEDGER-4). SQL, because one statement evaluates and writes all
 * observed documents under their locks, by instants with microseconds.
 */
import { columns } from "../../gen/columns.ts";
import { lockInOrder, lockSubscriptions } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { bool, pick, text } from "../database/sql/columns.ts";
import { identifier, sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import { type ObservedInvoiceState, unfitText } from "../documents/credit-note-state.ts";
import { stands } from "../documents/document-presence.ts";
import {
  driftOf,
  identityColumns,
  identityRecord,
  ledgerNumber,
} from "../documents/ledger-drift.ts";
import { planAllocations } from "../ledger-jobs/credit-allocations.ts";
import {
  type Dated,
  isBusy,
  ledgerIdColumn,
  nothingSynced,
  type SyncedDocumentKind,
  type SyncResult,
  verdict,
  verdictColumn,
  writeBatch,
} from "./observed-state.ts";

/** An invoice as observed. */
export type ObservedInvoice = ObservedInvoiceState & Dated;

const drift = driftOf("invoices");

const observedInvoice = sql`jsonb_to_recordset($2) AS r(id text, status text, subtotal numeric,
    total numeric, amount_due numeric, sent boolean, updated_at timestamptz,
    ${identityColumns})
  JOIN invoices d ON d.organisation_id = $1 AND d.ledger_invoice_id = r.id`;
const isOtherInvoice = sql`(d.status, d.total, d.amount_due, d.sent, d.due_date, d.ledger_drift,
      d.ledger_number) IS DISTINCT FROM (r.status, r.total, r.amount_due, r.sent,
      coalesce(r.due_date, d.due_date), ${drift}, ${ledgerNumber})`;

const isDifferent = sql`(${isOtherInvoice} OR d.ledger_updated_at IS DISTINCT FROM r.updated_at
    OR d.sync_error = ${unfitText})`;

const evaluatedInvoice = {
  ...pick(columns.invoice, "subscriptionId"),
  ledgerId: columns.invoice.ledgerInvoiceId.present(),
  status: text,
  isOther: bool,
  verdict: verdictColumn,
};

const findSynced = query({
  name: "find_synced_invoices",
  text: sql`SELECT DISTINCT d.subscription_id FROM ${observedInvoice} WHERE ${isDifferent}`,
  row: pick(columns.invoice, "subscriptionId"),
});

// A row that differs only since the locks were taken was written here meanwhile. It is read again.
const writeEvaluated = query({
  name: "sync_invoices",
  text: sql`
    WITH
      evaluated AS (
        SELECT
          d.id AS own_id, d.subscription_id, d.ledger_invoice_id AS ledger_id, r.status, r.subtotal,
          r.total, r.amount_due, r.sent, r.updated_at, r.due_date, ${drift} AS drift,
          ${ledgerNumber} AS ledger_number, ${isOtherInvoice} AS is_other,
          ${verdict("invoices")} AS verdict
        FROM ${observedInvoice}
        WHERE ${isDifferent} AND d.subscription_id = ANY ($4::uuid[])
        ORDER BY d.id
        FOR NO KEY UPDATE OF d
      ),
      written AS (
        UPDATE invoices i
        SET
          status = e.status,
          total = e.total,
          amount_due = e.amount_due,
          sent = e.sent,
          due_date = coalesce(e.due_date, i.due_date),
          ledger_drift = e.drift,
          ledger_number = e.ledger_number,
          ledger_updated_at = e.updated_at,
          ledger_subtotal = coalesce(e.subtotal, i.ledger_subtotal),
          ledger_reported_at = now(),
          sync_error = CASE
            WHEN i.status <> 'not_in_external' THEN nullif(i.sync_error, ${unfitText})
          END
        FROM evaluated e
        WHERE i.organisation_id = $1 AND i.id = e.own_id AND e.verdict = 'write'
      )
    SELECT subscription_id, ledger_id, status, is_other, verdict
    FROM evaluated
    UNION ALL
    SELECT d.subscription_id, d.ledger_invoice_id, r.status, ${isOtherInvoice}, 'again'
    FROM ${observedInvoice}
    WHERE ${isDifferent} AND d.subscription_id <> ALL ($4::uuid[])
  `,
  row: evaluatedInvoice,
});

/**
 * Writes invoices that were read after `queriedAt` (the database's clock) in one statement.
 * Invoices that are not ours are skipped. One whose amounts do not fit the columns here keeps its
 * state and shows the error.
 */
export async function syncInvoices(
  pool: Pool,
  organisationId: string,
  invoices: readonly ObservedInvoice[],
  queriedAt: string,
): Promise<SyncResult> {
  return writeBatch(
    invoices,
    (some) =>
      inTransaction(pool, (client) => writeInvoices(client, organisationId, some, queriedAt)),
    (one) => leaveUnfit(pool, organisationId, one, queriedAt),
  );
}

async function writeInvoices(
  client: Transaction,
  organisationId: string,
  invoices: readonly ObservedInvoice[],
  queriedAt: string,
): Promise<SyncResult> {
  const records = invoices.map((invoice) => {
    const { id, status, subtotal, total, amountDue, sent, updatedAt } = invoice;
    const amounts = { subtotal, total, amount_due: amountDue };
    return { id, status, ...amounts, sent, updated_at: updatedAt, ...identityRecord(invoice) };
  });
  const observed = JSON.stringify(records);
  const found = await findSynced(client, organisationId, observed);
  if (found.length === 0) return nothingSynced;
  const subscriptionIds = found.map((row) => row.subscriptionId);
  await lockSubscriptions(client, organisationId, subscriptionIds);
  const rows = await writeEvaluated(client, organisationId, observed, queriedAt, subscriptionIds);
  const written = rows.filter((row) => row.verdict === "write" && row.isOther);
  const open = written
    .filter(({ status }) => status === "approved")
    .map((row) => row.subscriptionId);
  return {
    ...nothingSynced,
    changed: written.length,
    credited: await planAllocations(client, organisationId, open),
    // Only a row that differs needs a second read.
    again: rows.filter((row) => row.verdict === "again" && row.isOther).map((row) => row.ledgerId),
  };
}

const markUnfit = query({
  name: "leave_unfit_invoice",
  text: sql`
    WITH
      evaluated AS (
        SELECT d.id AS own_id, ${verdict("invoices")} AS verdict
        FROM
          (SELECT $4::timestamptz AS updated_at) AS r
          JOIN invoices d
            ON d.organisation_id = $1 AND d.ledger_invoice_id = $2 AND d.status <> 'scheduled'
        FOR NO KEY UPDATE OF d
      ),
      written AS (
        UPDATE invoices i
        SET sync_error = ${unfitText}
        FROM evaluated e
        WHERE
          i.organisation_id = $1
          AND i.id = e.own_id
          AND e.verdict = 'write'
          AND (i.sync_error IS NULL OR i.status = 'not_in_external')
      )
    SELECT verdict
    FROM evaluated
  `,
  row: { verdict: verdictColumn },
});

async function leaveUnfit(
  pool: Pool,
  organisationId: string,
  { id, updatedAt }: ObservedInvoice,
  queriedAt: string,
): Promise<SyncResult> {
  const [evaluated] = await markUnfit(pool, organisationId, id, queriedAt, updatedAt);
  // The invoice shows its own error. The ledger's earlier refusal of it stays.
  return evaluated?.verdict === "again" ? { ...nothingSynced, again: [id] } : nothingSynced;
}

const losing = (kind: SyncedDocumentKind) =>
  query({
    name: `lose_${kind}`,
    text: sql`
      WITH
        evaluated AS (
          SELECT
            d.id AS own_id, d.${ledgerIdColumn[kind]} AS ledger_id,
            coalesce(d.ledger_reported_at >= $3::timestamptz, false) OR ${isBusy[kind]} AS is_busy
          FROM ${identifier(kind)} d
          WHERE
            d.organisation_id = $1
            AND ${stands(sql`d`)}
            AND d.${ledgerIdColumn[kind]} = ANY ($2)
          ORDER BY d.id
          FOR NO KEY UPDATE OF d
        ),
        lost AS (
          UPDATE ${identifier(kind)} t
          SET
            status = 'not_in_external',
            ledger_reported_at = now(),
            sync_error = 'The ledger does not have it any more.'
          FROM evaluated e
          WHERE t.organisation_id = $1 AND t.id = e.own_id AND NOT e.is_busy
        )
      SELECT ledger_id, is_busy
      FROM evaluated
    `,
    row: { ledgerId: columns.invoice.ledgerInvoiceId.present(), isBusy: bool },
  });

const lose = { invoices: losing("invoices"), credit_notes: losing("credit_notes") };

/**
 * Records that the ledger no longer has these documents, neither by id nor by number. What was
 * removed stays removed. One that was written since `queriedAt`, or that a job is posting, is read
 * again (DOCUMENT-7).
 */
export async function loseDocuments(
  pool: Pool,
  organisationId: string,
  kind: SyncedDocumentKind,
  ledgerIds: readonly string[],
  queriedAt: string,
): Promise<SyncResult> {
  return writeBatch(
    ledgerIds,
    (some) => loseBatch(pool, organisationId, kind, some, queriedAt),
    (id) => ({ ...nothingSynced, unfit: [id] }),
  );
}

async function loseBatch(
  pool: Pool,
  organisationId: string,
  kind: SyncedDocumentKind,
  ledgerIds: readonly string[],
  queriedAt: string,
): Promise<SyncResult> {
  const lost = kind === "invoices" ? { ledgerInvoiceIds: ledgerIds } : { ledgerNoteIds: ledgerIds };
  const rows = await inTransaction(pool, async (client) => {
    await lockInOrder(client, organisationId, lost);
    return lose[kind](client, organisationId, ledgerIds, queriedAt);
  });
  const again = rows.filter((row) => row.isBusy).map((row) => row.ledgerId);
  return { ...nothingSynced, changed: rows.length - again.length, again };
}

/** The numbers of our documents, by their ids in the ledger. */
export async function findNumbers(
  pool: Pool,
  organisationId: string,
  kind: SyncedDocumentKind,
  ledgerIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const ids = { in: [...ledgerIds] };
  const found =
    kind === "invoices"
      ? await db(pool).invoice.findMany({ where: { organisationId, ledgerInvoiceId: ids } })
      : await db(pool).creditNote.findMany({ where: { organisationId, ledgerCreditNoteId: ids } });
  return new Map(
    found.map((row) => {
      const id = "ledgerInvoiceId" in row ? row.ledgerInvoiceId : row.ledgerCreditNoteId;
      return [id ?? "", row.number];
    }),
  );
}
