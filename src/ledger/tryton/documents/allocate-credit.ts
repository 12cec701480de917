/**
 * Allocates credit of a note to an invoice: a move of the receivable account with a line that pays
 * the note and one that pays the invoice. It is linked to both while it is a draft, in the request
 * that creates it, and counts once it is posted (LEDGER-23). Then nothing is open of what it pays
 * whole. Tryton calls that paid after a reconciliation, which its REST interface does not offer: a
 * person's client or Tryton's own schedule does it.
 */

import type { BegunCall } from "../../port/call.ts";
import { scaledOf } from "../../port/decimal-text.ts";
import { checkDrift } from "../../port/drift.ts";
import { isMissing, notFound, refused, unreadable } from "../../port/failures.ts";
import type {
  LedgerAnswer,
  LedgerCreditApplication,
  LedgerCreditNote,
  LedgerFailure,
  LedgerInvoice,
} from "../../port/ledger.ts";
import { type Books, type BooksReader, periodOf } from "../books.ts";
import { getContact } from "../contacts.ts";
import { beforePosting } from "../wire/failure.ts";
import { dateValue, decimalValue, idOf } from "../wire/values.ts";
import { idValue, type TrytonWire } from "../wire/wire.ts";
import { documentModel, getDocument } from "./find-documents.ts";
import { creditNoteOf, invoiceOf } from "./read-document.ts";

/** The model of entries in the books. */
export const moveModel = "account.move";

/** The start of the description of a move that allocates credit. Its end is the job's key. */
export const creditMark = "Credit allocated by billing ";

/** Applies the credit and reads the note again. */
export async function allocateCredit(
  wire: TrytonWire,
  reader: BooksReader,
  call: BegunCall,
  application: LedgerCreditApplication,
): Promise<LedgerAnswer<LedgerCreditNote>> {
  const { creditNoteId, invoiceId, meaning } = application;
  const [note, invoice, books] = await Promise.all([
    getDocument(wire, call, creditNoteId, creditNoteOf),
    getDocument(wire, call, invoiceId, invoiceOf),
    reader.read(call),
  ]);
  if (note.kind !== "ok") return note;
  if (invoice.kind !== "ok") return invoice;
  if (books.kind !== "ok") return books;
  const drift = await checkDrift(invoice.value, meaning, (id) => getContact(wire, call, id));
  if (drift.kind !== "ok") return drift;
  const fault = faultOf(application, note.value, invoice.value);
  if (fault !== null) return fault;
  const key = `${creditMark}${call.jobKeys.join(" ")} ${note.value.number} ${invoice.value.number}`;
  const posted = await postMove(wire, call, books.value, key, application);
  if (posted.kind !== "ok") return posted;
  const after = await getDocument(wire, call, creditNoteId, creditNoteOf);
  if (after.kind === "ok") return after;
  return unreadable("the credit was taken, and the credit note cannot be read", true);
}

function faultOf(
  { amount }: LedgerCreditApplication,
  note: LedgerCreditNote,
  invoice: LedgerInvoice,
): LedgerFailure | null {
  const isOpen = ({ status }: LedgerCreditNote | LedgerInvoice) =>
    status === "approved" || status === "paid";
  if (!isOpen(note) || !isOpen(invoice))
    return refused(
      "wrong_status",
      "Only a posted note gives credit, and only to a posted invoice.",
    );
  const wanted = scaledOf(amount, 4);
  if (wanted > scaledOf(note.remainingCredit, 4) || wanted > scaledOf(invoice.amountDue, 4))
    return refused("amount_exceeds", "The note has less left, or less is due on the invoice.");
  return note.contactId === invoice.contactId
    ? null
    : refused("drift", "The note and the invoice are of different parties in Tryton.");
}

/** Creates the move, deletes drafts of earlier attempts, and posts it, unless one is posted. */
async function postMove(
  wire: TrytonWire,
  call: BegunCall,
  books: Books,
  key: string,
  application: LedgerCreditApplication,
): Promise<LedgerAnswer<null>> {
  const values = await writeMove(wire, call, books, key, application);
  if (values.kind !== "ok") return values;
  const moves = () =>
    wire.search(call, moveModel, { domain: [["description", "=", key]], fields: ["state"] });
  const remove = (id: string) => wire.remove(call, { model: moveModel, id });
  // A draft of an earlier attempt has taken the credit, so that it must go before.
  const earlier = await moves();
  if (earlier.kind !== "ok") return earlier;
  for (const move of earlier.value) {
    if (move.state === "posted") return { kind: "ok", value: null };
    const answer = await remove(idOf(move) ?? "");
    if (answer.kind !== "ok" && !isMissing(answer)) return beforePosting(answer);
  }
  const created = await wire.create(call, moveModel, values.value, ["state"]);
  if (created.kind === "refused") return { ...created, reason: "amount_exceeds" };
  if (created.kind !== "ok") return beforePosting(created);
  const id = idOf(created.value) ?? "";
  const all = await moves();
  if (all.kind !== "ok") return all;
  if (all.value.length !== 1) {
    const answer = await remove(id);
    if (answer.kind !== "ok") return beforePosting(answer);
    return unreadable("another attempt was still on its way", false);
  }
  const posted = await wire.act(call, { model: moveModel, id }, "post", ["state"]);
  if (posted.kind === "ok") return { kind: "ok", value: null };
  if (posted.kind === "refused") await remove(id);
  return posted;
}

async function writeMove(
  wire: TrytonWire,
  call: BegunCall,
  books: Books,
  key: string,
  { creditNoteId, invoiceId, amount, date }: LedgerCreditApplication,
): Promise<LedgerAnswer<object>> {
  const period = periodOf(books, date);
  if (period === undefined)
    return refused("period_locked", `The company has no open period for ${date}.`);
  const fields = ["account", "party"];
  const domain = [["id", "=", idValue(creditNoteId)]];
  const answer = await wire.search(call, documentModel, { domain, fields });
  if (answer.kind !== "ok") return answer;
  const [note] = answer.value;
  const [account, party] = [idOf(note?.account), idOf(note?.party)];
  if (account === undefined || party === undefined) return notFound;
  const receivable = { account: idValue(account), party: idValue(party) };
  const [value, zero] = [decimalValue(amount), decimalValue("0")];
  return {
    kind: "ok",
    value: {
      company: wire.companyId,
      journal: idValue(books.generalJournal ?? ""),
      period: idValue(period.id),
      date: dateValue(date),
      description: key,
      origin: `${documentModel},${creditNoteId}`,
      lines: [
        [
          "create",
          [
            { ...receivable, debit: value, credit: zero, invoice_payment: idValue(creditNoteId) },
            { ...receivable, debit: zero, credit: value, invoice_payment: idValue(invoiceId) },
          ],
        ],
      ],
    },
  };
}
