/**
 * Merges a change of lines with the invoice's current lines. Xero deletes every line that is not
 * sent and adds every line without an id (XERO-9). So all lines are sent with their ids, and a
 * repeat finds lines that already exist.
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
import type { LedgerLineChange } from "../../port/ledger.ts";
import { isSameText, type PlacedChange, placeChanges } from "../../port/lines/placed-changes.ts";
import { readLine } from "../wire/read-shapes.ts";
import { writeLine, type XeroLine } from "./write-document.ts";

/**
 * All lines to send. `isSame`: nothing would change. `isGone`: a named line does not exist any
 * more, and no other line can be taken for it. `placed` is in the order of the changes.
 */
export interface LineAmendment {
  readonly lines: readonly object[];
  readonly isSame: boolean;
  readonly isGone: boolean;
  readonly placed: readonly PlacedChange[];
}

/**
 * Returns the lines to send for these changes. Undefined if a current line cannot be sent back
 * unchanged (no id, an unreadable number): sending it otherwise would change or double it.
 */
export function amendLines(
  elements: readonly ExactObject[],
  changes: readonly LedgerLineChange[],
): LineAmendment | undefined {
  const lines = elements.map(readLine);
  const knownIds = new Set(lines.map((line) => line.ledgerLineId));
  if (knownIds.has("") || knownIds.size < lines.length) return undefined;
  const placed = placeChanges(lines, changes, (line) => writeLine(line).Description);
  const byId = new Map(placed.map((one) => [one.lineId, one]));
  let isSame = placed.every(({ lineId }) => lineId !== null);
  const sent: object[] = [];
  for (const element of elements) {
    const one = byId.get(readLine(element).ledgerLineId);
    const kept = keepLine(element);
    if (kept === undefined) return undefined;
    // An existing line that matches an added one stays as it is. Only a named line changes.
    const named = one?.change.ledgerLineId === null ? undefined : one;
    const written = named && writeLine(named.change);
    const isChanged = written !== undefined && !standsAs(element, written);
    sent.push(isChanged ? replaceLine(element, written) : kept);
    isSame &&= !isChanged;
  }
  const added = placed
    .filter(({ lineId }) => lineId === null)
    .map(({ change }) => writeLine(change));
  const isGone = placed.some(
    ({ change, lineId }) => change.ledgerLineId !== null && lineId === null,
  );
  return { lines: [...sent, ...added], isSame, isGone, placed };
}

// No ledger number has more places. Discount rates and unit amounts have at most four.
const numberPlaces = 12;

const numberMembers = ["Quantity", "UnitAmount", "TaxAmount"] as const;
const trackingMembers = ["Name", "Option", "TrackingCategoryID", "TrackingOptionID"];

/**
 * Returns true if the ledger's line has the content that we would write. Item and tracking are not
 * compared.
 */
function standsAs(element: ExactObject, written: XeroLine): boolean {
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
function keepLine(element: ExactObject): object | undefined {
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
function replaceLine(element: ExactObject, written: XeroLine): object {
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
