/** Sales credit notes in Xero: create, get, find by our number, allocate their credit. */
import { scaledOf } from "../../port/decimal-text.ts";
import { checkDrift } from "../../port/drift.ts";
import {
  type ExactObject,
  filledTextOf,
  objectsOf,
  writeExactJson,
} from "../../port/exact-json.ts";
import { isMissing, unreadable } from "../../port/failures.ts";
import type {
  LedgerAnswer,
  LedgerCreditApplication,
  LedgerCreditNote,
  LedgerCreditNoteDraft,
  LedgerFailure,
} from "../../port/ledger.ts";
import { foldText } from "../../port/texts.ts";
import { getContact } from "../contacts.ts";
import { isElementRefused, messagesOf, refusedBecause, refusedId } from "../wire/failure.ts";
import { readCreditNote } from "../wire/read-shapes.ts";
import { fitsPath, whereIs } from "../wire/where.ts";
import type { XeroCall, XeroWire } from "../wire/wire.ts";
import { createEach } from "./create-each.ts";
import { getInvoice } from "./invoices.ts";
import { unitPlaces, writeAmount, writeDocument } from "./write-document.ts";

/** Creates sales credit notes, each with its reserved number. */
export function createCreditNotes(
  wire: XeroWire,
  call: XeroCall,
  drafts: readonly LedgerCreditNoteDraft[],
): Promise<LedgerAnswer<readonly LedgerAnswer<LedgerCreditNote>[]>> {
  return createEach(wire, call, {
    member: "CreditNotes",
    query: unitPlaces,
    drafts,
    keyOf: (draft) => draft.number,
    write: (draft) => ({
      Type: "ACCRECCREDIT",
      CreditNoteNumber: draft.number,
      ...writeDocument(draft),
    }),
    elementKeyOf: (element) => filledTextOf(element.CreditNoteNumber),
    read: readCreditNote,
  });
}

/** Returns one credit note with its lines and allocations, or `not_found`. */
export async function getCreditNote(
  wire: XeroWire,
  call: XeroCall,
  id: string,
): Promise<LedgerAnswer<LedgerCreditNote>> {
  const refused = refusedId(id);
  if (refused !== null) return refused;
  const answer = await wire.ask(call, {
    method: "GET",
    path: `/CreditNotes/${id}`,
    query: unitPlaces,
  });
  if (answer.kind !== "ok") return answer;
  const [element] = objectsOf(answer.value.CreditNotes);
  const note = element && readCreditNote(element);
  return note ? { kind: "ok", value: note } : unreadable("the credit note cannot be read", false);
}

/**
 * Returns the sales credit notes with these numbers, one number after the other. Xero has no lookup
 * by a list of numbers.
 */
export async function findCreditNotes(
  wire: XeroWire,
  call: XeroCall,
  numbers: readonly string[],
): Promise<LedgerAnswer<readonly LedgerCreditNote[]>> {
  const found: LedgerCreditNote[] = [];
  for (const number of new Set(numbers)) {
    const answer = await askByNumber(wire, call, number);
    if (isMissing(answer)) continue;
    if (answer.kind !== "ok") return answer;
    const elements = objectsOf(answer.value.CreditNotes).filter((element) =>
      isWanted(element, foldText(number)),
    );
    const notes = elements.map(readCreditNote).filter((note) => note !== undefined);
    if (notes.length < elements.length)
      return unreadable("a credit note of the list cannot be read", false);
    found.push(...notes);
  }
  return { kind: "ok", value: found };
}

// A number with a slash cannot be in a path. A filter by number works in all but large
// organisations (XERO-5).
function askByNumber(
  wire: XeroWire,
  call: XeroCall,
  number: string,
): Promise<LedgerAnswer<ExactObject>> {
  if (fitsPath(number) && refusedId(number) !== null) {
    const path = `/CreditNotes/${encodeURIComponent(number)}`;
    return wire.ask(call, { method: "GET", path, query: unitPlaces });
  }
  // Only a paged list has lines.
  const query = {
    where: whereIs("CreditNoteNumber", number),
    ...unitPlaces,
    page: "1",
    pageSize: "100",
  };
  return wire.ask(call, { method: "GET", path: "/CreditNotes", query });
}

/**
 * Allocates credit to an invoice and reads the note again. The invoice is read before, because Xero
 * compares it with the note alone, and both may have been changed. Only the new allocation is sent,
 * because Xero would apply earlier ones a second time.
 */
export async function allocateCredit(
  wire: XeroWire,
  call: XeroCall,
  application: LedgerCreditApplication,
): Promise<LedgerAnswer<LedgerCreditNote>> {
  const { creditNoteId, invoiceId, amount, date, meaning } = application;
  const refused = refusedId(creditNoteId) ?? refusedId(invoiceId);
  if (refused !== null) return refused;
  if (meaning !== undefined) {
    const invoice = await getInvoice(wire, call, invoiceId);
    if (invoice.kind !== "ok") return invoice;
    const drift = await checkDrift(invoice.value, meaning, (id) => getContact(wire, call, id));
    if (drift.kind !== "ok") return drift;
  }
  const allocation = { Invoice: { InvoiceID: invoiceId }, Amount: writeAmount(amount), Date: date };
  const answer = await wire.ask(call, {
    method: "PUT",
    path: `/CreditNotes/${creditNoteId}/Allocations`,
    query: { summarizeErrors: "true" },
    body: writeExactJson({ Allocations: [allocation] }),
  });
  if (answer.kind !== "ok") return answer;
  const refusedOne = objectsOf(answer.value.Allocations).find(isElementRefused);
  if (refusedOne) return refusedBecause(messagesOf(refusedOne));

  const note = await getCreditNote(wire, call, creditNoteId);
  if (note.kind !== "ok") return unknownAfterwards(note);
  // A note that was read too early would show no allocation, and the caller would allocate again.
  return hasAllocation(note.value, application)
    ? note
    : unreadable("the credit note does not show it yet", true);
}

function unknownAfterwards(failure: LedgerFailure): LedgerFailure {
  const why = failure.kind === "unavailable" ? failure.cause : failure.kind;
  return unreadable(`the credit was taken, and the credit note cannot be read: ${why}`, true);
}

// Compares sums, because a ledger may merge allocations of one note to one invoice.
function hasAllocation(
  note: LedgerCreditNote,
  { invoiceId, amount }: LedgerCreditApplication,
): boolean {
  const matching = note.allocations.filter(
    (allocation) => allocation.invoiceId.toLowerCase() === invoiceId.toLowerCase(),
  );
  return matching.reduce((sum, one) => sum + scaledOf(one.amount, 4), 0n) >= scaledOf(amount, 4);
}

// A supplier's credit note may have the same number as one of ours.
function isWanted(element: ExactObject, number: string): boolean {
  return (
    element.Type === "ACCRECCREDIT" &&
    foldText(filledTextOf(element.CreditNoteNumber) ?? "") === number
  );
}
