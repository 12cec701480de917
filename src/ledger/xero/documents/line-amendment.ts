/**
 * Merges a change of lines with the invoice's current lines. Xero deletes every line that is not
 * sent and adds every line without an id (XERO-9). So all lines are sent with their ids, and a
 * repeat finds lines that already exist.
 */
import { strict as assert } from "node:assert";
import { scaledOf } from "../../port/decimal-text.ts";
import type { ExactObject } from "../../port/exact-json.ts";
import type { LedgerLine, LedgerLineChange, LedgerLineDraft } from "../../port/ledger.ts";
import { readLine } from "../wire/read-shapes.ts";
import { isSameText, keepLine, replaceLine, standsAs } from "./kept-line.ts";
import { writeLine, type XeroLine } from "./write-line.ts";

/** A change with the ledger's line that matches it. Null if the line must be added. */
interface Placed {
  readonly change: LedgerLineChange;
  readonly written: XeroLine;
  readonly lineId: string | null;
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
  const placed = placeChanges(lines, changes);
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
    const index = free.findIndex((line) => isLineOf(line, change, written));
    return free.splice(index, index < 0 ? 0 : 1)[0]?.ledgerLineId;
  });
  const found = ids.filter((id) => id !== undefined);
  return found.length === ids.length ? found : undefined;
}

// Each line of the ledger matches one change only. Other programs replace each line by an equal one
// with another id, so that a named line that is gone is searched for by its content. Of two equal
// lines it is not known which one it is, and one that equals an added line may be that line, whose
// answer was lost (LEDGER-13).
function placeChanges(
  lines: readonly LedgerLine[],
  changes: readonly LedgerLineChange[],
): readonly Placed[] {
  const standing = new Set(lines.map((line) => line.ledgerLineId));
  const named = changes.map((change) => change.ledgerLineId).filter((id) => id !== null);
  assert(new Set(named).size === named.length, "two changes of one line");
  const free = lines.filter((line) => !named.includes(line.ledgerLineId));
  const addedLines = changes.filter(({ ledgerLineId }) => ledgerLineId === null);
  const recreated = (change: LedgerLineChange): string | null => {
    const contents = [change, ...(change.was === undefined ? [] : [change.was])];
    const equal = free.filter((line) => contents.some((content) => isLineOf(line, content)));
    const [only] = equal;
    if (only === undefined || equal.length > 1) return null;
    return addedLines.some((added) => isLineOf(only, added)) ? null : only.ledgerLineId;
  };
  const taken = new Map(
    changes
      .filter(({ ledgerLineId: id }) => id !== null && !standing.has(id))
      .map((change) => [change, recreated(change)]),
  );
  const claims = [...taken.values()];
  const left = free.filter(({ ledgerLineId }) => !claims.includes(ledgerLineId));
  return changes.map((change) => {
    const written = writeLine(change);
    const { ledgerLineId } = change;
    if (ledgerLineId !== null) {
      const matchedId = standing.has(ledgerLineId) ? ledgerLineId : (taken.get(change) ?? null);
      // Two lines of ours that were equal cannot be distinguished.
      const isSole = claims.filter((claim) => claim === matchedId).length < 2;
      return { change, written, lineId: isSole ? matchedId : null };
    }
    const index = left.findIndex((line) => isLineOf(line, change));
    const [found] = left.splice(index, index < 0 ? 0 : 1);
    return { change, written, lineId: found?.ledgerLineId ?? null };
  });
}

function isLineOf(
  line: LedgerLine,
  change: LedgerLineDraft,
  written: XeroLine = writeLine(change),
): boolean {
  return (
    isSameText(line.description, written.Description) &&
    scaledOf(line.amount, 4) === scaledOf(change.amount, 4)
  );
}
