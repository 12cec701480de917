/** Which rows and columns of a list are shown: those of the verb, or those that a person names. */
import { jsonName } from "../../../../src/transport/rest/json-shape.ts";
import { UsageError } from "../failures.ts";
import type { Column, Verb } from "../noun.ts";
import type { Json } from "./message-json.ts";
import { listOf } from "./words.ts";

/** What a person chose by `--columns` and `--lines`. */
interface Choice {
  readonly columns?: unknown;
  readonly lines?: unknown;
}

/** Returns the verb with the chosen columns and rows. Throws `UsageError` for an unknown column. */
export function chosen(verb: Verb, { columns: names, lines: areInner }: Choice): Verb {
  const { inner, lines: forPerson, ...list } = verb;
  if (areInner === true && inner !== undefined) {
    const columns = named(verb, inner.columns, names);
    return { ...list, columns, inner };
  }
  if (names === undefined) return forPerson === undefined ? list : { ...list, lines: forPerson };
  return { ...list, columns: named(verb, verb.columns ?? [], names) };
}

/** The rows of a response: its list, or the members of each element, with the element. */
export function rowsOf({ rows = "data", inner }: Verb, response: Json): readonly Json[] {
  const list = listOf(response[rows]);
  if (inner === undefined) return list;
  return list.flatMap((row) =>
    listOf(row[inner.member]).map((line, index) => ({ ...row, line, position: index + 1 })),
  );
}

function named(verb: Verb, columns: readonly Column[], names: unknown): readonly Column[] {
  if (!Array.isArray(names)) return columns;
  const row = verb.method.output.fields.find((field) => jsonName(field) === (verb.rows ?? "data"));
  const members = row?.message?.fields.map(jsonName) ?? [];
  const titleOf = (column: Column) => (typeof column === "string" ? column : column.title);
  return names.map((name: string): Column => {
    const column = columns.find((each) => titleOf(each) === name);
    if (column !== undefined) return column;
    if (members.includes(name.split(".")[0] ?? "")) return name;
    const all = [...new Set([...columns.map(titleOf), ...members])].join(", ");
    throw new UsageError(`There is no column ${name}. The columns are ${all}.`);
  });
}
