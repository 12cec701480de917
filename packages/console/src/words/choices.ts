/** The values of an enumeration in an address: lower case, as in the public API. */

/** An enumeration of a generated message. */
type Enumeration = Readonly<Record<string, string | number>>;

/** Returns the value that a word of the address names, or undefined. */
export function choiceOf<E extends Enumeration>(
  enumeration: E,
  word: string | undefined,
): Extract<E[keyof E], number> | undefined {
  const value = word === undefined ? undefined : enumeration[word.toUpperCase()];
  return typeof value === "number" ? (value as Extract<E[keyof E], number>) : undefined;
}

/** Returns the word of a value in an address. */
export function wordOf(enumeration: Enumeration, value: number): string | undefined {
  return Object.entries(enumeration)
    .find(([, each]) => each === value)?.[0]
    .toLowerCase();
}

/** Returns the words of the address with how they read, without the unspecified value. */
export function choicesOf(
  enumeration: Enumeration,
  words: Readonly<Record<number, { readonly word: string }>>,
): readonly (readonly [value: string, label: string])[] {
  return Object.entries(enumeration).flatMap(([name, value]) => {
    const said = typeof value === "number" ? words[value] : undefined;
    return said === undefined ? [] : [[name.toLowerCase(), said.word] as const];
  });
}

/** Returns `a month` or `every 3 months`. */
export function everyText(interval: { unit: string; count: number } | undefined): string {
  return `${interval?.count === 1 ? "a" : "every"} ${intervalText(interval)}`;
}

/** Returns `3 months` or `month`. */
export function intervalText(interval: { unit: string; count: number } | undefined): string {
  if (interval === undefined) return "";
  return interval.count === 1 ? interval.unit : `${interval.count} ${interval.unit}s`;
}
