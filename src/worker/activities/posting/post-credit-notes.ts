/**
 * Waiting credit notes to the ledger, which makes them approved, and which of those that it has are ours. decisions §6.
 */
import type { Ledger, LedgerCreditNote, LedgerCreditNoteDraft } from "../../../ledger/port/ledger.ts";
import type { Settlement } from "../../../store/ledger-jobs/document-outcomes.ts";
import type { CreditNoteToSend, Taken } from "../../../store/ledger-jobs/jobs.ts";
import { addressesAtOnce, type GroupOutcome, held } from "./ledger-call.ts";
import { type CallSettings, lineOf, sameAmounts, postDocuments } from "./post-documents.ts";

/** Sends what is ready and looks up what is uncertain. */
export async function postCreditNotes(
  ledger: Ledger,
  taken: Taken<CreditNoteToSend>,
  settings: CallSettings,
): Promise<GroupOutcome> {
  const kind = {
    name: "credit note",
    create: ledger.createCreditNotes,
    lookUpAtOnce: addressesAtOnce,
    find: (call, numbers) => ledger.findCreditNotes(call, { numbers }),
    // Xero keeps no address of ours with a credit note.
    leadsBack: () => false,
    draftOf,
    isOurs,
    done,
  } as const satisfies Parameters<typeof postDocuments<CreditNoteToSend, LedgerCreditNoteDraft, LedgerCreditNote>>[0];
  return postDocuments(kind, taken, settings);
}

/**
 * A credit note leads nowhere in the ledger, so what proves it ours is that we may have sent it before (on a first
 * attempt nothing was) under this number, and that it is as we asked. Its credit may be used by now: taken for somebody
 * else's, it would be made and credited twice. Its contact proves nothing: it may have been merged into another one
 * since. Facts: facts-ledger section 5.4.
 */
function isOurs(note: CreditNoteToSend, found: LedgerCreditNote): boolean {
  return (
    note.attempts > 1 &&
    found.currency === note.currency &&
    found.reference === note.reference &&
    found.issueDate === note.issue_date &&
    found.subtotal === note.subtotal &&
    sameAmounts(note.lines, found.lines)
  );
}

function done(note: CreditNoteToSend, found: LedgerCreditNote): Settlement {
  return {
    ...held(note),
    kind: "credit_note_done",
    ledgerId: found.id,
    status: found.status,
    subtotal: found.subtotal,
    total: found.total,
    remainingCredit: found.remainingCredit,
    sent: found.sent,
    updatedAt: found.updatedAt,
    allocations: found.allocations,
  };
}

function draftOf(note: CreditNoteToSend): LedgerCreditNoteDraft {
  return {
    number: note.number,
    reference: note.reference,
    contactId: note.contact_id,
    currency: note.currency,
    issueDate: note.issue_date,
    lineAmounts: "exclusive",
    status: "approved",
    lines: note.lines.map(lineOf),
  };
}
