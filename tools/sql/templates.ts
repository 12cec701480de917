/** Finds the texts of SQL in a source file: templates with the tag `sql`. */

/** A template between its backticks, and the parts `${…}` in it. Offsets are those of the file. */
export interface SqlTemplate {
  readonly start: number;
  readonly end: number;
  readonly parts: readonly { readonly start: number; readonly end: number }[];
}

/** Returns the templates of a source, without those within other templates. */
export function sqlTemplates(source: string): readonly SqlTemplate[] {
  const found: SqlTemplate[] = [];
  const tag = /(?<![\w.`])sql`/g;
  for (let match = tag.exec(source); match !== null; match = tag.exec(source)) {
    const template = templateAt(source, tag.lastIndex);
    found.push(template);
    tag.lastIndex = template.end + 1;
  }
  return found;
}

/** Returns the template whose first character is at `start`. */
function templateAt(source: string, start: number): SqlTemplate {
  const parts: { start: number; end: number }[] = [];
  for (let at = start; at < source.length; at += 1) {
    if (source[at] === "`") return { start, end: at, parts };
    if (source.startsWith("${", at)) {
      const end = endOfPart(source, at + 2);
      parts.push({ start: at, end });
      at = end - 1;
    }
  }
  throw new Error(`a template of SQL at ${start} has no end`);
}

/** Returns the place after the brace that ends a part. */
function endOfPart(source: string, start: number): number {
  let depth = 1;
  for (let at = start; at < source.length; at += 1) {
    const character = source[at];
    if (character === "`") at = templateAt(source, at + 1).end;
    else if (character === '"') at = source.indexOf('"', at + 1);
    else if (character === "{") depth += 1;
    else if (character === "}") depth -= 1;
    if (depth === 0) return at + 1;
  }
  throw new Error(`a part of a template at ${start} has no end`);
}
