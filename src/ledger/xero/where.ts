/** Builds Xero's `where` filters and splits long lists of values over several calls. */

// Together with the rest of the address this stays below 2,000 characters, which every proxy takes.
const maxFilterLength = 1_200;

/** `Field=="a" OR Field=="b"`, with quotes and backslashes escaped. */
export function whereAny(field: string, values: readonly string[]): string {
  return values.map((value) => `${field}=="${value.replace(/["\\]/g, "\\$&")}"`).join(" OR ");
}

/** The values, without repeats, in groups whose filter stays short enough for an address. */
export function shortGroups(field: string, values: readonly string[]): readonly (readonly string[])[] {
  const groups: string[][] = [];
  let length = Number.POSITIVE_INFINITY;
  for (const value of new Set(values)) {
    const added = encodeURIComponent(whereAny(field, [value])).length + 8;
    if (length + added > maxFilterLength) {
      groups.push([]);
      length = 0;
    }
    groups.at(-1)?.push(value);
    length += added;
  }
  return groups;
}
