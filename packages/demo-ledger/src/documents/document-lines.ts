/**
 * The lines of a sent document: parsed, merged with the current lines, and validated by Xero's
 * rules (XERO-9).
 */
import { randomUUID } from "node:crypto";
import {
  decimalTextOf,
  isDecimalText,
  scaledOf,
} from "../../../../src/ledger/port/decimal-text.ts";
import {
  type ExactJson,
  type ExactObject,
  filledTextOf,
  objectsOf,
  textOf,
} from "../../../../src/ledger/port/exact-json.ts";
import { lengthOf } from "../../../../src/ledger/port/texts.ts";
import { accountOf, taxRateOf } from "../api/chart.ts";
import { type LineAmountTypes, lineAmountsOf } from "./document-amounts.ts";
import type { LineRow } from "./document-rows.ts";

/**
 * The input of parsing lines. `isApproval` requires everything that an approved document needs.
 * `unitPlaces` is 2 or 4. `current` are the current lines, with amounts of `currentTypes`.
 */
interface LineRules {
  readonly types: LineAmountTypes;
  readonly currentTypes: LineAmountTypes;
  readonly isApproval: boolean;
  readonly unitPlaces: number;
  readonly current: readonly LineRow[];
}

/** The lines to store, and their faults. */
interface ReadLines {
  readonly lines: readonly LineRow[];
  readonly messages: readonly string[];
}

// Xero keeps four places of a quantity and of a tax rate.
const quantityPlaces = 4;
const maxDescription = 4_000;

/**
 * Parses all lines of `LineItems`. A line with a known LineItemID keeps the members that are not
 * sent. A missing line is deleted.
 */
export function readLines(value: ExactJson | undefined, rules: LineRules): ReadLines {
  const elements = objectsOf(value);
  const read = elements.map((sent) => readLine(sent, rules));
  const messages = read.flatMap((line) => line.messages);
  if (read.length === 0) messages.push("One or more line items must be specified.");
  const ids = elements.map(lineIdOf).filter((id) => id !== undefined);
  if (new Set(ids).size < ids.length) messages.push("A LineItemID must not be given to two lines.");
  return { lines: read.flatMap((line) => (line.row ? [line.row] : [])), messages };
}

/**
 * Validates the current lines again, for an approval without lines. Their amounts and every sent
 * tax amount stay, unless tax is to be contained in another way.
 */
export function rereadLines(rules: LineRules): ReadLines {
  const isSame = rules.types === rules.currentTypes;
  const recomputed = (line: LineRow) => ({ ...line, ...amountsOf(line, null, rules.types) });
  return {
    lines: isSame ? rules.current : rules.current.map(recomputed),
    messages: rules.current.flatMap((line) => faultsOf(line, rules)),
  };
}

function lineIdOf(sent: ExactObject): string | undefined {
  return filledTextOf(sent.LineItemID)?.toLowerCase();
}

type TaxedLine = Pick<LineRow, "quantity" | "unitAmount" | "taxType">;

interface ReadLine {
  readonly row: LineRow | null;
  readonly messages: readonly string[];
}

function readLine(sent: ExactObject, rules: LineRules): ReadLine {
  const id = lineIdOf(sent);
  const known = rules.current.find((line) => line.id === id);
  if (id !== undefined && !known)
    return { row: null, messages: [`LineItemID ${id} is not a line of this document.`] };
  const unsupported = ["DiscountRate", "DiscountAmount", "ItemCode"].filter(
    (name) => sent[name] !== undefined,
  );
  const numbers = ["Quantity", "UnitAmount", "TaxAmount", "LineAmount"].filter(
    (name) => !isNumber(sent[name]),
  );
  if (unsupported.length + numbers.length > 0) {
    const faults = numbers.map((name) => `${name} is not a valid number.`);
    return {
      row: null,
      messages: [
        ...faults,
        ...unsupported.map((name) => `${name} is not part of the demo ledger.`),
      ],
    };
  }
  const accountCode = filledTextOf(sent.AccountCode) ?? known?.accountCode ?? null;
  const draft = {
    id: known?.id ?? randomUUID(),
    description: textOf(sent.Description) ?? known?.description ?? "",
    quantity: rounded(sent.Quantity, quantityPlaces) ?? known?.quantity ?? "1",
    unitAmount: rounded(sent.UnitAmount, rules.unitPlaces) ?? known?.unitAmount ?? "0",
    accountCode,
    taxType:
      filledTextOf(sent.TaxType) ??
      known?.taxType ??
      accountOf(accountCode ?? "")?.taxType ??
      "NONE",
  };
  const taxAmount = rounded(sent.TaxAmount, 2) ?? keptTaxOf(draft, known, rules);
  const row = { ...draft, ...amountsOf(draft, taxAmount, rules.types) };
  return { row, messages: [...faultsOf(row, rules), ...lineTotalFaults(sent, row)] };
}

// A sent tax amount stays until a member changes on which the tax depends.
function keptTaxOf(draft: TaxedLine, known: LineRow | undefined, rules: LineRules): string | null {
  if (known === undefined || rules.types !== rules.currentTypes || draft.taxType !== known.taxType)
    return null;
  const isSame = (one: string, other: string) =>
    scaledOf(one, quantityPlaces) === scaledOf(other, quantityPlaces);
  const isSamePrice =
    isSame(draft.quantity, known.quantity) && isSame(draft.unitAmount, known.unitAmount);
  return isSamePrice ? known.taxAmount : null;
}

function amountsOf(
  line: TaxedLine,
  taxAmount: string | null,
  types: LineAmountTypes,
): Pick<LineRow, "lineAmount" | "taxAmount"> {
  const percent = taxRateOf(line.taxType)?.percent ?? "0";
  return lineAmountsOf(
    { quantity: line.quantity, unitAmount: line.unitAmount, percent, taxAmount },
    types,
  );
}

function faultsOf(line: LineRow, rules: LineRules): readonly string[] {
  const messages: string[] = [];
  if (line.description === "") messages.push("Description must be specified.");
  if (lengthOf(line.description) > maxDescription)
    messages.push("Description is longer than 4000 characters.");
  if (line.accountCode === null) {
    if (rules.isApproval) messages.push("Account must be valid.");
    return messages;
  }
  const account = accountOf(line.accountCode);
  const rate = taxRateOf(line.taxType);
  if (!account || account.type === "BANK") {
    messages.push(`Account code '${line.accountCode}' is not a valid code for this document.`);
  } else if (account.status !== "ACTIVE") {
    messages.push(`Account code '${line.accountCode}' has been archived or has been deleted.`);
  }
  if (!rate) {
    messages.push(
      `The TaxType code '${line.taxType}' does not exist or cannot be used ` +
        "for this type of transaction.",
    );
  } else if (!rate.forRevenue && account?.class === "REVENUE") {
    messages.push(
      `The TaxType code '${line.taxType}' cannot be used with account code '${line.accountCode}'.`,
    );
  }
  return messages;
}

function lineTotalFaults(sent: ExactObject, row: LineRow): readonly string[] {
  const sentTotal = filledTextOf(sent.LineAmount);
  if (sentTotal === undefined || scaledOf(sentTotal, 4) === scaledOf(row.lineAmount, 4)) return [];
  return [`The line total ${sentTotal} does not match the expected line total ${row.lineAmount}`];
}

function isNumber(value: ExactJson | undefined): boolean {
  return (
    value === undefined || value === null || (typeof value === "string" && isDecimalText(value))
  );
}

function rounded(value: ExactJson | undefined, places: number): string | undefined {
  const text = filledTextOf(value);
  return text === undefined ? undefined : decimalTextOf(scaledOf(text, places), places);
}
