/** The kinds of events in words. */

/** Returns `Invoice created` for `invoice.created`. */
export function eventWords(type: string): string {
  const words = type.replaceAll(/[._]/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
