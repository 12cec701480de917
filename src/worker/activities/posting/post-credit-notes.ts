/**
 * Posts waiting credit notes to the ledger, which creates them approved (DOCUMENT-1), and
 * recognises those that the ledger already has.
 */
import type {
  Ledger,
  LedgerCreditNote,
  LedgerCreditNoteDraft,
} from "../../../ledger/port/ledger.ts";
import type { ClaimedJobs, CreditNoteToSend } from "../../../store/ledger-jobs/claim-jobs.ts";
import type { PostingOutcome } from "../../../store/ledger-jobs/document-outcomes.ts";
import { adoptOrPost } from "./adopt-unknown.ts";
import { addressesAtOnce, attemptOf, type GroupOutcome } from "./ledger-call.ts";
import { type CallSettings, lineOf, sameAmounts, sourceUrlOf } from "./post-documents.ts";

/** Sends ready credit notes and looks up uncertain ones. */
export async function postCreditNotes(
  ledger: Ledger,
  claimed: ClaimedJobs<CreditNoteToSend>,
  settings: CallSettings,
): Promise<GroupOutcome> {
  const kind = {
    name: "credit note",
    create: ledger.createCreditNotes,
    lookUpAtOnce: addressesAtOnce,
    find: ledger.findCreditNotes,
    idOf: ({ creditNoteId }) => creditNoteId,
    linkOf,
    draftOf: (note) => draftOf(note, settings),
    isOurs,
    readContacts: (call, ids) => ledger.getMany(call, { kind: "contacts", ids }),
    done,
  } as const satisfies Parameters<
    typeof adoptOrPost<CreditNoteToSend, LedgerCreditNoteDraft, LedgerCreditNote>
  >[0];
  return adoptOrPost(kind, claimed, settings);
}

/**
 * Whether a found credit note is ours. It has no link to us. It is ours if it may have been sent
 * before under this number (a first attempt was not) and is as requested. Its credit may already be
 * used: treated as another note, it would be created and credited twice. Its contact is compared by
 * the caller. POSTING-2.
 */
function isOurs(note: CreditNoteToSend, found: LedgerCreditNote): boolean {
  return (
    note.attempts > 1 &&
    found.currency === note.currency &&
    found.reference === note.reference &&
    found.issueDate === note.issueDate &&
    found.subtotal === note.subtotal &&
    sameAmounts(note.lines, found.lines)
  );
}

function done(note: CreditNoteToSend, found: LedgerCreditNote): PostingOutcome {
  return {
    ...attemptOf(note),
    kind: "credit_note_done",
    ledgerId: found.id,
    ledgerNumber: found.ledgerNumber,
    status: found.status,
    subtotal: found.subtotal,
    total: found.total,
    remainingCredit: found.remainingCredit,
    sent: found.sent,
    updatedAt: found.updatedAt,
    allocations: found.allocations,
  };
}

/** Returns the path of the link to us, which not every kind of ledger keeps. */
function linkOf({ creditNoteId }: CreditNoteToSend): string {
  return `/v1/credit_notes/${creditNoteId}`;
}

function draftOf(note: CreditNoteToSend, settings: CallSettings): LedgerCreditNoteDraft {
  const { maxDescriptionLength } = settings.traits.documents;
  return {
    number: note.number,
    reference: note.reference,
    contactId: note.contactId,
    currency: note.currency,
    issueDate: note.issueDate,
    lineAmounts: "exclusive",
    status: "approved",
    sourceUrl: sourceUrlOf(linkOf(note), settings),
    lines: note.lines.map((line) => lineOf(line, maxDescriptionLength)),
  };
}
