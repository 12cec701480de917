/**
 * The note of a document's first line. It has the link to us, and says whether the document is
 * unfinished: created, and not yet in the status that it is to have (LEDGER-23). It says that one
 * is removed where Tryton cannot cancel it.
 */

const unfinishedMark = "unfinished ";
const removedMark = "removed ";

/** Writes the note. Without a link to us only an unfinished document has one. */
export function noteOf(sourceUrl: string | null, isUnfinished: boolean): string {
  return `${isUnfinished ? unfinishedMark : ""}${sourceUrl ?? ""}`;
}

/** Writes the note of a removed document. */
export function removedNoteOf(sourceUrl: string | null): string {
  return `${removedMark}${sourceUrl ?? ""}`;
}

/** Reads a note. A person's document has none. */
export function readNote(note: string): {
  readonly sourceUrl: string | null;
  readonly isUnfinished: boolean;
  readonly isRemoved: boolean;
} {
  const isUnfinished = note.startsWith(unfinishedMark);
  const isRemoved = note.startsWith(removedMark);
  const mark = isUnfinished ? unfinishedMark : isRemoved ? removedMark : "";
  const sourceUrl = note.slice(mark.length);
  return { sourceUrl: sourceUrl === "" ? null : sourceUrl, isUnfinished, isRemoved };
}

/** The condition of Tryton that finds documents whose link ends so. */
export function linkCondition(end: string): readonly unknown[] {
  return ["lines.note", "like", `%${end.replace(/[\\%_]/g, "\\$&")}`];
}

/** The condition of Tryton that finds unfinished documents. */
export const unfinishedCondition = ["lines.note", "like", `${unfinishedMark}%`];
