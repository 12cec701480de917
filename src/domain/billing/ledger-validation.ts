/**
 * What can be said of a document before its ledger is asked: whether it takes it, by what it is known to offer. A no of ours is
 * the ledger's own, for free; what is not known is left to the ledger. Facts: facts-ledger sections 1.3 and 4, "Pre-flight".
 */
import { equals, formatDecimal, parseDecimal, sum } from "../money/decimal.ts";
import type { FirstInvoiceStatus } from "../subscriptions/organisation-settings.ts";

/** The lists and the organisation of a ledger of which it is known what they hold. */
export type ReferenceDataKind = "organisation" | "accounts" | "tax_rates" | "currencies";

/** Every kind, in the order in which they are read. */
export const referenceDataKinds: readonly ReferenceDataKind[] = ["organisation", "accounts", "tax_rates", "currencies"];

/**
 * What a ledger offers; null where that is not known, or not well enough. `organisation`: its own currency, whether it takes others,
 * and the dates before which its books are locked (`YYYY-MM-DD`, null where there is none). The rest by code: whether that is active; a
 * list that names nothing is not known.
 */
export interface LedgerReferenceData {
  readonly organisation: {
    readonly currency: string;
    readonly multicurrency: boolean;
    readonly periodLockDate: string | null;
    readonly yearLockDate: string | null;
  } | null;
  readonly accounts: Readonly<Record<string, boolean>> | null;
  readonly tax_rates: Readonly<Record<string, boolean>> | null;
  readonly currencies: Readonly<Record<string, boolean>> | null;
}

/** What a ledger offers of which nothing is known: it is never the reason of a no. */
export const unknownReferenceData: LedgerReferenceData = { organisation: null, accounts: null, tax_rates: null, currencies: null };

/** A line as it would be sent; `revenue_account` null where none is mapped, `tax_type` null for the account's own. */
export interface LineToValidate {
  readonly amount: string;
  readonly revenue_account: string | null;
  readonly tax_type: string | null;
}

/** A document as it would be sent: the date `YYYY-MM-DD`, amounts decimal text. */
export interface DocumentToValidate {
  readonly currency: string;
  readonly issue_date: string;
  readonly subtotal: string;
  /** The ledger was seen to have archived or erased the customer's contact. */
  readonly is_contact_gone: boolean;
  /** An operator asks again: what the ledger offers is for the ledger to say. */
  readonly skip_validation: boolean;
  /** As what an invoice is made; a credit note, which has none, is made approved. */
  readonly first_status?: FirstInvoiceStatus;
  readonly lines: readonly LineToValidate[];
}

/** Why a document is not sent: a reason of the ledger's port, in words, and what it was judged by (null: by itself). */
export interface Fault {
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

/** What a refusal of the ledger's says about what it offers: that these are to be read again. */
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

/** The first fault of a document, null where it can be sent. `name` is what it is called in words: `invoice`. */
export function validateDocument(document: DocumentToValidate, name: string, offer: LedgerReferenceData): Fault | null {
  const known = document.skip_validation ? unknownReferenceData : offer;
  return (
    validateLines(document.lines, name, known) ??
    validateTotal(document) ??
    validateCurrency(document, known) ??
    validateContact(document) ??
    validateDate(document, known)
  );
}

/** The first fault of lines, null where they can be sent. The ledger counts in hundredths. */
export function validateLines(lines: readonly LineToValidate[], name: string, offer: LedgerReferenceData): Fault | null {
  if (lines.some((line) => line.revenue_account === null)) {
    return { reason: "account_invalid", message: `No revenue account is mapped for a line of this ${name}.`, by: null };
  }
  if (lines.some(({ amount }) => !/^\d+(?:\.\d{1,2}0*)?$/.test(amount))) {
    const message = "The ledger keeps two decimal places; an amount has more.";
    return { reason: "currency_not_enabled", message, by: null };
  }
  for (const { revenue_account: account, tax_type: taxType } of lines) {
    const fault = validateAccount(account ?? "", offer) ?? validateTaxType(taxType, offer);
    if (fault !== null) return fault;
  }
  return null;
}

/** A ledger without a single account or currency is none: such an answer says nothing of what it takes. */
function isKnown(list: Readonly<Record<string, boolean>> | null): list is Readonly<Record<string, boolean>> {
  return list !== null && Object.keys(list).length > 0;
}

function validateAccount(code: string, { accounts }: LedgerReferenceData): Fault | null {
  if (!isKnown(accounts) || accounts[code] === true) return null;
  const message = Object.hasOwn(accounts, code)
    ? `Account ${code} is archived in the ledger.`
    : `The ledger has no account ${code}.`;
  return { reason: "account_invalid", message, by: "accounts" };
}

// A tax type that is not listed is the ledger's to judge: some it takes without listing them.
function validateTaxType(code: string | null, { tax_rates: taxTypes }: LedgerReferenceData): Fault | null {
  if (code === null || taxTypes?.[code] !== false) return null;
  return { reason: "tax_invalid", message: `Tax type ${code} is not active in the ledger.`, by: "tax_rates" };
}

function validateTotal({ lines, subtotal }: DocumentToValidate): Fault | null {
  const ours = sum(lines.map(({ amount }) => parseDecimal(amount)));
  if (equals(ours, parseDecimal(subtotal))) return null;
  const message = `The lines come to ${formatDecimal(ours)} and the document to ${subtotal}.`;
  return { reason: "validation", message, by: null };
}

function validateCurrency({ currency }: DocumentToValidate, { currencies, organisation }: LedgerReferenceData): Fault | null {
  if (organisation === null || currency === organisation.currency) return null;
  const message = `Currency ${currency} is not enabled in the ledger.`;
  if (!organisation.multicurrency) return { reason: "currency_not_enabled", message, by: "organisation" };
  if (!isKnown(currencies) || currencies[currency] === true) return null;
  return { reason: "currency_not_enabled", message, by: "currencies" };
}

function validateContact({ is_contact_gone: isGone, skip_validation: skipValidation }: DocumentToValidate): Fault | null {
  if (!isGone || skipValidation) return null;
  return { reason: "contact_inactive", message: "The customer's contact is archived in the ledger.", by: null };
}

// Of the day itself Xero's words say both, and drafts it may take before it: what is not certain is the ledger's to judge.
function validateDate(
  { issue_date: date, first_status: status = "approved" }: DocumentToValidate,
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
