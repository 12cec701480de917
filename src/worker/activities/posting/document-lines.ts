/** The lines of a document as the ledger gets them, and as it has them. */
import { decimalOf, equals, multiply, parseDecimal } from "../../../domain/money/decimal.ts";
import type { LedgerLine, LedgerLineDraft } from "../../../ledger/port/ledger.ts";
import type { AmendmentLine } from "../../../store/ledger-jobs/amendments/amendments.ts";
import type { LineToSend } from "../../../store/ledger-jobs/claim-jobs.ts";
import type { NamedLine } from "../../../store/ledger-jobs/document-outcomes.ts";

/**
 * Returns a line as it is sent to the ledger. The description has the arithmetic. If it is too
 * long, its end is cut and the amount still holds. Units and price are sent only if their product
 * is the amount: with a discount or free units it is not.
 */
export function lineOf(line: LineToSend, maxDescriptionLength: number): LedgerLineDraft {
  const text = line.description === "" ? line.name : `${line.name}: ${line.description}`;
  const { units, unitPrice: price, amount } = line;
  const isPriced =
    units !== null &&
    price !== null &&
    equals(multiply(decimalOf(units), parseDecimal(price)), parseDecimal(amount));
  return {
    description: [...text].slice(0, maxDescriptionLength).join(""),
    quantity: isPriced ? String(units) : "1",
    unitAmount: isPriced ? price : amount,
    amount: line.amount,
    accountCode: line.revenueAccount ?? "",
    taxType: line.taxType,
  };
}

/**
 * How much of the longest description is not compared. A ledger's adapter may append the
 * arithmetic, and cuts the end if the text is too long.
 */
const arithmeticLength = 100;

/**
 * Finds the lines of an amendment in the ledger's invoice, after a call with a lost answer. Returns
 * the ledger's lines that match the lines to change, if all of them are there. Null if one
 * is missing. A line that is known as one of ours matches no other, also under another id.
 */
export function matchLines(
  ours: readonly AmendmentLine[],
  ledgers: readonly LedgerLine[],
  maxDescriptionLength: number,
): readonly NamedLine[] | null {
  const known = new Set(ours.map((line) => line.ledgerLineId));
  const free = ledgers.filter((line) => !known.has(line.ledgerLineId));
  const ids = new Set(ledgers.map((line) => line.ledgerLineId));
  for (const line of ours) {
    if (line.amending || line.ledgerLineId === null || ids.has(line.ledgerLineId)) continue;
    const index = free.findIndex((other) => standsAs(other, line, maxDescriptionLength));
    free.splice(index, index < 0 ? 0 : 1);
  }
  const named: NamedLine[] = [];
  for (const line of ours.filter(({ amending }) => amending)) {
    const ledgerLine = ledgers.find(({ ledgerLineId }) => ledgerLineId === line.ledgerLineId);
    const index = free.findIndex((other) => standsAs(other, line, maxDescriptionLength));
    const [found] = ledgerLine === undefined ? free.splice(index, index < 0 ? 0 : 1) : [ledgerLine];
    if (found === undefined || !standsAs(found, line, maxDescriptionLength)) return null;
    named.push({ id: line.id, ledgerLineId: found.ledgerLineId });
  }
  return named;
}

/**
 * Amounts of both have four places. A ledger may remove repeated and outer spaces of a text, and
 * its adapter may append the arithmetic in brackets.
 */
function standsAs(found: LedgerLine, line: AmendmentLine, maxDescriptionLength: number): boolean {
  const comparedLength = maxDescriptionLength - arithmeticLength;
  const { description, amount } = lineOf(line, maxDescriptionLength);
  const text = plain(description).slice(0, comparedLength);
  const there = plain(found.description);
  if (amount !== found.amount || !there.startsWith(text)) return false;
  return text.length === comparedLength || /^(?: \(.*\))?$/s.test(there.slice(text.length));
}

function plain(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}
