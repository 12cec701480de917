/** Validates a new or changed invoice by Xero's rules. */
import { filledTextOf } from "../../../../src/ledger/port/exact-json.ts";
import { dateOf } from "./document-dates.ts";
import { isOpen, type XeroStatus } from "./document-rows.ts";
import {
  type DocumentValues,
  evaluateFirst,
  moneyOnIt,
  nextStatusOf,
  type SentDocument,
  type Validated,
  validateDocument,
  wrongStatus,
} from "./document-rules.ts";
import { type InvoiceRow, moneyOn } from "./invoice-rows.ts";

/** An invoice as it will be stored. */
export type InvoiceValues = DocumentValues & Pick<InvoiceRow, "url" | "due_date" | "sent">;

const names = { type: "ACCREC", title: "Invoice", numberName: "InvoiceNumber" } as const;

const moneyOnVoided =
  "The status VOIDED cannot be applied to the invoice because it has payments or credit notes " +
  "allocated to it.";

/** Validates a new invoice. Contacts and unique numbers are validated with the database. */
export function validateNewInvoice(document: SentDocument): Validated<InvoiceValues> {
  const first = evaluateFirst(document.sent, names);
  const validated = validateValues(document, null, first.values);
  return { values: validated.values, messages: [...first.messages, ...validated.messages] };
}

/** Validates a change of an invoice, from its current and its sent members. */
export function validateInvoiceChange(
  document: SentDocument,
  current: InvoiceRow,
): Validated<InvoiceValues> {
  const hasMoney = moneyOn(current) !== 0n;
  if (document.sent.Status === "VOIDED" && hasMoney)
    return { values: current, messages: [moneyOnVoided] };
  const status = nextStatusOf(document.sent, current.status);
  if (!status) return { values: current, messages: [wrongStatus(names)] };
  if (status === "VOIDED" || status === "DELETED")
    return { values: { ...current, status }, messages: [] };
  const validated = validateValues(document, current, status);
  if (validated.messages.length > 0 || !hasMoney || isSameMoney(validated.values, current))
    return validated;
  return { values: current, messages: [moneyOnIt] };
}

function validateValues(
  document: SentDocument,
  current: InvoiceRow | null,
  status: XeroStatus,
): Validated<InvoiceValues> {
  const { sent } = document;
  const there = current && { row: current, applied: moneyOn(current) };
  const { values, messages } = validateDocument(document, there, status, names);
  const own: string[] = [];
  const dueDate = dateOf(sent.DueDate, current?.due_date ?? null);
  if (dueDate === undefined) own.push("The DueDate is not a valid date.");
  if (dueDate === null && status !== "DRAFT") own.push("Due Date cannot be empty.");
  const url = filledTextOf(sent.Url) ?? current?.url ?? null;
  if (url !== null && !isSourceUrl(url))
    own.push("Url must be a valid URL that does not contain 'xero'.");
  const isSent =
    sent.SentToContact === undefined ? (current?.sent ?? false) : sent.SentToContact === true;
  if (isSent && isOpen(status)) own.push("SentToContact can only be set on an approved invoice.");
  return {
    values: { ...values, url, due_date: dueDate ?? null, sent: isSent },
    messages: [...messages, ...own],
  };
}

// Changes that are allowed on an invoice with money leave all of these members unchanged.
function isSameMoney(values: InvoiceValues, current: InvoiceRow): boolean {
  const moneyOf = (
    row: Pick<InvoiceRow, "lines" | "currency" | "issue_date" | "line_amount_types" | "sent">,
  ) =>
    JSON.stringify([
      row.currency,
      row.issue_date,
      row.line_amount_types,
      row.sent,
      row.lines.map((line) => [
        line.id,
        Number(line.quantity),
        Number(line.unitAmount),
        line.taxType,
        line.taxAmount,
        line.lineAmount,
      ]),
    ]);
  return moneyOf(values) === moneyOf(current);
}

function isSourceUrl(url: string): boolean {
  return URL.canParse(url) && !/xero/i.test(url);
}
