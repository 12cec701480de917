/**
 * Merges a change of lines with the invoice's current lines. Xero deletes every line that is not
 * sent and adds every line without an id (XERO-9). So all lines are sent with their ids, and a
 * repeat finds lines that already exist.
 */
import type { ExactObject } from "../../port/exact-json.ts";
import type { LedgerLine, LedgerLineChange, LedgerLineDraft } from "../../port/ledger.ts";
import { hasContent, type PlacedChange, placeChanges } from "../../port/lines/placed-changes.ts";
import { readLine } from "../wire/read-shapes.ts";
import { keepLine, replaceLine, standsAs } from "./kept-line.ts";
import { writeLine, type XeroLine } from "./write-line.ts";

/** A change with its line in Xero's names, and the line of Xero that matches it. */
interface Placed extends PlacedChange {
  readonly written: XeroLine;
}

/**
 * All lines to send. `isSame`: nothing would change. `isGone`: a named line does not exist any
 * more, and no other line can be taken for it. `placed` is in the order of the changes.
 */
export interface LineAmendment {
  readonly lines: readonly object[];
  readonly isSame: boolean;
  readonly isGone: boolean;
  readonly placed: readonly Placed[];
  readonly knownIds: ReadonlySet<string>;
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
  const described = (line: LedgerLineDraft) => writeLine(line).Description;
  const placed = placeChanges(lines, changes, described).map((one) => {
    return { ...one, written: writeLine(one.change) };
  });
  const byId = new Map(placed.map((one) => [one.lineId, one]));
  let isSame = placed.every(({ lineId }) => lineId !== null);
  const sent: object[] = [];
  for (const element of elements) {
    const one = byId.get(readLine(element).ledgerLineId);
    const kept = keepLine(element);
    if (kept === undefined) return undefined;
    // An existing line that matches an added one stays as it is. Only a named line changes.
    const isChanged =
      one !== undefined && one.change.ledgerLineId !== null && !standsAs(element, one.written);
    sent.push(isChanged ? replaceLine(element, one.written) : kept);
    isSame &&= !isChanged;
  }
  const added = placed.filter(({ lineId }) => lineId === null).map(({ written }) => written);
  const isGone = placed.some(
    ({ change, lineId }) => change.ledgerLineId !== null && lineId === null,
  );
  return { lines: [...sent, ...added], isSame, isGone, placed, knownIds };
}

/**
 * Returns the ids of changed and added lines in the answer, in the order of the changes. A line
 * that existed is matched by id. An added line is matched by description and amount among the new
 * ids. Undefined if the answer lacks one of them.
 */
export function amendedLineIds(
  amendment: LineAmendment,
  lines: readonly LedgerLine[],
): readonly string[] | undefined {
  const kept = new Set(lines.map((line) => line.ledgerLineId));
  const free = lines.filter(
    (line) => line.ledgerLineId !== "" && !amendment.knownIds.has(line.ledgerLineId),
  );
  const ids = amendment.placed.map(({ change, written, lineId }) => {
    if (lineId !== null) return kept.has(lineId) ? lineId : undefined;
    const index = free.findIndex((line) => hasContent(line, written.Description, change));
    return free.splice(index, index < 0 ? 0 : 1)[0]?.ledgerLineId;
  });
  const found = ids.filter((id) => id !== undefined);
  return found.length === ids.length ? found : undefined;
}
