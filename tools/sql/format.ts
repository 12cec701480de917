/** Lays out the statements of a source file as Prettier does with its plugin for SQL. */
import { format } from "prettier";
import * as plugin from "prettier-plugin-sql-cst";
import { pack } from "./pack.ts";
import { type SqlTemplate, sqlTemplates } from "./templates.ts";

const maxColumns = 100;

/** A statement as a whole. A fragment has no layout of its own. */
const statement = /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/;

/** Returns the source with its statements laid out. */
export async function formatStatements(source: string): Promise<string> {
  let formatted = "";
  let last = 0;
  for (const template of sqlTemplates(source)) {
    const text = source.slice(template.start, template.end);
    const laidOut = statement.test(text) ? await layOut(source, template) : null;
    formatted += source.slice(last, template.start) + (laidOut ?? text);
    last = template.end;
  }
  return formatted + source.slice(last);
}

/** Returns null for a statement that has a fragment where the grammar wants more than a name. */
async function layOut(source: string, template: SqlTemplate): Promise<string | null> {
  const lineStart = source.lastIndexOf("\n", template.start - 1) + 1;
  const line = source.slice(lineStart, template.start);
  const indent = (/^ */.exec(line)?.[0].length ?? 0) + 2;
  const { text, restore } = withNames(source, template);
  try {
    const width = maxColumns - indent;
    const lines = pack((await print(text, width)).split("\n"), width);
    const only = lines.length === 1 ? restore(lines[0] ?? "") : null;
    if (only !== null && line.length + only.length + 2 <= maxColumns) return only;
    const indented = lines.map((each) => (each === "" ? "" : " ".repeat(indent) + each));
    return `\n${restore(indented.join("\n"))}\n${" ".repeat(indent - 2)}`;
  } catch {
    return null;
  }
}

async function print(text: string, printWidth: number): Promise<string> {
  const printed = await format(text, {
    parser: "postgresql",
    plugins: [plugin],
    printWidth,
    sqlKeywordCase: "preserve",
    sqlLiteralCase: "preserve",
    sqlTypeCase: "preserve",
    sqlParamTypes: ["$nr"],
    sqlFinalSemicolon: false,
    // It adds AS before an alias, also where a fragment stands in the place of one.
    sqlCanonicalSyntax: false,
  });
  return printed.trimEnd();
}

/** Returns the text with a name of the same width for each part, and what puts the parts back. */
function withNames(source: string, { start, end, parts }: SqlTemplate) {
  let text = "";
  let last = start;
  const names = new Map<string, string>();
  for (const [index, part] of parts.entries()) {
    const original = source.slice(part.start, part.end);
    const name = `z${index}z`.padEnd(original.length, "z");
    names.set(name, original);
    text += source.slice(last, part.start) + name;
    last = part.end;
  }
  text += source.slice(last, end);
  const restore = (printed: string): string => {
    let restored = printed;
    for (const [name, original] of names) restored = restored.replace(name, () => original);
    return restored;
  };
  return { text, restore };
}
