/**
 * A line of the ledger on its way back to it: as it is, or with new content under its id. Facts: facts-ledger section
 * 1.3 (field rules).
 */
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
import type { XeroLine } from "./write-line.ts";

// No ledger tells a number with more: discount rates and unit amounts have at most four.
const numberPlaces = 12;

const numberMembers = ["Quantity", "UnitAmount", "TaxAmount"] as const;
const trackingMembers = ["Name", "Option", "TrackingCategoryID", "TrackingOptionID"];

/** True where both say the same. Taken for another text because of a trimmed space, a line would be added again. */
export function isSameText(one: string, other: string): boolean {
  return plain(one) === plain(other);
}

/** True where the ledger's line has the content that we would write. Item and tracking are not ours to compare. */
export function standsAs(element: ExactObject, written: XeroLine): boolean {
  return (
    isSameText(filledTextOf(element.Description) ?? "", written.Description) &&
    isSameNumber(element.Quantity, written.Quantity) &&
    isSameNumber(element.UnitAmount, written.UnitAmount) &&
    element.AccountCode === written.AccountCode &&
    // Without a tax type of its own a line has the account's.
    (written.TaxType === undefined || element.TaxType === written.TaxType) &&
    discountOf(element) === null
  );
}

/**
 * The line under its id with all that makes its content, also a tax amount that was set by hand; undefined where a
 * number of it is none. Its total is left out: Xero computes it.
 */
export function keepLine(element: ExactObject): object | undefined {
  const numbers = numberMembers.filter((name) => element[name] !== undefined && element[name] !== null);
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

/** New content under the line's id. */
export function replaceLine(element: ExactObject, written: XeroLine): object {
  const discount = discountOf(element);
  return {
    ...textsOf(element, ["LineItemID"]),
    ...written,
    ...unspokenOf(element),
    // A discount that stayed would make another amount of it.
    ...(discount === null ? {} : { [discount]: numberToken("0") }),
  };
}

// What lines of ours say nothing of: an accountant's item and tracking stay, also where the content changes.
function unspokenOf(element: ExactObject): object {
  const tracking = objectsOf(element.Tracking).map((one) => textsOf(one, trackingMembers));
  return { ...textsOf(element, ["ItemCode"]), ...(tracking.length === 0 ? {} : { Tracking: tracking }) };
}

// Xero tells a discount as rate and as amount; only the one that was entered is the line's own.
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
  return isNumber(value) && scaledOf(value, numberPlaces) === scaledOf(written.rawJSON, numberPlaces);
}

function isSomething(value: ExactJson | undefined): boolean {
  return isNumber(value) && scaledOf(value, numberPlaces) !== 0n;
}

function isNumber(value: ExactJson | undefined): value is string {
  return typeof value === "string" && isDecimalText(value);
}

// The digits as they came; only an exponent is written out, because ledgers refuse it.
function writeNumber(value: ExactJson | undefined): NumberToken | undefined {
  if (!isNumber(value)) return undefined;
  return numberToken(isPlainNumber(value) ? value : shortDecimalText(value, numberPlaces));
}

function plain(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}
