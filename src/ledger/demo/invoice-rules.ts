/**
 * Judges an invoice that is sent to the demo ledger, new or changed, by Xero's rules. Facts: facts-ledger section 1.3.
 */
import { type ExactJson, type ExactObject, filledTextOf, objectOf, textOf } from "../exact-json.ts";
import { demoCurrencies } from "./chart.ts";
import { documentAmountsOf, type LineAmountTypes } from "./invoice-amounts.ts";
import { readLines, recomputeLines } from "./invoice-lines.ts";
import { hasMoney, type InvoiceRow, settledStatus, type XeroStatus } from "./invoice-rows.ts";
import type { Tenant } from "./tenants.ts";

/** What an invoice will be once it is stored; `number` null lets the ledger number it. */
export type InvoiceValues = Pick<
  InvoiceRow,
  | "contact_id"
  | "reference"
  | "url"
  | "status"
  | "line_amount_types"
  | "currency"
  | "issue_date"
  | "due_date"
  | "sub_total"
  | "total_tax"
  | "total"
  | "sent"
  | "lines"
> & { readonly number: string | null };

/** The values, and everything that is wrong with them; with messages the values are not to be stored. */
export interface JudgedInvoice {
  readonly values: InvoiceValues;
  readonly messages: readonly string[];
}

const wrongStatus = "Invoice not of valid status for modification";
const moneyOnIt = "This document cannot be edited as it has a payment or credit note allocated to it.";
const moneyOnVoided =
  "The status VOIDED cannot be applied to the invoice because it has payments or credit notes allocated to it.";

// Which status may follow which. Back from SUBMITTED to DRAFT is not proven in Xero, so it is refused.
const nextStatuses: Readonly<Record<XeroStatus, readonly string[]>> = {
  DRAFT: ["DRAFT", "SUBMITTED", "AUTHORISED", "DELETED"],
  SUBMITTED: ["SUBMITTED", "AUTHORISED", "DELETED"],
  AUTHORISED: ["AUTHORISED", "VOIDED"],
  PAID: ["PAID", "VOIDED"],
  VOIDED: [],
  DELETED: [],
};
const firstStatuses = ["DRAFT", "SUBMITTED", "AUTHORISED"];
const maxNumberLength = 255;

/** A new invoice. Contacts and unique numbers are judged where the database is asked. */
export function judgeNew(tenant: Tenant, sent: ExactObject, unitPlaces: number): JudgedInvoice {
  const status = textOf(sent.Status) ?? "DRAFT";
  const messages: string[] = [];
  if (textOf(sent.Type) !== "ACCREC") messages.push("Invoice Type must be ACCREC in the demo ledger.");
  if (!firstStatuses.includes(status)) messages.push(`The status ${status} cannot be applied to a new invoice.`);
  return judgeValues(tenant, sent, null, status as XeroStatus, unitPlaces, messages);
}

/** A change of an invoice, by what is there and what is sent. */
export function judgeChange(tenant: Tenant, sent: ExactObject, current: InvoiceRow, unitPlaces: number): JudgedInvoice {
  const status = textOf(sent.Status) ?? current.status;
  const isAllowed = nextStatuses[current.status].includes(status);
  if (status === "VOIDED" && hasMoney(current)) return { values: current, messages: [moneyOnVoided] };
  if (!isAllowed) return { values: current, messages: [wrongStatus] };
  if (status === "VOIDED" || status === "DELETED") return { values: { ...current, status }, messages: [] };
  const judged = judgeValues(tenant, sent, current, status as XeroStatus, unitPlaces, []);
  if (judged.messages.length > 0 || !hasMoney(current)) return judged;
  return isSameMoney(judged.values, current) ? judged : { values: current, messages: [moneyOnIt] };
}

function judgeValues(
  tenant: Tenant,
  sent: ExactObject,
  current: InvoiceRow | null,
  status: XeroStatus,
  unitPlaces: number,
  messages: string[],
): JudgedInvoice {
  const isApproval = status !== "DRAFT";
  const types = lineAmountTypesOf(sent.LineAmountTypes, current?.line_amount_types ?? "Exclusive");
  const rules = { types: types ?? "Exclusive", isApproval, unitPlaces, current: current?.lines ?? [] };
  const isResent = sent.LineItems !== undefined || current === null;
  const read = isResent ? readLines(sent.LineItems, rules) : recomputeLines(rules);
  messages.push(...read.messages);
  if (types === undefined) messages.push("LineAmountTypes must be Exclusive, Inclusive or NoTax.");

  const currency = filledTextOf(sent.CurrencyCode) ?? current?.currency ?? tenant.currency;
  if (currency !== tenant.currency && !Object.hasOwn(demoCurrencies, currency)) {
    messages.push(`Organisation is not subscribed to currency ${currency}`);
  }
  const issueDate = dateOf(sent.Date, current?.issue_date ?? todayIn(tenant.timezone));
  const dueDate = dateOf(sent.DueDate, current?.due_date ?? null);
  messages.push(...dateFaults(tenant, issueDate, dueDate, isApproval));

  const number = filledTextOf(sent.InvoiceNumber) ?? current?.number ?? null;
  if ((number ?? "").length > maxNumberLength)
    messages.push("Invoice Number exceeds maximum length of 255 characters.");
  const url = filledTextOf(sent.Url) ?? current?.url ?? null;
  if (url !== null && !isSourceUrl(url)) messages.push("Url must be a valid URL that does not contain 'xero'.");
  const isSent = sent.SentToContact === undefined ? (current?.sent ?? false) : sent.SentToContact === true;
  if (isSent && isOpen(status)) messages.push("SentToContact can only be set on an approved invoice.");

  const amounts = documentAmountsOf(read.lines, rules.types);
  const values = {
    contact_id: filledTextOf(objectOf(sent.Contact)?.ContactID) ?? current?.contact_id ?? "",
    number,
    reference: textOf(sent.Reference) ?? current?.reference ?? "",
    url,
    status: settledStatus(status, amounts.total),
    line_amount_types: rules.types,
    currency,
    issue_date: issueDate ?? "",
    due_date: dueDate ?? null,
    sub_total: amounts.subTotal,
    total_tax: amounts.totalTax,
    total: amounts.total,
    sent: isSent,
    lines: read.lines,
  };
  if (isApproval && amounts.total.startsWith("-")) messages.push("The document total must not be less than zero.");
  return { values, messages: [...new Set(messages)] };
}

function dateFaults(
  tenant: Tenant,
  issueDate: string | null | undefined,
  dueDate: string | null | undefined,
  isApproval: boolean,
): readonly string[] {
  const messages: string[] = [];
  if (!issueDate) messages.push("The Date is not a valid date.");
  if (dueDate === undefined) messages.push("The DueDate is not a valid date.");
  if (dueDate === null && isApproval) messages.push("Due Date cannot be empty.");
  if (issueDate && tenant.periodLockDate !== null && issueDate <= tenant.periodLockDate) {
    messages.push(`The document date cannot be before the period lock date, currently set at ${tenant.periodLockDate}`);
  }
  return messages;
}

// What may change on an invoice with money on it leaves all of these as they are.
function isSameMoney(values: InvoiceValues, current: InvoiceRow): boolean {
  const moneyOf = (row: Pick<InvoiceRow, "lines" | "currency" | "issue_date" | "line_amount_types" | "sent">) =>
    JSON.stringify([
      row.currency,
      row.issue_date,
      row.line_amount_types,
      row.sent,
      row.lines.map((line) => [
        line.id,
        Number(line.quantity),
        Number(line.unitAmount),
        line.taxAmount,
        line.lineAmount,
      ]),
    ]);
  return moneyOf(values) === moneyOf(current);
}

function lineAmountTypesOf(value: ExactJson | undefined, otherwise: LineAmountTypes): LineAmountTypes | undefined {
  if (value === undefined || value === null) return otherwise;
  return value === "Exclusive" || value === "Inclusive" || value === "NoTax" ? value : undefined;
}

// A plain date, one with a time, or /Date(ms)/; `otherwise` where none is sent, undefined where it is none.
function dateOf(value: ExactJson | undefined, otherwise: string | null): string | null | undefined {
  const text = filledTextOf(value);
  if (text === undefined) return otherwise;
  const milliseconds = /^\/Date\((-?\d{1,14})(?:[+-]\d{4})?\)\/$/.exec(text)?.[1];
  const day = milliseconds ? new Date(Number(milliseconds)).toISOString().slice(0, 10) : text.slice(0, 10);
  const isPlain = /^\d{4}-\d{2}-\d{2}$/.test(day) && (milliseconds !== undefined || /^.{10}(T|$)/.test(text));
  const at = new Date(`${day}T00:00:00Z`);
  return isPlain && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day) ? day : undefined;
}

function todayIn(timezone: string): string {
  return new Intl.DateTimeFormat("en-CA", { timeZone: timezone }).format(new Date());
}

function isSourceUrl(url: string): boolean {
  return URL.canParse(url) && !/xero/i.test(url);
}

function isOpen(status: XeroStatus): boolean {
  return status === "DRAFT" || status === "SUBMITTED";
}
