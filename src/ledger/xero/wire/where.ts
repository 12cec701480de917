/** Encodes values for an address: in short lists, in a filter, in a path. */

// With the rest of the address this stays below 2,000 characters, a length that every proxy
// accepts.
const maxListLength = 1_200;

/**
 * Returns the values without repeats, in groups whose comma list is short enough for an address.
 */
export function shortGroups(values: readonly string[]): readonly (readonly string[])[] {
  const groups: string[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const value of new Set(values)) {
    const added = encodeURIComponent(value).length + encodeURIComponent(",").length;
    if (length + added > maxListLength) {
      groups.push([]);
      length = 0;
    }
    groups.at(-1)?.push(value);
    length += added;
  }
  return groups;
}

/**
 * Returns a filter for one value, with quotes and backslashes escaped. Several values would need
 * `OR`, which Xero has not optimised (XERO-5).
 */
export function whereIs(field: string, value: string): string {
  return `${field}=="${value.replace(/["\\]/g, "\\$&")}"`;
}

/**
 * Returns true if a value can stand in a path. Servers on the way decode an encoded slash,
 * backslash or percent sign again, and read dots as a step up.
 */
export function fitsPath(value: string): boolean {
  return /^[A-Za-z0-9](?:[A-Za-z0-9 _~.-]*[A-Za-z0-9_~-])?$/.test(value) && !value.includes("..");
}
