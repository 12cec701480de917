/**
 * Sales credit notes as a kind of document: their table, their names in filters, and their
 * allocations.
 */
import { loadAllocations } from "../documents/allocation-rows.ts";
import {
  allocatedOf,
  type CreditNoteRow,
  presentCreditNote,
} from "../documents/credit-note-rows.ts";
import { validateCreditNoteChange, validateNewCreditNote } from "../documents/credit-note-rules.ts";
import { presentContactOf } from "../documents/document-contacts.ts";
import type { DocumentValues } from "../documents/document-rules.ts";
import { documentColumns } from "../documents/document-store.ts";
import type { DocumentResource } from "../documents/documents.ts";

/** `/CreditNotes`. Xero has no comma lists here, only `where`. */
export const creditNotes: DocumentResource<CreditNoteRow, DocumentValues> = {
  member: "CreditNotes",
  idName: "CreditNoteID",
  numberName: "CreditNoteNumber",
  numberTaken: "Credit Note # must be unique.",
  table: {
    name: "credit_notes",
    idColumn: "credit_note_id",
    columns: documentColumns,
  },
  listed: {
    id: "credit_note_id",
    filters: { CreditNoteNumber: "number", Type: "'ACCRECCREDIT'" },
    unindexed: ["CreditNoteNumber"],
    lists: {},
    searched: [],
  },
  heavy: null,
  validateNew: validateNewCreditNote,
  validateChange: validateCreditNoteChange,
  async present(client, rows, contacts, withLines) {
    const allocated = rows.filter((row) => allocatedOf(row) !== 0n).map((row) => row.id);
    const allocations = await loadAllocations(client, "credit_note_id", allocated);
    return rows.map((row) => {
      const own = allocations.filter((allocation) => allocation.credit_note_id === row.id);
      return presentCreditNote(row, presentContactOf(contacts, row), own, withLines);
    });
  },
};
