/**
 * The text of SQL. Nothing but such text and numbers can stand in it, so that no value of a caller
 * ever becomes a part of a statement. `npm run format` lays it out.
 */
import { columnOf, type Shape } from "./columns.ts";

/** Text of SQL. */
export type Sql = string & { readonly isSql: true };

/** Text of SQL, with other such text and numbers in it. A backslash stands for itself. */
export function sql(strings: TemplateStringsArray, ...parts: readonly (Sql | number)[]): Sql {
  return String.raw(strings, ...parts) as Sql;
}

/** Returns texts with a separator between them. */
export function joinSql(parts: readonly Sql[], separator: ", " | " AND " | " UNION ALL "): Sql {
  return parts.join(separator) as Sql;
}

/** Returns the columns of a shape, each with the table's alias: `t.id, t.tax_type`. */
export function columnsOf(alias: Sql, shape: Shape): Sql {
  const columns = Object.keys(shape).map((member) => `${alias}.${columnOf(member)}`);
  return columns.join(", ") as Sql;
}

/** Returns the columns of a shape without a table: `id, tax_type`. */
export function namesOf(shape: Shape): Sql {
  return Object.keys(shape).map(columnOf).join(", ") as Sql;
}

/** Returns SQL of how many rows there are, counted up to a limit. `from` has the conditions. */
export function countUpTo(limit: number, from: Sql): Sql {
  return sql`(SELECT count(*)::int FROM (SELECT 1 FROM ${from} LIMIT ${limit}) counted)`;
}

/** Returns a word as SQL has it: `'draft'`. */
export function literal(text: string): Sql {
  return `'${text.replaceAll("'", "''")}'` as Sql;
}

/** Returns the name of a table or a column that is known only at run time: `"usage_events_3"`. */
export function identifier(name: string): Sql {
  return `"${name.replaceAll('"', '""')}"` as Sql;
}

/** Takes text for SQL. Only for constants of the code, never for a value. */
export function asSql(text: string): Sql {
  return text as Sql;
}
