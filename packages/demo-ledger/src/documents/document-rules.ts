/**
 * Validates the members that invoices and credit notes share, by Xero's rules: statuses, lines,
 * dates, currency, numbers.
 */
import { scaledOf } from "../../../../src/ledger/port/decimal-text.ts";
import {
  type ExactJson,
  type ExactObject,
  filledTextOf,
  objectOf,
  textOf,
} from "../../../../src/ledger/port/exact-json.ts";
import { lengthOf } from "../../../../src/ledger/port/texts.ts";
import { demoCurrencies } from "../api/chart.ts";
import type { DemoTenant } from "../tenants.ts";
import { documentAmountsOf, type LineAmountTypes } from "./document-amounts.ts";
import { dateOf, issueDateFaults, todayIn } from "./document-dates.ts";
import { readLines, rereadLines } from "./document-lines.ts";
import { type DocumentRow, finishedStatus, type XeroStatus } from "./document-rows.ts";

/** A document as it will be stored. */
export type DocumentValues = Pick<
  DocumentRow,
  | "contact_id"
  | "number"
  | "reference"
  | "status"
  | "line_amount_types"
  | "currency"
  | "issue_date"
  | "sub_total"
  | "total_tax"
  | "total"
  | "lines"
>;

/** The values and their faults. Values with messages must not be stored. */
export interface Validated<Values> {
  readonly values: Values;
  readonly messages: readonly string[];
}

/**
 * The sent element and its organisation. `unitPlaces` is how many places of a unit amount are kept.
 */
export interface SentDocument {
  readonly tenant: DemoTenant;
  readonly sent: ExactObject;
  readonly unitPlaces: number;
}

/** The current document. `applied` is the amount paid, credited or allocated. */
interface CurrentDocument {
  readonly row: DocumentRow;
  readonly applied: bigint;
}

/** The names of a kind of document in texts and members. */
interface DocumentNames {
  readonly type: "ACCREC" | "ACCRECCREDIT";
  readonly title: "Invoice" | "Credit Note";
  readonly numberName: "InvoiceNumber" | "CreditNoteNumber";
}

/** Xero's text if money or credit forbids a change. */
export const moneyOnIt =
  "This document cannot be edited as it has a payment or credit note allocated to it.";

// The statuses that may follow each status. SUBMITTED back to DRAFT is not proven in Xero, so it is
// refused.
const nextStatuses: Readonly<Record<XeroStatus, readonly XeroStatus[]>> = {
  DRAFT: ["DRAFT", "SUBMITTED", "AUTHORISED", "DELETED"],
  SUBMITTED: ["SUBMITTED", "AUTHORISED", "DELETED"],
  AUTHORISED: ["AUTHORISED", "VOIDED"],
  PAID: ["PAID", "VOIDED"],
  VOIDED: [],
  DELETED: [],
};
const firstStatuses: readonly XeroStatus[] = ["DRAFT", "SUBMITTED", "AUTHORISED"];

// Xero's longest document number.
const maxNumberLength = 255;

/** Returns the status of a new document, and the faults of its type and status. */
export function evaluateFirst(
  sent: ExactObject,
  { type, title }: DocumentNames,
): Validated<XeroStatus> {
  const sentStatus = textOf(sent.Status) ?? "DRAFT";
  const status = firstStatuses.find((first) => first === sentStatus);
  const messages =
    textOf(sent.Type) === type ? [] : [`${title} Type must be ${type} in the demo ledger.`];
  if (!status)
    messages.push(`The status ${sentStatus} cannot be applied to a new ${title.toLowerCase()}.`);
  return { values: status ?? "DRAFT", messages };
}

/** Returns the status after a change, or undefined if it may not follow the current one. */
export function nextStatusOf(sent: ExactObject, current: XeroStatus): XeroStatus | undefined {
  const sentStatus = textOf(sent.Status) ?? current;
  return nextStatuses[current].find((next) => next === sentStatus);
}

/** Returns Xero's text for a status that does not allow the request. */
export function wrongStatus({ title }: Pick<DocumentNames, "title">): string {
  return `${title} not of valid status for modification`;
}

/** Validates the shared values of a new or current document that will have this status. */
export function validateDocument(
  { tenant, sent, unitPlaces }: SentDocument,
  there: CurrentDocument | null,
  status: XeroStatus,
  names: DocumentNames,
): Validated<DocumentValues> {
  const current = there?.row;
  const isApproval = status !== "DRAFT";
  const currentTypes = current?.line_amount_types ?? "Exclusive";
  const types = lineAmountTypesOf(sent.LineAmountTypes, currentTypes);
  const rules = {
    types: types ?? currentTypes,
    currentTypes,
    isApproval,
    unitPlaces,
    current: current?.lines ?? [],
  };
  const isResent = sent.LineItems !== undefined || !current;
  const read = isResent ? readLines(sent.LineItems, rules) : rereadLines(rules);
  const messages = [...read.messages];
  if (types === undefined) messages.push("LineAmountTypes must be Exclusive, Inclusive or NoTax.");

  const currency = filledTextOf(sent.CurrencyCode) ?? current?.currency ?? tenant.currency;
  if (currency !== tenant.currency && !Object.hasOwn(demoCurrencies, currency)) {
    messages.push(`Organisation is not subscribed to currency ${currency}`);
  }
  const issueDate = dateOf(sent.Date, current?.issue_date ?? todayIn(tenant.timezone));
  messages.push(...issueDateFaults(tenant, issueDate));
  const number = filledTextOf(sent[names.numberName]) ?? current?.number ?? "";
  if (number === "") messages.push(`${names.numberName} is required in the demo ledger.`);
  if (lengthOf(number) > maxNumberLength) {
    messages.push(`${names.title} Number exceeds maximum length of 255 characters.`);
  }
  const amounts = documentAmountsOf(read.lines, rules.types);
  if (isApproval && amounts.total.startsWith("-"))
    messages.push("The document total must not be less than zero.");
  const values = {
    contact_id: filledTextOf(objectOf(sent.Contact)?.ContactID) ?? current?.contact_id ?? "",
    number,
    reference: textOf(sent.Reference) ?? current?.reference ?? "",
    status: finishedStatus(status, scaledOf(amounts.total, 2) - (there?.applied ?? 0n)),
    line_amount_types: rules.types,
    currency,
    issue_date: issueDate ?? "",
    sub_total: amounts.subTotal,
    total_tax: amounts.totalTax,
    total: amounts.total,
    lines: read.lines,
  };
  return { values, messages: [...new Set(messages)] };
}

function lineAmountTypesOf(
  value: ExactJson | undefined,
  otherwise: LineAmountTypes,
): LineAmountTypes | undefined {
  if (value === undefined || value === null) return otherwise;
  return value === "Exclusive" || value === "Inclusive" || value === "NoTax" ? value : undefined;
}
