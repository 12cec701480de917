/**
 * Changes the lines of an invoice in Xero. It reads the invoice and writes all lines back only if
 * one differs (XERO-9).
 */
import { checkDrift } from "../../port/drift.ts";
import { type ExactObject, objectsOf, writeExactJson } from "../../port/exact-json.ts";
import { refused, unreadable } from "../../port/failures.ts";
import type {
  LedgerAmended,
  LedgerAnswer,
  LedgerFailure,
  LedgerInvoice,
  LedgerInvoiceAmendment,
} from "../../port/ledger.ts";
import { refusedMoney } from "../../port/removal.ts";
import { getContact } from "../contacts.ts";
import { isElementRefused, messagesOf, refusedBecause, refusedId } from "../wire/failure.ts";
import { readInvoice } from "../wire/read-shapes.ts";
import type { XeroCall, XeroWire } from "../wire/wire.ts";
import { amendedLineIds, amendLines, type LineAmendment } from "./line-amendment.ts";
import { unitPlaces } from "./write-document.ts";

const statusWords = {
  draft: "a draft",
  awaiting_approval: "awaiting approval",
  approved: "approved",
  paid: "paid",
  voided: "voided",
  deleted: "deleted",
} as const satisfies Record<LedgerInvoice["status"], string>;

// Members that are sent back as they were read. Without the first, Xero may take lines as exclusive
// of tax. With the second, Xero refuses if the invoice was approved or removed in the meantime.
// Only Xero sets `PAID`.
const echoedMembers = ["LineAmountTypes", "Status"] as const;

/** Reads the invoice, decides whether it may change, and changes it. */
export async function amendInvoice(
  wire: XeroWire,
  call: XeroCall,
  amendment: LedgerInvoiceAmendment,
): Promise<LedgerAnswer<LedgerAmended>> {
  const unknown = refusedId(amendment.id);
  if (unknown !== null) return unknown;
  const path = `/Invoices/${amendment.id}`;
  const current = await wire.ask(call, { method: "GET", path, query: unitPlaces });
  if (current.kind !== "ok") return current;
  const [element] = objectsOf(current.value.Invoices);
  const invoice = element && readInvoice(element);
  if (!element || !invoice || !hasItsLines(element, invoice))
    return unreadable("the invoice cannot be read", false);
  const no = refusedStatus(invoice, amendment) ?? refusedMoney(invoice);
  if (no !== null) return no;
  const drift = await checkDrift(invoice, amendment.meaning, (contactId) =>
    getContact(wire, call, contactId),
  );
  if (drift.kind !== "ok") return drift;

  const lines = amendLines(objectsOf(element.LineItems), amendment.changes);
  if (lines === undefined) return unreadable("a line of the invoice cannot be read", false);
  // Its content might exist in other words. An added line would then bill it twice.
  if (lines.isGone)
    return refused("drift", `A line of invoice ${invoice.number} is not there any more.`);
  if (lines.isSame) return amended(invoice, lines, false);

  const echoed = echoedMembers.filter(
    (name) => typeof element[name] === "string" && element[name] !== "PAID",
  );
  const body = writeExactJson({
    Invoices: [
      {
        InvoiceID: invoice.id,
        ...Object.fromEntries(echoed.map((name) => [name, element[name]])),
        LineItems: lines.lines,
      },
    ],
  });
  const answer = await wire.ask(call, { method: "POST", path, query: unitPlaces, body });
  if (answer.kind !== "ok") return answer;
  const [after] = objectsOf(answer.value.Invoices);
  if (after && isElementRefused(after)) return refusedBecause(messagesOf(after));
  const changed = after && readInvoice(after);
  return changed?.id === invoice.id
    ? amended(changed, lines, true)
    : unreadable("the invoice cannot be read", true);
}

// Answers of lists have no lines. Such an answer must not count as an invoice without lines,
// because the edit would delete them all.
function hasItsLines(element: ExactObject, invoice: LedgerInvoice): boolean {
  return (
    Array.isArray(element.LineItems) && (invoice.lines.length > 0 || Number(invoice.total) === 0)
  );
}

function refusedStatus(
  invoice: LedgerInvoice,
  { allowed }: LedgerInvoiceAmendment,
): LedgerFailure | null {
  if (allowed.includes(invoice.status)) return null;
  const open = allowed.map((status) => statusWords[status]).join(" or ");
  const message =
    `Invoice ${invoice.number} is ${statusWords[invoice.status]}; ` +
    `its lines can be changed while it is ${open}.`;
  return refused("wrong_status", message);
}

function amended(
  invoice: LedgerInvoice,
  lines: LineAmendment,
  isWrite: boolean,
): LedgerAnswer<LedgerAmended> {
  const lineIds = amendedLineIds(lines, invoice.lines);
  return lineIds === undefined
    ? unreadable("the answer does not show all changed lines", isWrite)
    : { kind: "ok", value: { invoice, lineIds } };
}
