/**
 * Invoices and credit notes as people left them in the ledger: written where what we know is older, and not where it was written
 * since the ledger was asked or one of our own operations is on its way. Issue 8 "Mirror"; decisions §6.
 */
import type pg from "pg";
import { planAllocations } from "./allocations.ts";
import { lockSubscriptions } from "./billing-state.ts";
import { type InvoiceSeen, type NoteSeen, saveNoteSeen } from "./credit-mirror.ts";
import { isBusyInvoice, isBusyNote } from "./mirror-hints.ts";
import { inTransaction } from "./pool.ts";
import type { Client } from "./raise-documents.ts";
import { isUnwritable, unwritableAnswer } from "./settle-operations.ts";

/** A document of the ledger by its id there, and the ledger's own time of it (ISO 8601). */
interface Dated {
  readonly id: string;
  readonly updatedAt: string;
}

/** An invoice as it was looked at. */
export type InvoiceLooked = InvoiceSeen & Dated;

/** A credit note as it was looked at. */
export type NoteLooked = NoteSeen & Dated;

/**
 * What came of a look: how many of ours changed; the subscriptions whose held credit is planned to go on an invoice, whose workflows are
 * to be started; and the ledger's ids of what has to be looked at again, because it was written here meanwhile.
 */
export interface Followed {
  readonly changed: number;
  readonly credited: readonly string[];
  readonly again: readonly string[];
}

/** Nothing came of it. */
export const nothingFollowed: Followed = { changed: 0, credited: [], again: [] };

/** Several looks as one. */
export function joinFollowed(all: readonly Followed[]): Followed {
  return {
    changed: all.reduce((sum, { changed }) => sum + changed, 0),
    credited: [...new Set(all.flatMap(({ credited }) => credited))],
    again: all.flatMap(({ again }) => again),
  };
}

const seenInvoice = `jsonb_to_recordset($2) AS r(id text, status text, subtotal numeric, total numeric, amount_due numeric, sent boolean,
    updated_at timestamptz)`;
const isOtherInvoice =
  "(d.status, d.total, d.amount_due, d.sent) IS DISTINCT FROM (r.status, r.total, r.amount_due, r.sent)";

// Whoever wrote after the ledger was asked ($3) may know more than its answer: that is looked at again. A scheduled one has no id there.
const verdict = (isBusy: string): string => `CASE WHEN d.ledger_updated_at > r.updated_at THEN 'older'
    WHEN d.ledger_told_at >= $3::timestamptz OR ${isBusy} THEN 'again' ELSE 'write' END`;

const invoicesText = `
WITH judged AS (
  SELECT d.id AS own_id, d.subscription_id, d.ledger_invoice_id AS ledger_id, r.status, r.subtotal, r.total, r.amount_due, r.sent, r.updated_at,
    ${isOtherInvoice} AS is_other, ${verdict(isBusyInvoice)} AS verdict
  FROM ${seenInvoice} JOIN invoices d ON d.organisation_id = $1 AND d.ledger_invoice_id = r.id
  WHERE ${isOtherInvoice} OR d.ledger_updated_at IS DISTINCT FROM r.updated_at ORDER BY d.id FOR NO KEY UPDATE OF d
), written AS (
  UPDATE invoices i SET status = j.status, total = j.total, amount_due = j.amount_due, sent = j.sent, ledger_updated_at = j.updated_at,
    ledger_subtotal = coalesce(j.subtotal, i.ledger_subtotal), ledger_told_at = now(),
    sync_error = CASE WHEN i.status <> 'not_in_external' THEN i.sync_error END
  FROM judged j WHERE i.organisation_id = $1 AND i.id = j.own_id AND j.verdict = 'write'
)
SELECT subscription_id, ledger_id, status, is_other, verdict FROM judged`;

interface JudgedRow {
  subscription_id: string;
  ledger_id: string;
  status: string;
  is_other: boolean;
  verdict: "older" | "again" | "write";
}

/**
 * Writes invoices as they were looked at after `askedAt` (of the database's clock), together; those that are not ours are passed over.
 * One whose amounts fit no record here keeps what it was and says so.
 */
export async function followInvoices(
  pool: pg.Pool,
  organisationId: string,
  looked: readonly InvoiceLooked[],
  askedAt: string,
): Promise<Followed> {
  if (looked.length === 0) return nothingFollowed;
  try {
    return await inTransaction(pool, (client) => writeInvoices(client, organisationId, looked, askedAt));
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    const [only] = looked;
    if (looked.length === 1 && only !== undefined) return leaveUnfit(pool, organisationId, only);
    const each: Followed[] = [];
    for (const one of looked) each.push(await followInvoices(pool, organisationId, [one], askedAt));
    return joinFollowed(each);
  }
}

async function writeInvoices(
  client: Client,
  organisationId: string,
  looked: readonly InvoiceLooked[],
  askedAt: string,
): Promise<Followed> {
  const records = looked.map(({ id, status, subtotal, total, amountDue, sent, updatedAt }) => {
    return { id, status, subtotal, total, amount_due: amountDue, sent, updated_at: updatedAt };
  });
  const seen = JSON.stringify(records);
  // Before the invoices, as every change of a subscription does.
  const { rows: others } = await client.query<{ subscription_id: string }>({
    name: "find_followed_invoices",
    text: `SELECT DISTINCT d.subscription_id FROM ${seenInvoice}
      JOIN invoices d ON d.organisation_id = $1 AND d.ledger_invoice_id = r.id WHERE ${isOtherInvoice}`,
    values: [organisationId, seen],
  });
  if (others.length > 0)
    await lockSubscriptions(
      client,
      organisationId,
      others.map((row) => row.subscription_id),
    );
  const { rows } = await client.query<JudgedRow>({
    name: "follow_invoices",
    text: invoicesText,
    values: [organisationId, seen, askedAt],
  });
  const written = rows.filter((row) => row.verdict === "write" && row.is_other);
  const open = written.filter(({ status }) => status === "approved").map((row) => row.subscription_id);
  return {
    changed: written.length,
    credited: await planAllocations(client, organisationId, open),
    again: againOf(rows),
  };
}

/** Only one that differs is worth a second look. */
function againOf(rows: readonly JudgedRow[]): readonly string[] {
  return rows.filter((row) => row.verdict === "again" && row.is_other).map((row) => row.ledger_id);
}

async function leaveUnfit(pool: pg.Pool, organisationId: string, { id }: InvoiceLooked): Promise<Followed> {
  await pool.query({
    name: "leave_unfit_invoice",
    text: "UPDATE invoices SET sync_error = $3 WHERE organisation_id = $1 AND ledger_invoice_id = $2 AND status <> 'scheduled'",
    values: [organisationId, id, unwritableAnswer.message],
  });
  return nothingFollowed;
}

const seenNote = `jsonb_to_recordset($2) AS r(id text, status text, total numeric, remaining numeric, sent boolean, updated_at timestamptz)`;
const isOtherNote =
  "(d.status, d.total, d.remaining_credit, d.sent) IS DISTINCT FROM (r.status, r.total, r.remaining, r.sent)";

interface NoteRow {
  id: string;
  ledger_id: string;
  subscription_id: string;
}

/** Writes credit notes as they were looked at after `askedAt`, each on its own, with what was allocated or taken back by hand. */
export async function followNotes(
  pool: pg.Pool,
  organisationId: string,
  looked: readonly NoteLooked[],
  askedAt: string,
): Promise<Followed> {
  if (looked.length === 0) return nothingFollowed;
  const { rows } = await pool.query<NoteRow>({
    name: "find_followed_notes",
    text: `SELECT d.id, d.ledger_credit_note_id AS ledger_id, d.subscription_id FROM ${seenNote}
      JOIN credit_notes d ON d.organisation_id = $1 AND d.ledger_credit_note_id = r.id
      WHERE ${isOtherNote} OR d.ledger_updated_at IS DISTINCT FROM r.updated_at`,
    values: [organisationId, JSON.stringify(looked.map(noteRecord))],
  });
  const each: Followed[] = [];
  for (const row of rows) {
    const note = looked.find(({ id }) => id === row.ledger_id);
    if (note !== undefined) each.push(await followNote(pool, organisationId, row, note, askedAt));
  }
  return joinFollowed(each);
}

async function followNote(
  pool: pg.Pool,
  organisationId: string,
  { id, ledger_id: ledgerId, subscription_id: subscriptionId }: NoteRow,
  note: NoteLooked,
  askedAt: string,
): Promise<Followed> {
  try {
    return await inTransaction(pool, async (client) => {
      await lockSubscriptions(client, organisationId, [subscriptionId]);
      const { rows } = await client.query<{ verdict: string }>({
        name: "judge_followed_note",
        text: `SELECT ${verdict(isBusyNote)} AS verdict FROM ${seenNote}
          JOIN credit_notes d ON d.organisation_id = $1 AND d.ledger_credit_note_id = r.id FOR NO KEY UPDATE OF d`,
        values: [organisationId, JSON.stringify([noteRecord(note)]), askedAt],
      });
      const judged = rows[0]?.verdict;
      if (judged !== "write") return { ...nothingFollowed, again: judged === "again" ? [ledgerId] : [] };
      await saveNoteSeen(client, organisationId, id, note, "followed");
      const credited = await planAllocations(client, organisationId, [subscriptionId]);
      return { changed: 1, credited, again: [] };
    });
  } catch (error) {
    // A note that fits no record here keeps what it was; no other waits for it.
    if (!isUnwritable(error)) throw error;
    return nothingFollowed;
  }
}

function noteRecord({ id, status, total, remainingCredit, sent, updatedAt }: NoteLooked): object {
  return { id, status, total, remaining: remainingCredit, sent, updated_at: updatedAt };
}

const goneText = (table: "invoices" | "credit_notes"): string => `
UPDATE ${table} d SET status = 'not_in_external', ledger_told_at = now(), sync_error = 'The ledger does not have it any more.'
WHERE d.organisation_id = $1 AND d.status NOT IN ('scheduled', 'not_in_external')
  AND d.${table === "invoices" ? "ledger_invoice_id" : "ledger_credit_note_id"} = ANY ($2)
  AND NOT coalesce(d.ledger_told_at >= $3::timestamptz, false) AND NOT ${table === "invoices" ? isBusyInvoice : isBusyNote}`;

/** Writes that the ledger has these documents no more, neither by id nor by number; how many were written. */
export async function loseDocuments(
  pool: pg.Pool,
  organisationId: string,
  kind: "invoices" | "credit_notes",
  ledgerIds: readonly string[],
  askedAt: string,
): Promise<number> {
  const { rowCount } = await pool.query({
    name: `lose_${kind}`,
    text: goneText(kind),
    values: [organisationId, ledgerIds, askedAt],
  });
  return rowCount ?? 0;
}

/** Our numbers of documents, by their ids in the ledger. */
export async function findNumbers(
  pool: pg.Pool,
  organisationId: string,
  kind: "invoices" | "credit_notes",
  ledgerIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const column = kind === "invoices" ? "ledger_invoice_id" : "ledger_credit_note_id";
  const { rows } = await pool.query<{ ledger_id: string; number: string }>({
    name: `find_numbers_of_${kind}`,
    text: `SELECT ${column} AS ledger_id, number FROM ${kind} WHERE organisation_id = $1 AND ${column} = ANY ($2)`,
    values: [organisationId, ledgerIds],
  });
  return new Map(rows.map((row) => [row.ledger_id, row.number]));
}
