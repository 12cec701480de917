/**
 * Changes the lines of an invoice in Xero. It reads the invoice and writes all lines back only if
 * one differs (XERO-9).
 */
import { type ExactObject, objectsOf, writeExactJson } from "../../port/exact-json.ts";
import { refused, unreadable } from "../../port/failures.ts";
import { checkAmendment } from "../../port/invoice-checks.ts";
import type {
  LedgerAmended,
  LedgerAnswer,
  LedgerInvoice,
  LedgerInvoiceAmendment,
} from "../../port/ledger.ts";
import { amended } from "../../port/lines/placed-changes.ts";
import { getContact } from "../contacts.ts";
import { isElementRefused, messagesOf, refusedBecause, refusedId } from "../wire/failure.ts";
import { readInvoice } from "../wire/read-shapes.ts";
import type { XeroCall, XeroWire } from "../wire/wire.ts";
import { amendLines } from "./line-amendment.ts";
import { unitPlaces } from "./write-document.ts";

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
  const checked = await checkAmendment(invoice, amendment, (contactId) =>
    getContact(wire, call, contactId),
  );
  if (checked.kind !== "ok") return checked;

  const lines = amendLines(objectsOf(element.LineItems), amendment.changes);
  if (lines === undefined) return unreadable("a line of the invoice cannot be read", false);
  // Its content might exist in other words. An added line would then bill it twice.
  if (lines.isGone)
    return refused("drift", `A line of invoice ${invoice.number} is not there any more.`);
  if (lines.isSame) return amended(lines.placed, invoice.lines, invoice, false);

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
    ? amended(lines.placed, invoice.lines, changed, true)
    : unreadable("the invoice cannot be read", true);
}

// Answers of lists have no lines. Such an answer must not count as an invoice without lines,
// because the edit would delete them all.
function hasItsLines(element: ExactObject, invoice: LedgerInvoice): boolean {
  return (
    Array.isArray(element.LineItems) && (invoice.lines.length > 0 || Number(invoice.total) === 0)
  );
}
