/**
 * Statements with the rows that they declare. A test prepares each one on the migrated database and
 * compares the names, the types and the nulls of its columns with the declared row.
 */
import { createHash } from "node:crypto";
import type pg from "pg";
import type { Statement } from "../connection.ts";
import { columnOf, type RowOf, readValue, type Shape } from "./columns.ts";
import type { Sql } from "./sql.ts";

/** Anything that runs statements: a pool, or a connection inside a transaction. */
export type Executor = Pick<pg.Pool, "query">;

/** A statement and what it returns. */
export interface StatementSettings {
  /** Its name on a connection, which parses it once. */
  readonly name: string;
  readonly text: Sql;
  /**
   * `once`: a connection plans it once, which must be right for all values, and a test at size
   * holds that plan. PostgreSQL expects many rows where a value is unknown, and therefore plans a
   * statement for its values each time by default, which often takes longer than to run it. `each
   * time`: the plan must fit the sizes of the tables at that moment.
   */
  readonly planned?: "once" | "each time";
  /** Its time limit, if it is not the one of the connection. */
  readonly timeLimitMs?: number;
}

/** A statement of the service with its row. A command has none. */
export interface DeclaredStatement {
  readonly name: string;
  readonly text: Sql;
  readonly row: Shape;
}

/** Runs a statement, and returns its rows. */
export type Query<Row, Values extends readonly unknown[] = readonly unknown[]> = (
  executor: Executor,
  ...values: Values
) => Promise<readonly Row[]>;

/** Runs a statement, and returns how many rows it changed. */
export type Command<Values extends readonly unknown[] = readonly unknown[]> = (
  executor: Executor,
  ...values: Values
) => Promise<number>;

const declared = new Map<string, DeclaredStatement>();

/** Returns the statements of the modules that are loaded. */
export function declaredStatements(): readonly DeclaredStatement[] {
  return [...declared.values()];
}

/** Returns what finds the one row of a statement. Null if there is none. */
export function first<Row, Values extends readonly unknown[]>(find: Query<Row, Values>) {
  return async (executor: Executor, ...values: Values): Promise<Row | null> => {
    const [row] = await find(executor, ...values);
    return row ?? null;
  };
}

/** Adds a statement to those that the test prepares. Two may not have one name. */
export function declare({ name, text, row }: DeclaredStatement): void {
  if (declared.has(name)) throw new Error(`two statements have the name ${name}`);
  declared.set(name, { name, text, row });
}

/** Declares a statement that returns rows. */
export function query<const S extends Shape>(
  settings: StatementSettings & { readonly row: S },
): Query<RowOf<S>> {
  declare(settings);
  return undeclaredQuery(settings);
}

/** Declares a statement that only writes. */
export function command(settings: StatementSettings): Command {
  declare({ ...settings, row: {} });
  const sent = withoutMargin(settings);
  return async (executor, ...values) => {
    const { rowCount } = await executor.query(configOf(sent, values));
    return rowCount ?? 0;
  };
}

/** Returns a statement of which another one is declared, because its text depends on its use. */
export function undeclaredQuery<const S extends Shape>(
  settings: StatementSettings & { readonly row: S },
): Query<RowOf<S>> {
  const readRows = rowReader(settings.name, settings.row);
  const sent = withoutMargin(settings);
  return async (executor, ...values) => {
    const config = { ...configOf(sent, values), rowMode: "array" as const };
    return readRows(await executor.query<unknown[]>(config)) as readonly RowOf<S>[];
  };
}

/** The text begins with its first word in `pg_stat_activity` and in PostgreSQL's log. */
function withoutMargin<S extends StatementSettings>(settings: S): S {
  return { ...settings, text: settings.text.trim() as Sql };
}

const names = new Map<string, string>();

/** Returns a name for a text of run time, so that a connection parses it once. */
export function statementName(text: Sql): string {
  let name = names.get(text);
  if (name === undefined) {
    name = createHash("sha256").update(text).digest("base64url").slice(0, 22);
    names.set(text, name);
  }
  return name;
}

function configOf(settings: StatementSettings, values: readonly unknown[]): Statement {
  const { name, text, timeLimitMs, planned } = settings;
  const limit = timeLimitMs === undefined ? {} : { timeLimitMs };
  const statement = { text, values: [...values], ...limit };
  if (planned === "each time") return statement;
  return { name, ...statement, isPlannedOnce: planned === "once" };
}

/** Returns the reader of a shape's rows. It finds the columns by their names. */
function rowReader(statement: string, shape: Shape) {
  const members = Object.entries(shape).map(([member, column]) => ({
    member,
    column,
    name: columnOf(member),
  }));
  return ({ fields, rows }: pg.QueryArrayResult<unknown[]>): readonly object[] => {
    const places = members.map(({ name }) => fields.findIndex((field) => field.name === name));
    return rows.map((values) => {
      const row: Record<string, unknown> = {};
      for (const [index, { member, column, name }] of members.entries()) {
        const value = values[places[index] ?? -1];
        if (value === undefined) throw new Error(`${statement} has no column ${name}`);
        row[member] = readValue(column, value, name);
      }
      return row;
    });
  };
}
