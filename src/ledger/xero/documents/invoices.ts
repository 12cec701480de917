/** Sales invoices in Xero: create, get, find by our number, remove. */
import { presenceOf } from "../../../domain/billing/document-presence.ts";
import { isUnsent } from "../../../domain/billing/issued-invoices.ts";
import {
  type ExactObject,
  filledTextOf,
  objectsOf,
  writeExactJson,
} from "../../port/exact-json.ts";
import type {
  LedgerAnswer,
  LedgerFailure,
  LedgerInvoice,
  LedgerInvoiceDraft,
  LedgerRemoval,
} from "../../port/ledger.ts";
import { foldText } from "../../port/texts.ts";
import {
  isElementRefused,
  isTooLarge,
  messagesOf,
  refusedBecause,
  unreadable,
} from "../wire/failure.ts";
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

/**
 * Reads the invoice, then deletes it (draft, awaiting approval) or voids it (approved). An invoice
 * that is already removed counts as done. Money on it is refused before any call to void it
 * (LEDGER-3). With `onlyUnsent` an approved or sent invoice is refused too.
 */
export async function removeInvoice(
  wire: XeroWire,
  call: XeroCall,
  id: string,
  { onlyUnsent } = { onlyUnsent: false },
): Promise<LedgerAnswer<LedgerRemoval>> {
  const current = await getInvoice(wire, call, id);
  if (current.kind === "refused" && current.reason === "not_found") {
    return { kind: "ok", value: { outcome: "not_found", invoice: null } };
  }
  if (current.kind !== "ok") return current;
  const invoice = current.value;
  if (presenceOf(invoice) === "nowhere") {
    return { kind: "ok", value: { outcome: "already_removed", invoice } };
  }
  const refused = refusedMoney(invoice);
  if (refused !== null) return refused;
  if (onlyUnsent && !isUnsent(invoice)) {
    return {
      kind: "refused",
      reason: "wrong_status",
      messages: [`Invoice ${invoice.number} was approved or sent.`],
    };
  }
  const isApproved = invoice.status === "approved" || invoice.status === "paid";
  const outcome = isApproved ? "voided" : "deleted";
  const removed = await setStatus(
    wire,
    call,
    invoice.id,
    outcome === "voided" ? "VOIDED" : "DELETED",
  );
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

/**
 * Returns the refusal of a change because of money on the invoice, or null. The status does not
 * decide: an invoice with total zero is `paid` once approved, and has no money on it.
 */
export function refusedMoney(invoice: LedgerInvoice): LedgerFailure | null {
  if (Number(invoice.amountPaid) === 0 && Number(invoice.amountCredited) === 0) return null;
  const message = `Invoice ${invoice.number} has payments or credit notes allocated to it.`;
  return { kind: "refused", reason: "has_payment_or_credit", messages: [message] };
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
