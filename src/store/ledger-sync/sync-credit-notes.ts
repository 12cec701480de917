/**
 * Syncs credit notes that people changed in the ledger, with their allocations. Each is written
 * separately, if our state is older (LEDGER-4).
 */
import { lockInOrder } from "../database/lock-order.ts";
import { inTransaction, type Pool } from "../database/pool.ts";
import { type ObservedNoteState, saveObservedNote } from "../documents/credit-note-state.ts";
import { planAllocations } from "../ledger-jobs/credit-allocations.ts";
import { isUnwritable } from "../ledger-jobs/document-outcomes.ts";
import {
  type Dated,
  type Followed,
  joinSyncResults,
  nothingSynced,
  verdict,
} from "../ledger-jobs/observed-state.ts";

/** A credit note as observed. */
export type ObservedCreditNote = ObservedNoteState & Dated;

const observedNote = `jsonb_to_recordset($2) AS r(id text, status text, total numeric, remaining numeric, sent boolean, updated_at timestamptz)`;
const isOtherNote =
  "(d.status, d.total, d.remaining_credit, d.sent) IS DISTINCT FROM (r.status, r.total, r.remaining, r.sent)";

interface NoteRow {
  id: string;
  ledger_id: string;
  subscription_id: string;
}

/**
 * Writes credit notes that were read after `askedAt`, each separately, with the allocations that
 * people added or removed. One whose amounts do not fit the columns here keeps its state.
 */
export async function syncCreditNotes(
  pool: Pool,
  organisationId: string,
  looked: readonly ObservedCreditNote[],
  askedAt: string,
): Promise<Followed> {
  if (looked.length === 0) return nothingSynced;
  const { rows } = await pool.query<NoteRow>({
    name: "find_synced_notes",
    text: `SELECT d.id, d.ledger_credit_note_id AS ledger_id, d.subscription_id FROM ${observedNote}
      JOIN credit_notes d ON d.organisation_id = $1 AND d.ledger_credit_note_id = r.id
      WHERE ${isOtherNote} OR d.ledger_updated_at IS DISTINCT FROM r.updated_at`,
    values: [organisationId, JSON.stringify(looked.map(noteRecord))],
  });
  const each: Followed[] = [];
  for (const row of rows) {
    const note = looked.find(({ id }) => id === row.ledger_id);
    if (note !== undefined) each.push(await followNote(pool, organisationId, row, note, askedAt));
  }
  return joinSyncResults(each);
}

async function followNote(
  pool: Pool,
  organisationId: string,
  { id, ledger_id: ledgerId, subscription_id: subscriptionId }: NoteRow,
  note: ObservedCreditNote,
  askedAt: string,
): Promise<Followed> {
  try {
    return await inTransaction(pool, async (client) => {
      await lockInOrder(client, organisationId, {
        ledgerInvoiceIds: note.allocations.map(({ invoiceId }) => invoiceId),
        ledgerNoteIds: [ledgerId],
      });
      const { rows } = await client.query<{ verdict: string; is_other: boolean }>({
        name: "evaluate_synced_note",
        text: `SELECT ${verdict("credit_notes")} AS verdict, ${isOtherNote} AS is_other FROM ${observedNote}
          JOIN credit_notes d ON d.organisation_id = $1 AND d.ledger_credit_note_id = r.id FOR NO KEY UPDATE OF d`,
        values: [organisationId, JSON.stringify([noteRecord(note)]), askedAt],
      });
      const [judged] = rows;
      if (judged?.verdict !== "write")
        return { ...nothingSynced, again: judged?.verdict === "again" ? [ledgerId] : [] };
      const isMoved = await saveObservedNote(client, organisationId, id, note, "synced");
      const credited = await planAllocations(client, organisationId, [subscriptionId]);
      return { ...nothingSynced, changed: judged.is_other || isMoved ? 1 : 0, credited };
    });
  } catch (error) {
    // An unwritable note blocks no other (LEDGER-5).
    if (!isUnwritable(error)) throw error;
    return { ...nothingSynced, unfit: [ledgerId] };
  }
}

function noteRecord({
  id,
  status,
  total,
  remainingCredit,
  sent,
  updatedAt,
}: ObservedCreditNote): object {
  return { id, status, total, remaining: remainingCredit, sent, updated_at: updatedAt };
}
