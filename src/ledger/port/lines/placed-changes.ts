/**
 * Matches changes of an invoice's lines with the lines that the ledger has (LEDGER-13). A repeat
 * finds lines that exist, so that none is added twice.
 */
import { strict as assert } from "node:assert";
import { scaledOf } from "../decimal-text.ts";
import { unreadable } from "../failures.ts";
import type {
  LedgerAmended,
  LedgerAnswer,
  LedgerInvoice,
  LedgerLine,
  LedgerLineChange,
  LedgerLineDraft,
} from "../ledger.ts";

/**
 * A change with the description under which the ledger gets it, and the ledger's line that matches
 * it. Null if the line must be added.
 */
export interface PlacedChange {
  readonly change: LedgerLineChange;
  readonly description: string;
  readonly lineId: string | null;
}

/** Returns the description under which the ledger gets a line. */
type DescriptionOf = (line: LedgerLineDraft) => string;

/**
 * Returns the changes with their lines. Each line of the ledger matches one change only. Other
 * programs replace each line by an equal one with another id, so that a named line that is gone is
 * searched for by its content. Of two equal lines it is not known which one it is, and one that
 * equals an added line may be that line, whose answer was lost.
 */
export function placeChanges(
  lines: readonly LedgerLine[],
  changes: readonly LedgerLineChange[],
  descriptionOf: DescriptionOf,
): readonly PlacedChange[] {
  const isLineOf = (line: LedgerLine, change: LedgerLineDraft) =>
    hasContent(line, descriptionOf(change), change);
  const existing = new Set(lines.map((line) => line.ledgerLineId));
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
      .filter(({ ledgerLineId: id }) => id !== null && !existing.has(id))
      .map((change) => [change, recreated(change)]),
  );
  const claims = [...taken.values()];
  const left = free.filter(({ ledgerLineId }) => !claims.includes(ledgerLineId));
  return changes.map((change) => {
    const { ledgerLineId } = change;
    const description = descriptionOf(change);
    if (ledgerLineId !== null) {
      const matchedId = existing.has(ledgerLineId) ? ledgerLineId : (taken.get(change) ?? null);
      // Two lines of ours that were equal cannot be distinguished.
      const isSole = claims.filter((claim) => claim === matchedId).length < 2;
      return { change, description, lineId: isSole ? matchedId : null };
    }
    const index = left.findIndex((line) => isLineOf(line, change));
    const [found] = left.splice(index, index < 0 ? 0 : 1);
    return { change, description, lineId: found?.ledgerLineId ?? null };
  });
}

/**
 * Returns the amended invoice with the ids of changed and added lines, in the order of the changes.
 * A line that existed is matched by id. An added line is matched by description and amount among
 * the new ids.
 */
export function amended(
  placed: readonly PlacedChange[],
  before: readonly LedgerLine[],
  invoice: LedgerInvoice,
  isWrite: boolean,
): LedgerAnswer<LedgerAmended> {
  const known = new Set(before.map((line) => line.ledgerLineId));
  const kept = new Set(invoice.lines.map((line) => line.ledgerLineId));
  const free = invoice.lines.filter(({ ledgerLineId: id }) => id !== "" && !known.has(id));
  const lineIds = placed.flatMap(({ change, description, lineId }) => {
    if (lineId !== null) return kept.has(lineId) ? [lineId] : [];
    const index = free.findIndex((line) => hasContent(line, description, change));
    return free.splice(index, index < 0 ? 0 : 1).map((line) => line.ledgerLineId);
  });
  return lineIds.length === placed.length
    ? { kind: "ok", value: { invoice, lineIds } }
    : unreadable("the answer does not show all changed lines", isWrite);
}

/** Whether the ledger's line has this description, apart from blanks, and the change's amount. */
export function hasContent(
  line: LedgerLine,
  description: string,
  { amount }: Pick<LedgerLineDraft, "amount">,
): boolean {
  return (
    isSameText(line.description, description) && scaledOf(line.amount, 4) === scaledOf(amount, 4)
  );
}

/**
 * Returns true if both texts are the same apart from blanks. If a trimmed blank counted as a
 * difference, the line would be added again.
 */
export function isSameText(one: string, other: string): boolean {
  return plain(one) === plain(other);
}

function plain(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}
