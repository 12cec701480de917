/**
 * Syncs credit notes that people changed in the ledger, with their allocations. Each is written
 * separately, if our state is older (LEDGER-4). SQL, because one statement compares all observed
 * notes, and each is evaluated under its lock by instants with microseconds.
 */

import { columns } from "../../gen/columns.ts";
import { lockInOrder } from "../database/lock-order.ts";
import { inTransaction, type Pool } from "../database/pool.ts";
import { bool, pick, type RowOf } from "../database/sql/columns.ts";
import { columnsOf, sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import { type ObservedNoteState, saveObservedNote } from "../documents/credit-note-state.ts";
import {
  driftOf,
  identityColumns,
  identityRecord,
  ledgerNumber,
} from "../documents/ledger-drift.ts";
import { planAllocations } from "../ledger-jobs/credit-allocations.ts";
import { isUnwritable } from "../ledger-jobs/document-outcomes.ts";
import {
  type Dated,
  joinSyncResults,
  nothingSynced,
  type SyncResult,
  verdict,
  verdictColumn,
  writeBatch,
} from "./observed-state.ts";

/** A credit note as observed. */
export type ObservedCreditNote = ObservedNoteState & Dated;

const observedNote = sql`jsonb_to_recordset($2) AS r(id text, status text, total numeric,
    remaining numeric, sent boolean, updated_at timestamptz, ${identityColumns})
  JOIN credit_notes d ON d.organisation_id = $1 AND d.ledger_credit_note_id = r.id`;
const isOtherNote = sql`(d.status, d.total, d.remaining_credit, d.sent, d.ledger_drift,
      d.ledger_number) IS DISTINCT FROM (r.status, r.total, r.remaining, r.sent,
      ${driftOf("credit_notes")}, ${ledgerNumber})`;

const syncedNote = {
  ...pick(columns.creditNote, "id", "subscriptionId"),
  ledgerCreditNoteId: columns.creditNote.ledgerCreditNoteId.present(),
};

const findSynced = query({
  name: "find_synced_notes",
  text: sql`
    SELECT ${columnsOf(sql`d`, syncedNote)}
    FROM ${observedNote}
    WHERE ${isOtherNote} OR d.ledger_updated_at IS DISTINCT FROM r.updated_at
  `,
  row: syncedNote,
});

const evaluate = query({
  name: "evaluate_synced_note",
  text: sql`
    SELECT ${verdict("credit_notes")} AS verdict, ${isOtherNote} AS is_other
    FROM ${observedNote}
    FOR NO KEY UPDATE OF d
  `,
  row: { verdict: verdictColumn, isOther: bool },
});

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
  const rows = await findSynced(pool, organisationId, JSON.stringify(notes.map(noteRecord)));
  const each: SyncResult[] = [];
  for (const row of rows) {
    const note = notes.find(({ id }) => id === row.ledgerCreditNoteId);
    if (note !== undefined) each.push(await syncNote(pool, organisationId, row, note, queriedAt));
  }
  return joinSyncResults(each);
}

async function syncNote(
  pool: Pool,
  organisationId: string,
  { id, ledgerCreditNoteId: ledgerId, subscriptionId }: RowOf<typeof syncedNote>,
  note: ObservedCreditNote,
  queriedAt: string,
): Promise<SyncResult> {
  try {
    return await inTransaction(pool, async (client) => {
      await lockInOrder(client, organisationId, {
        ledgerInvoiceIds: note.allocations.map(({ invoiceId }) => invoiceId),
        ledgerNoteIds: [ledgerId],
      });
      const observed = JSON.stringify([noteRecord(note)]);
      const [evaluated] = await evaluate(client, organisationId, observed, queriedAt);
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
