/**
 * Syncs credit notes that people changed in the ledger, with their allocations. Each is written
 * separately, if our state is older (LEDGER-4). SQL, because one statement compares all observed
 * notes, and each is evaluated under its lock by instants with microseconds.
 */

import type { CreditNote } from "../../gen/prisma/client.ts";
import { lockInOrder } from "../database/lock-order.ts";
import { inTransaction, type Pool } from "../database/pool.ts";
import { type ObservedNoteState, saveObservedNote } from "../documents/credit-note-state.ts";
import { driftOf, identityColumns, identityRecord } from "../documents/ledger-drift.ts";
import { planAllocations } from "../ledger-jobs/credit-allocations.ts";
import { isUnwritable } from "../ledger-jobs/document-outcomes.ts";
import {
  type Dated,
  joinSyncResults,
  nothingSynced,
  type SyncResult,
  verdict,
  writeBatch,
} from "./observed-state.ts";

/** A credit note as observed. */
export type ObservedCreditNote = ObservedNoteState & Dated;

const observedNote = `jsonb_to_recordset($2) AS r(id text, status text, total numeric,
    remaining numeric, sent boolean, updated_at timestamptz, ${identityColumns})
  JOIN credit_notes d ON d.organisation_id = $1 AND d.ledger_credit_note_id = r.id`;
const isOtherNote = `(d.status, d.total, d.remaining_credit, d.sent, d.ledger_drift)
    IS DISTINCT FROM (r.status, r.total, r.remaining, r.sent, ${driftOf("credit_notes")})`;

type NoteRow = Pick<CreditNote, "id" | "subscriptionId"> & { readonly ledgerId: string };

/**
 * Writes credit notes that were read after `queriedAt`, each separately, with the allocations that
 * people added or removed. One whose amounts do not fit the columns here keeps its state.
 */
export async function syncCreditNotes(
  pool: Pool,
  organisationId: string,
  notes: readonly ObservedCreditNote[],
  queriedAt: string,
): Promise<SyncResult> {
  return writeBatch(
    notes,
    (some) => syncNotes(pool, organisationId, some, queriedAt),
    ({ id }) => ({ ...nothingSynced, unfit: [id] }),
  );
}

async function syncNotes(
  pool: Pool,
  organisationId: string,
  notes: readonly ObservedCreditNote[],
  queriedAt: string,
): Promise<SyncResult> {
  const { rows } = await pool.query<NoteRow>({
    name: "find_synced_notes",
    text: `SELECT d.id, d.ledger_credit_note_id AS "ledgerId", d.subscription_id AS "subscriptionId"
      FROM ${observedNote}
      WHERE ${isOtherNote} OR d.ledger_updated_at IS DISTINCT FROM r.updated_at`,
    values: [organisationId, JSON.stringify(notes.map(noteRecord))],
  });
  const each: SyncResult[] = [];
  for (const row of rows) {
    const note = notes.find(({ id }) => id === row.ledgerId);
    if (note !== undefined) each.push(await syncNote(pool, organisationId, row, note, queriedAt));
  }
  return joinSyncResults(each);
}

async function syncNote(
  pool: Pool,
  organisationId: string,
  { id, ledgerId, subscriptionId }: NoteRow,
  note: ObservedCreditNote,
  queriedAt: string,
): Promise<SyncResult> {
  try {
    return await inTransaction(pool, async (client) => {
      await lockInOrder(client, organisationId, {
        ledgerInvoiceIds: note.allocations.map(({ invoiceId }) => invoiceId),
        ledgerNoteIds: [ledgerId],
      });
      const { rows } = await client.query<{ verdict: string; isOther: boolean }>({
        name: "evaluate_synced_note",
        text: `SELECT ${verdict("credit_notes")} AS verdict, ${isOtherNote} AS "isOther"
          FROM ${observedNote} FOR NO KEY UPDATE OF d`,
        values: [organisationId, JSON.stringify([noteRecord(note)]), queriedAt],
      });
      const [evaluated] = rows;
      if (evaluated?.verdict !== "write")
        return { ...nothingSynced, again: evaluated?.verdict === "again" ? [ledgerId] : [] };
      const isMoved = await saveObservedNote(client, organisationId, id, note, "synced");
      const credited = await planAllocations(client, organisationId, [subscriptionId]);
      return { ...nothingSynced, changed: evaluated.isOther || isMoved ? 1 : 0, credited };
    });
  } catch (error) {
    // An unwritable note blocks no other (LEDGER-5).
    if (!isUnwritable(error)) throw error;
    return { ...nothingSynced, unfit: [ledgerId] };
  }
}

function noteRecord(note: ObservedCreditNote): object {
  const { id, status, total, remainingCredit: remaining, sent, updatedAt } = note;
  return { id, status, total, remaining, sent, updated_at: updatedAt, ...identityRecord(note) };
}
