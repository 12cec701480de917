/** Sales invoices in Xero: create, get, find by our number, remove. */
import {
  type ExactObject,
  filledTextOf,
  objectsOf,
  writeExactJson,
} from "../../port/exact-json.ts";
import { unreadable } from "../../port/failures.ts";
import { checkRemoval } from "../../port/invoice-checks.ts";
import type {
  LedgerAnswer,
  LedgerInvoice,
  LedgerInvoiceDraft,
  LedgerRemoval,
} from "../../port/ledger.ts";
import { foldText } from "../../port/texts.ts";
import { isElementRefused, isTooLarge, messagesOf, refusedBecause } from "../wire/failure.ts";
import { readInvoice } from "../wire/read-shapes.ts";
import { shortGroups, whereIs } from "../wire/where.ts";
import type { XeroCall, XeroWire } from "../wire/wire.ts";
import { createEach } from "./create-each.ts";
import { unitPlaces, writeDocument } from "./write-document.ts";

/** Creates invoices, each with its reserved number (POSTING-2). */
export function createInvoices(
  wire: XeroWire,
  call: XeroCall,
  drafts: readonly LedgerInvoiceDraft[],
): Promise<LedgerAnswer<readonly LedgerAnswer<LedgerInvoice>[]>> {
  return createEach(wire, call, {
    member: "Invoices",
    query: unitPlaces,
    drafts,
    keyOf: (draft) => draft.number,
    write: writeInvoice,
    elementKeyOf: (element) => filledTextOf(element.InvoiceNumber),
    read: readInvoice,
  });
}

/** Returns one invoice with its lines, or `not_found`. */
export async function getInvoice(
  wire: XeroWire,
  call: XeroCall,
  id: string,
): Promise<LedgerAnswer<LedgerInvoice>> {
  const path = `/Invoices/${encodeURIComponent(id)}`;
  return readOne(await wire.ask(call, { method: "GET", path, query: unitPlaces }), false);
}

/**
 * Returns the sales invoices with these numbers. With `areTaken`, a number that is not in the list
 * is searched for alone. Xero's rule of unique numbers may be looser than its list.
 */
export async function findInvoices(
  wire: XeroWire,
  call: XeroCall,
  numbers: readonly string[],
  areTaken = false,
): Promise<LedgerAnswer<readonly LedgerInvoice[]>> {
  const found: LedgerInvoice[] = [];
  // A number with a comma cannot be in the list.
  const [withComma = [], listable = []] = [true, false].map((has) =>
    numbers.filter((one) => one.includes(",") === has),
  );
  const groups = [
    ...shortGroups(listable),
    ...new Set(withComma).values().map((number) => [number]),
  ];
  for (const group of groups) {
    const [first = ""] = group;
    const filter = withComma.includes(first)
      ? { where: whereIs("InvoiceNumber", first) }
      : { InvoiceNumbers: group.join(",") };
    const answer = await askInvoices(wire, call, group, filter);
    if (answer.kind !== "ok") return answer;
    found.push(...answer.value);
  }
  if (!areTaken) return { kind: "ok", value: found };
  const known = new Set(found.map(({ number }) => foldText(number)));
  for (const number of numbers.filter((one) => !known.has(foldText(one)))) {
    // The search also returns invoices that have another number by now. Only their `sourceUrl` says
    // whose they are.
    const answer = await askInvoices(wire, call, [number], { searchTerm: number.trim() }, false);
    if (answer.kind !== "ok") return answer;
    found.push(...answer.value);
  }
  return { kind: "ok", value: found };
}

/**
 * Requests the invoices of one address. If the answer is too large, each half of the numbers is
 * requested alone.
 */
async function askInvoices(
  wire: XeroWire,
  call: XeroCall,
  numbers: readonly string[],
  filter: Readonly<Record<string, string>>,
  isByNumber = true,
): Promise<LedgerAnswer<readonly LedgerInvoice[]>> {
  // Only a paged list has lines.
  const query = { ...filter, ...unitPlaces, page: "1", pageSize: "1000" };
  const answer = await wire.ask(call, { method: "GET", path: "/Invoices", query });
  if (answer.kind !== "ok") {
    if (!isTooLarge(answer)) return answer;
    const half = Math.ceil(numbers.length / 2);
    // A single invoice that is too large is returned without its lines.
    if (half === numbers.length) {
      if ("summaryOnly" in filter) return answer;
      return askInvoices(wire, call, numbers, { ...filter, summaryOnly: "true" }, isByNumber);
    }
    const halves = [numbers.slice(0, half), numbers.slice(half)];
    const found: LedgerInvoice[] = [];
    for (const part of halves) {
      const invoices = await askInvoices(wire, call, part, { InvoiceNumbers: part.join(",") });
      if (invoices.kind !== "ok") return invoices;
      found.push(...invoices.value);
    }
    return { kind: "ok", value: found };
  }
  const wanted = isByNumber ? new Set(numbers.map(foldText)) : null;
  // A supplier's bill may have the same number as one of our invoices.
  const elements = objectsOf(answer.value.Invoices).filter((element) => isWanted(element, wanted));
  const invoices = elements.map(readInvoice).filter((invoice) => invoice !== undefined);
  if (invoices.length < elements.length)
    return unreadable("an invoice of the list cannot be read", false);
  return { kind: "ok", value: invoices };
}

/** Reads the invoice, then deletes it (draft, awaiting approval) or voids it (approved). */
export async function removeInvoice(
  wire: XeroWire,
  call: XeroCall,
  id: string,
  which?: { readonly onlyUnsent: boolean },
): Promise<LedgerAnswer<LedgerRemoval>> {
  const checked = checkRemoval(await getInvoice(wire, call, id), which);
  if (checked.kind !== "removable") return checked;
  const outcome = checked.isIssued ? "voided" : "deleted";
  const status = checked.isIssued ? "VOIDED" : "DELETED";
  const removed = await setStatus(wire, call, checked.invoice.id, status);
  return removed.kind === "ok"
    ? { kind: "ok", value: { outcome, invoice: removed.value } }
    : removed;
}

async function setStatus(
  wire: XeroWire,
  call: XeroCall,
  id: string,
  status: "VOIDED" | "DELETED",
): Promise<LedgerAnswer<LedgerInvoice>> {
  const body = writeExactJson({ Invoices: [{ InvoiceID: id, Status: status }] });
  const path = `/Invoices/${encodeURIComponent(id)}`;
  return readOne(await wire.ask(call, { method: "POST", path, query: unitPlaces, body }), true);
}

function readOne(answer: LedgerAnswer<ExactObject>, isWrite: boolean): LedgerAnswer<LedgerInvoice> {
  if (answer.kind !== "ok") return answer;
  const [element] = objectsOf(answer.value.Invoices);
  if (element && isWrite && isElementRefused(element)) return refusedBecause(messagesOf(element));
  const invoice = element && readInvoice(element);
  return invoice
    ? { kind: "ok", value: invoice }
    : unreadable("the invoice cannot be read", isWrite);
}

function isWanted(element: ExactObject, wanted: ReadonlySet<string> | null): boolean {
  const number = foldText(filledTextOf(element.InvoiceNumber) ?? "");
  return element.Type === "ACCREC" && (wanted === null || wanted.has(number));
}

function writeInvoice(draft: LedgerInvoiceDraft): object {
  return {
    Type: "ACCREC",
    InvoiceNumber: draft.number,
    ...writeDocument(draft),
    DueDate: draft.dueDate,
    ...(draft.sourceUrl === null ? {} : { Url: draft.sourceUrl }),
  };
}
