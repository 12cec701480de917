/** Changes the lines of a draft. Tryton takes the whole change in one request, or nothing of it. */

import type { BegunCall } from "../../port/call.ts";
import { objectsOf } from "../../port/exact-json.ts";
import { refused } from "../../port/failures.ts";
import { checkAmendment } from "../../port/invoice-checks.ts";
import type {
  LedgerAmended,
  LedgerAnswer,
  LedgerInvoice,
  LedgerInvoiceAmendment,
} from "../../port/ledger.ts";
import {
  amended,
  hasContent,
  type PlacedChange,
  placeChanges,
} from "../../port/lines/placed-changes.ts";
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
  amendment: LedgerInvoiceAmendment,
): Promise<LedgerAnswer<LedgerAmended>> {
  const { id, allowed, changes } = amendment;
  const current = await getDocument(wire, call, id, withElement);
  if (current.kind !== "ok") return current;
  const { invoice, element } = current.value;
  // A posted document keeps its lines for ever.
  const onDraft = { ...amendment, allowed: allowed.filter((status) => status === "draft") };
  const checked = await checkAmendment(invoice, onDraft, (contactId) =>
    getContact(wire, call, contactId),
  );
  if (checked.kind !== "ok") return checked;
  const placed = placeChanges(invoice.lines, changes, descriptionOf);
  if (placed.some(({ change, lineId }) => change.ledgerLineId !== null && lineId === null))
    return refused("drift", `A line of invoice ${invoice.number} is not there any more.`);
  const different = placed.filter((one) => isDifferent(invoice, one));
  if (different.length === 0) return amended(placed, invoice.lines, invoice, false);
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
  return after.kind === "ok" ? amended(placed, invoice.lines, after.value, true) : after;
}

function withElement(document: TrytonDocument) {
  const invoice = invoiceOf(document);
  return invoice && { invoice, element: document.element };
}

/** A line that equals an added one stays as it is. Only a named line changes. */
function isDifferent(
  invoice: LedgerInvoice,
  { change, description, lineId }: PlacedChange,
): boolean {
  const line = invoice.lines.find(({ ledgerLineId }) => ledgerLineId === lineId);
  if (line === undefined) return true;
  return change.ledgerLineId !== null && !hasContent(line, description, change);
}
