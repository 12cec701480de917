/** How values are named in an address: in lists of a bearable length, in a filter, in a path. */

// Together with the rest of the address this stays below 2,000 characters, which every proxy takes.
const maxListLength = 1_200;

/** The values, without repeats, in groups whose comma list stays short enough for an address. */
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

/** A filter for one value, with quotes and backslashes escaped. Several would need `OR`, which Xero has not optimised. */
export function whereIs(field: string, value: string): string {
  return `${field}=="${value.replace(/["\\]/g, "\\$&")}"`;
}

/**
 * True where a value can stand in a path as it is. Servers on the way read a slash, a backslash or a percent sign in a
 * path anew even where it is encoded, and dots as a step up.
 */
export function fitsPath(value: string): boolean {
  return /^[A-Za-z0-9](?:[A-Za-z0-9 _~.-]*[A-Za-z0-9_~-])?$/.test(value) && !value.includes("..");
}
