/** Writes a line that Xero already has: unchanged, or with new content under its id (XERO-9). */
import { isDecimalText, scaledOf, shortDecimalText } from "../../port/decimal-text.ts";
import {
  type ExactJson,
  type ExactObject,
  filledTextOf,
  isPlainNumber,
  type NumberToken,
  numberToken,
  objectsOf,
} from "../../port/exact-json.ts";
import { isSameText } from "../../port/lines/placed-changes.ts";
import type { XeroLine } from "./write-document.ts";

// No ledger number has more places. Discount rates and unit amounts have at most four.
const numberPlaces = 12;

const numberMembers = ["Quantity", "UnitAmount", "TaxAmount"] as const;
const trackingMembers = ["Name", "Option", "TrackingCategoryID", "TrackingOptionID"];

/**
 * Returns true if the ledger's line has the content that we would write. Item and tracking are not
 * compared.
 */
export function standsAs(element: ExactObject, written: XeroLine): boolean {
  return (
    isSameText(filledTextOf(element.Description) ?? "", written.Description) &&
    isSameNumber(element.Quantity, written.Quantity) &&
    isSameNumber(element.UnitAmount, written.UnitAmount) &&
    element.AccountCode === written.AccountCode &&
    // A line without a tax type has the account's.
    (written.TaxType === undefined || element.TaxType === written.TaxType) &&
    discountOf(element) === null
  );
}

/**
 * Returns the line under its id with its whole content, also a tax amount that was set by hand.
 * Undefined if a number in it cannot be parsed. The line's total is left out, because Xero computes
 * it.
 */
export function keepLine(element: ExactObject): object | undefined {
  const numbers = numberMembers.filter(
    (name) => element[name] !== undefined && element[name] !== null,
  );
  if (!numbers.every((name) => isNumber(element[name]))) return undefined;
  const account = filledTextOf(element.AccountCode) === undefined ? "AccountID" : "AccountCode";
  const discount = discountOf(element);
  return {
    ...textsOf(element, ["LineItemID", "Description", account, "TaxType"]),
    ...Object.fromEntries(numbers.map((name) => [name, writeNumber(element[name])])),
    ...unspokenOf(element),
    ...(discount === null ? {} : { [discount]: writeNumber(element[discount]) }),
  };
}

/** Returns new content under the line's id. */
export function replaceLine(element: ExactObject, written: XeroLine): object {
  const discount = discountOf(element);
  return {
    ...textsOf(element, ["LineItemID"]),
    ...written,
    ...unspokenOf(element),
    // A discount that stayed would change the amount.
    ...(discount === null ? {} : { [discount]: numberToken("0") }),
  };
}

// Members that our lines do not set. An accountant's item and tracking stay, also if the content
// changes.
function unspokenOf(element: ExactObject): object {
  const tracking = objectsOf(element.Tracking).map((one) => textsOf(one, trackingMembers));
  return {
    ...textsOf(element, ["ItemCode"]),
    ...(tracking.length === 0 ? {} : { Tracking: tracking }),
  };
}

// Xero returns a discount as rate and as amount. Only the one that was entered belongs to the line.
function discountOf(element: ExactObject): "DiscountRate" | "DiscountAmount" | null {
  const isAmount = isSomething(element.DiscountAmount);
  if (isAmount && element.DiscountEnteredAsPercent === false) return "DiscountAmount";
  if (isSomething(element.DiscountRate)) return "DiscountRate";
  return isAmount ? "DiscountAmount" : null;
}

function textsOf(element: ExactObject, names: readonly string[]): object {
  return Object.fromEntries(
    names.flatMap((name) => {
      const text = filledTextOf(element[name]);
      return text === undefined ? [] : [[name, text]];
    }),
  );
}

function isSameNumber(value: ExactJson | undefined, written: NumberToken): boolean {
  return (
    isNumber(value) && scaledOf(value, numberPlaces) === scaledOf(written.rawJSON, numberPlaces)
  );
}

function isSomething(value: ExactJson | undefined): boolean {
  return isNumber(value) && scaledOf(value, numberPlaces) !== 0n;
}

function isNumber(value: ExactJson | undefined): value is string {
  return typeof value === "string" && isDecimalText(value);
}

// Keeps the digits as they were read. Only an exponent is expanded, because ledgers refuse it.
function writeNumber(value: ExactJson | undefined): NumberToken | undefined {
  if (!isNumber(value)) return undefined;
  return numberToken(isPlainNumber(value) ? value : shortDecimalText(value, numberPlaces));
}
