/** The members of addresses. All are texts, as a person may write them. */

/** Returns a check that leaves the named members only, and empties out. */
export function texts<Name extends string>(...names: readonly Name[]) {
  return (search: Record<string, unknown>): { [Each in Name]?: string } => {
    const found: { [Each in Name]?: string } = {};
    for (const name of names) {
      const value = search[name];
      if (typeof value === "string" && value !== "") found[name] = value;
    }
    return found;
  };
}

/** Reads an address without guessing at numbers. */
export function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

/** Writes an address. Members without a value are left out. */
export function stringifySearch(search: Record<string, unknown>): string {
  const members = Object.entries(search).flatMap(([name, value]) =>
    typeof value === "string" && value !== "" ? [[name, value]] : [],
  );
  const text = new URLSearchParams(members).toString();
  return text === "" ? "" : `?${text}`;
}
