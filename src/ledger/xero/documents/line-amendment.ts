/**
 * Merges a change of lines with the invoice's current lines. Xero deletes every line that is not
 * sent and adds every line without an id (XERO-9). So all lines are sent with their ids, and a
 * repeat finds lines that already exist.
 */
import type { ExactObject } from "../../port/exact-json.ts";
import type { LedgerLineChange } from "../../port/ledger.ts";
import { type PlacedChange, placeChanges } from "../../port/lines/placed-changes.ts";
import { readLine } from "../wire/read-shapes.ts";
import { keepLine, replaceLine, standsAs } from "./kept-line.ts";
import { writeLine } from "./write-document.ts";

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
    const written = one === undefined ? null : writeLine(one.change);
    const isNamed = one !== undefined && one.change.ledgerLineId !== null;
    const isChanged = isNamed && written !== null && !standsAs(element, written);
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
