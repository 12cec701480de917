/** How a ledger counts, shortens and compares texts. */

/**
 * Returns the length in code points, as the API's contract counts: an emoji counts once
 * (REQUEST-10).
 */
export function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/**
 * Returns the text shortened to at most `most` UTF-16 units, the strictest way to count. The cut
 * never splits a surrogate pair, because a ledger refuses the whole request for half of one.
 */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const isDivided =
    /[\uD800-\uDBFF]/.test(text.charAt(most - 1)) && /[\uDC00-\uDFFF]/.test(text.charAt(most));
  return text.slice(0, isDivided ? most - 1 : most);
}

/** Returns the text as a ledger may compare unique values: without outer blanks, in lower case. */
export function foldText(text: string): string {
  return text.trim().toLowerCase();
}
