/**
 * Validates a document against the ledger's reference data before the ledger is called (POSTING-5).
 * A rejection here is the one that the ledger would give, without a call. What is unknown is left
 * to the ledger.
 */

import type { DocumentRules } from "../billing/document-rules.ts";
import type { FirstInvoiceStatus } from "../model/organisation-settings.ts";
import { equals, formatDecimal, parseDecimal, sum } from "../money/decimal.ts";

/** A ledger's own currency, whether it accepts others, and its lock dates (`YYYY-MM-DD`). */
interface OrganisationData {
  readonly currency: string;
  readonly multicurrency: boolean;
  readonly periodLockDate: string | null;
  readonly yearLockDate: string | null;
}

/**
 * A ledger's reference data. A member is null if it is unknown or too old. The lists map a code to
 * whether it is active. An empty list counts as unknown.
 */
export interface LedgerReferenceData {
  readonly organisation: OrganisationData | null;
  readonly accounts: Readonly<Record<string, boolean>> | null;
  readonly tax_rates: Readonly<Record<string, boolean>> | null;
  readonly currencies: Readonly<Record<string, boolean>> | null;
}

/** The kinds of reference data that are cached, in the order in which they are read. */
export const referenceDataKinds = ["organisation", "accounts", "tax_rates", "currencies"] as const;

/** A kind of reference data. */
export type ReferenceDataKind = (typeof referenceDataKinds)[number];

/** The reference data of a ledger of which nothing is known. It rejects nothing. */
export const unknownReferenceData: LedgerReferenceData = {
  organisation: null,
  accounts: null,
  tax_rates: null,
  currencies: null,
};

/** Returns the properties of a ledger's organisation that decide whether it accepts a document. */
export function organisationReferenceData({
  currency,
  multicurrency,
  periodLockDate,
  yearLockDate,
}: OrganisationData): OrganisationData {
  return { currency, multicurrency, periodLockDate, yearLockDate };
}

/**
 * Returns a list as a record of code to active. A code with two entries is active if one of them
 * is.
 */
export function referenceDataList(
  options: readonly { readonly code: string; readonly active: boolean }[],
): Readonly<Record<string, boolean>> {
  const referenceData: Record<string, boolean> = {};
  for (const { code, active } of options)
    referenceData[code] = active || referenceData[code] === true;
  return referenceData;
}

/**
 * A line as it would be sent. `revenueAccount` is null if none is mapped. `taxType` is null for
 * the account's own.
 */
interface LineToValidate {
  readonly amount: string;
  readonly revenueAccount: string | null;
  readonly taxType: string | null;
}

/** A document as it would be sent: the date is `YYYY-MM-DD`, amounts are decimal text. */
export interface DocumentToValidate {
  readonly number: string;
  readonly currency: string;
  readonly issueDate: string;
  readonly subtotal: string;
  /** Whether the customer's contact was observed as archived or erased in the ledger. */
  readonly isContactGone: boolean;
  /** Set by an operator's manual retry: reference data is then left to the ledger (ADMIN-6). */
  readonly skipValidation: boolean;
  /** The status that an invoice is created with. A credit note has none: it is created approved. */
  readonly firstStatus?: FirstInvoiceStatus;
  readonly lines: readonly LineToValidate[];
}

/**
 * Why a document is not sent: a reason code of the ledger port, a message, and the kind of
 * reference data that decided it. `by` is null if the document itself is at fault.
 */
interface Fault {
  readonly reason:
    | "account_invalid"
    | "tax_invalid"
    | "currency_not_enabled"
    | "contact_inactive"
    | "period_locked"
    | "validation";
  readonly message: string;
  readonly by: ReferenceDataKind | null;
}

/** Returns the kinds of reference data to invalidate after the ledger refused with this reason. */
export function invalidationsOf(reason: string): readonly ReferenceDataKind[] {
  switch (reason) {
    case "account_invalid":
      return ["accounts"];
    case "tax_invalid":
      return ["tax_rates", "accounts"];
    case "currency_not_enabled":
      return ["currencies", "organisation"];
    case "period_locked":
      return ["organisation"];
    default:
      return [];
  }
}

/**
 * Returns the first fault of a document, or null if it can be sent. `name` is its word in messages:
 * `invoice`.
 */
export function validateDocument(
  document: DocumentToValidate,
  name: string,
  referenceData: LedgerReferenceData,
  rules: DocumentRules,
): Fault | null {
  const known = document.skipValidation ? unknownReferenceData : referenceData;
  return (
    validateLines(document.lines, name, known, rules) ??
    validateSize(document, name, rules) ??
    validateTotal(document) ??
    validateCurrency(document, known) ??
    validateContact(document) ??
    validateDate(document, known)
  );
}

/**
 * Returns the first fault of the lines, or null if they can be sent. An amount has no more decimal
 * places than the ledger keeps (LEDGER-9).
 */
export function validateLines(
  lines: readonly LineToValidate[],
  name: string,
  referenceData: LedgerReferenceData,
  { amountPlaces }: Pick<DocumentRules, "amountPlaces">,
): Fault | null {
  if (lines.some((line) => line.revenueAccount === null)) {
    return {
      reason: "account_invalid",
      message: `No revenue account is mapped for a line of this ${name}.`,
      by: null,
    };
  }
  if (lines.some(({ amount }) => !hasPlaces(amount, amountPlaces))) {
    const places = placesWords[amountPlaces] ?? `${amountPlaces} decimal places`;
    const message = `The ledger keeps ${places}; an amount has more.`;
    return { reason: "currency_not_enabled", message, by: null };
  }
  for (const { revenueAccount: account, taxType } of lines) {
    const fault =
      validateAccount(account ?? "", referenceData) ?? validateTaxType(taxType, referenceData);
    if (fault !== null) return fault;
  }
  return null;
}

const placesWords = [
  "no decimal places",
  "one decimal place",
  "two decimal places",
  "three decimal places",
  "four decimal places",
] as const;

/** Whether an amount is at least zero and has no other digits than zero after so many places. */
function hasPlaces(amount: string, places: number): boolean {
  const [whole = "", decimals = ""] = amount.split(".");
  return /^\d+$/.test(whole) && /^0*$/.test(decimals.slice(places)) && /^\d*$/.test(decimals);
}

function validateSize(
  { lines, number }: DocumentToValidate,
  name: string,
  { maxLines, maxNumberLength }: DocumentRules,
): Fault | null {
  const fault = (message: string): Fault => ({ reason: "validation", message, by: null });
  if (maxLines !== null && lines.length > maxLines)
    return fault(`The ledger takes ${maxLines} lines; this ${name} has ${lines.length}.`);
  return [...number].length > maxNumberLength
    ? fault(`The ledger takes numbers of ${maxNumberLength} characters; ${number} is longer.`)
    : null;
}

/** An empty list of accounts or currencies says nothing about what the ledger accepts. */
function isKnown(
  list: Readonly<Record<string, boolean>> | null,
): list is Readonly<Record<string, boolean>> {
  return list !== null && Object.keys(list).length > 0;
}

function validateAccount(code: string, { accounts }: LedgerReferenceData): Fault | null {
  if (!isKnown(accounts) || accounts[code] === true) return null;
  const message = Object.hasOwn(accounts, code)
    ? `Account ${code} is archived in the ledger.`
    : `The ledger has no account ${code}.`;
  return { reason: "account_invalid", message, by: "accounts" };
}

// An unlisted tax type is left to the ledger: it accepts some types without listing them.
function validateTaxType(
  code: string | null,
  { tax_rates: taxTypes }: LedgerReferenceData,
): Fault | null {
  if (code === null || taxTypes?.[code] !== false) return null;
  return {
    reason: "tax_invalid",
    message: `Tax type ${code} is not active in the ledger.`,
    by: "tax_rates",
  };
}

function validateTotal({ lines, subtotal }: DocumentToValidate): Fault | null {
  const ours = sum(lines.map(({ amount }) => parseDecimal(amount)));
  if (equals(ours, parseDecimal(subtotal))) return null;
  const message = `The lines come to ${formatDecimal(ours)} and the document to ${subtotal}.`;
  return { reason: "validation", message, by: null };
}

function validateCurrency(
  { currency }: DocumentToValidate,
  { currencies, organisation }: LedgerReferenceData,
): Fault | null {
  if (organisation === null || currency === organisation.currency) return null;
  const message = `Currency ${currency} is not enabled in the ledger.`;
  if (!organisation.multicurrency)
    return { reason: "currency_not_enabled", message, by: "organisation" };
  if (!isKnown(currencies) || currencies[currency] === true) return null;
  return { reason: "currency_not_enabled", message, by: "currencies" };
}

function validateContact({
  isContactGone: isGone,
  skipValidation,
}: DocumentToValidate): Fault | null {
  if (!isGone || skipValidation) return null;
  return {
    reason: "contact_inactive",
    message: "The customer's contact is archived in the ledger.",
    by: null,
  };
}

// Only certain cases are refused. Whether a ledger accepts a document on the lock date itself, or a
// draft before it, is left to the ledger (LEDGER-11).
function validateDate(
  { issueDate: date, firstStatus: status = "approved" }: DocumentToValidate,
  { organisation }: LedgerReferenceData,
): Fault | null {
  const locks = [organisation?.periodLockDate, organisation?.yearLockDate];
  const lock = locks
    .filter((one) => one !== null && one !== undefined && date < one)
    .sort()
    .at(-1);
  if (lock === undefined || status !== "approved") return null;
  const message = `The document is dated ${date}, before the ledger's lock date ${lock}.`;
  return { reason: "period_locked", message, by: "organisation" };
}
