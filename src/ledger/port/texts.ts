/** How a ledger counts, shortens and compares texts. */

/** The length in code points: an emoji counts once. The contract of the API counts the same way. */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/**
 * The text, shortened to at most `most` UTF-16 units, which is the strictest way to count. The cut never divides a
 * surrogate pair: half of one is no text, and a ledger refuses the whole request for it.
 */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const isDivided = /[\uD800-\uDBFF]/.test(text.charAt(most - 1)) && /[\uDC00-\uDFFF]/.test(text.charAt(most));
  return text.slice(0, isDivided ? most - 1 : most);
}

/** The text as a ledger may compare it where it must be unique: without blanks at its ends, in one case. */
export function foldText(text: string): string {
  return text.trim().toLowerCase();
}
