/** Changes the lines of a draft. Tryton takes the whole change in one request, or nothing of it. */
import { checkDrift } from "../../port/drift.ts";
import { objectsOf } from "../../port/exact-json.ts";
import { refused, unreadable } from "../../port/failures.ts";
import type { BegunCall } from "../../port/http/begun-call.ts";
import type {
  LedgerAmended,
  LedgerAnswer,
  LedgerInvoice,
  LedgerInvoiceAmendment,
  LedgerLineChange,
} from "../../port/ledger.ts";
import { hasContent, type PlacedChange, placeChanges } from "../../port/lines/placed-changes.ts";
import { refusedMoney } from "../../port/removal.ts";
import type { BooksReader } from "../books.ts";
import { getContact } from "../contacts.ts";
import { idOf, idsOf } from "../wire/values.ts";
import { idValue, type TrytonWire } from "../wire/wire.ts";
import { changedDocument, documentModel, getDocument } from "./find-documents.ts";
import { documentFields, invoiceOf, type TrytonDocument } from "./read-document.ts";
import { descriptionOf, writeLine } from "./write-document.ts";

/** Reads the invoice, decides whether it may change, and changes it. */
export async function amendInvoice(
  wire: TrytonWire,
  reader: BooksReader,
  call: BegunCall,
  { id, allowed, meaning, changes }: LedgerInvoiceAmendment,
): Promise<LedgerAnswer<LedgerAmended>> {
  const current = await getDocument(wire, call, id, withElement);
  if (current.kind !== "ok") return current;
  const { invoice, element } = current.value;
  // A posted document keeps its lines for ever.
  if (invoice.status !== "draft" || !allowed.includes(invoice.status)) {
    const { number, status } = invoice;
    return refused("wrong_status", `Invoice ${number} is ${status}; only a draft can be changed.`);
  }
  const fault = refusedMoney(invoice);
  if (fault !== null) return fault;
  const drift = await checkDrift(invoice, meaning, (contactId) =>
    getContact(wire, call, contactId),
  );
  if (drift.kind !== "ok") return drift;
  const placed = placeChanges(invoice.lines, changes, descriptionOf);
  if (placed.some(({ change, lineId }) => change.ledgerLineId !== null && lineId === null))
    return refused("drift", `A line of invoice ${invoice.number} is not there any more.`);
  const different = placed.filter((one) => isDifferent(invoice, one));
  if (different.length === 0) return amended(invoice, invoice, placed, false);
  const books = await reader.read(call);
  if (books.kind !== "ok") return books;
  const commands: unknown[] = [];
  for (const { change, lineId } of different) {
    const line = writeLine(books.value, change, 1);
    if (line.kind !== "ok") return line;
    const { taxIds, ...content } = line.value;
    const old = objectsOf(element.lines).find((one) => idOf(one) === lineId);
    const taxes = [
      ["remove", idsOf(old?.taxes).map(idValue)],
      ["add", taxIds.map(idValue)],
    ];
    const values = { ...content, taxes };
    const added = { ...values, company: wire.companyId };
    commands.push(lineId === null ? ["create", [added]] : ["write", [idValue(lineId)], values]);
  }
  const object = { model: documentModel, id };
  const answer = await wire.update(call, object, { lines: commands }, documentFields);
  const after = changedDocument(answer, invoiceOf);
  return after.kind === "ok" ? amended(invoice, after.value, placed, true) : after;
}

function withElement(document: TrytonDocument) {
  const invoice = invoiceOf(document);
  return invoice && { invoice, element: document.element };
}

/** A line that equals an added one stays as it is. Only a named line changes. */
function isDifferent(invoice: LedgerInvoice, { change, lineId }: PlacedChange): boolean {
  const line = invoice.lines.find(({ ledgerLineId }) => ledgerLineId === lineId);
  if (line === undefined) return true;
  return change.ledgerLineId !== null && !hasContent(line, descriptionOf(change), change);
}

function amended(
  before: LedgerInvoice,
  invoice: LedgerInvoice,
  placed: readonly PlacedChange[],
  isWrite: boolean,
): LedgerAnswer<LedgerAmended> {
  const known = new Set(before.lines.map(({ ledgerLineId }) => ledgerLineId));
  const free = invoice.lines.filter(({ ledgerLineId }) => !known.has(ledgerLineId));
  const added = (change: LedgerLineChange) => {
    const index = free.findIndex((line) => hasContent(line, descriptionOf(change), change));
    return free.splice(index, index < 0 ? 0 : 1)[0]?.ledgerLineId;
  };
  const lineIds = placed.flatMap(({ change, lineId }) => lineId ?? added(change) ?? []);
  return lineIds.length === placed.length
    ? { kind: "ok", value: { invoice, lineIds } }
    : unreadable("the answer does not show all changed lines", isWrite);
}
