/**
 * The columns of a statement's row, declared as values: they type the row, a test compares them
 * with the database, and a null that is not declared fails the statement. `src/gen/columns.ts` has
 * those of each table.
 */

/** A column with values of the type `T`. */
export interface Column<T> {
  /** The types of PostgreSQL that it may have. */
  readonly types: readonly string[];
  readonly isNullable: boolean;
  /** Whether the statement excludes a null that the table allows. */
  readonly isPresent: boolean;
  /** The column where the statement may have no value for it. */
  orNull(): Column<T | null>;
  /** The column where the statement excludes its nulls. */
  present(): Column<NonNullable<T>>;
  /** The column with the words of its enumeration, which a CHECK of the database holds. */
  as<U extends T>(): Column<U>;
  /** Converts what the driver or JSON has for it. Null: it is the value already. */
  readonly read: ((value: unknown) => unknown) | null;
  /** Never set. It carries the type. */
  readonly value?: T;
}

/** The columns of a row by the names of its members: `dueAt` is the column `due_at`. */
export type Shape = Readonly<Record<string, Column<unknown>>>;

/** The row of a shape. */
export type RowOf<S extends Shape> = {
  readonly [Name in keyof S]: S[Name] extends Column<infer T> ? T : never;
};

interface Nulls {
  readonly isNullable: boolean;
  readonly isPresent: boolean;
}

const required: Nulls = { isNullable: false, isPresent: false };

function column<T>(
  types: readonly string[],
  read: Column<T>["read"] = null,
  nulls: Nulls = required,
): Column<T> {
  return {
    types,
    read,
    ...nulls,
    orNull: () => column(types, read, { isNullable: true, isPresent: false }),
    present: () => column(types, read, { isNullable: false, isPresent: true }),
    as: () => column(types, read, nulls),
  };
}

/** An id. */
export const uuid = column<string>(["uuid"]);

/** Text of any length. */
export const text = column<string>(["text", "character varying"]);

/** A truth value. */
export const bool = column<boolean>(["boolean"]);

/** A whole number below 2^31. */
export const int = column<number>(["integer", "smallint"]);

/** A binary float. For durations and scores, never for money. */
export const float = column<number>(["double precision"]);

/** A whole number as text, which a number would round above 2^53. */
export const bigint = column<string>(["bigint"]);

/** A decimal as text. MONEY-1. */
export const numeric = column<string>(["numeric"]);

/** A day as `YYYY-MM-DD`. */
export const day = column<string>(["date"]);

/** An instant to the millisecond. */
export const instant = column<Date>(["timestamp with time zone"]);

/** Bytes as they are stored. */
export const bytes = column<Buffer>(["bytea"]);

/** JSON with values of the type `T`, in which decimals are text. */
export function json<T>(): Column<T> {
  return column(["json", "jsonb"]);
}

/** A row as JSON, of which the text of decimals and whole numbers is text. */
export function jsonRow<const S extends Shape>(shape: S): Column<RowOf<S>> {
  return column(["json", "jsonb"], jsonReader(shape));
}

/** An array of rows as JSON. */
export function jsonRows<const S extends Shape>(shape: S): Column<readonly RowOf<S>[]> {
  const read = jsonReader(shape);
  return column(["json", "jsonb"], (rows) => (rows as readonly unknown[]).map(read));
}

/** A number of JSON would become a float, and these may be larger or longer. */
const textInJson = [bigint, numeric].flatMap(({ types }) => types);

function jsonReader(shape: Shape): (value: unknown) => object {
  const members = Object.entries(shape).map(([member, column]) => {
    if (column.types.some((type) => textInJson.includes(type)))
      throw new Error(`${member} must be text in JSON`);
    return { member, name: columnOf(member), column };
  });
  return (value) => {
    const row: Record<string, unknown> = {};
    for (const { member, name, column } of members) {
      const found = (value as Readonly<Record<string, unknown>>)[name];
      if (found === undefined) throw new Error(`a row in JSON has no member ${name}`);
      row[member] = readValue(column, found, name, column.types === instant.types);
    }
    return row;
  };
}

/** Returns a value of a column. A null that it does not declare fails. */
export function readValue(
  { isNullable, read }: Column<unknown>,
  value: unknown,
  name: string,
  isText = false,
): unknown {
  if (value !== null) {
    if (isText) return new Date(value as string);
    return read === null ? value : read(value);
  }
  if (!isNullable) throw new Error(`there is no value in the column ${name}`);
  return null;
}

/** An array of a column's values. */
export function arrayOf<T>({ types }: Column<T>): Column<readonly T[]> {
  return column(types.map((type) => `${type}[]`));
}

/** Returns these columns of a table. */
export function pick<S extends Shape, Name extends keyof S>(
  shape: S,
  ...names: readonly Name[]
): Pick<S, Name> {
  return Object.fromEntries(names.map((name) => [name, shape[name]])) as Pick<S, Name>;
}

/** Returns the columns of a table without these. */
export function omit<S extends Shape, Name extends keyof S>(
  shape: S,
  ...names: readonly Name[]
): Omit<S, Name> {
  const kept = Object.entries(shape).filter(([name]) => !names.includes(name as Name));
  return Object.fromEntries(kept) as Omit<S, Name>;
}

/** Returns the columns as an outer join has them, which are null together. */
export function orNulls<S extends Shape>(
  shape: S,
): { readonly [Name in keyof S]: S[Name] extends Column<infer T> ? Column<T | null> : never } {
  const columns = Object.entries(shape).map(([name, column]) => [name, column.orNull()]);
  return Object.fromEntries(columns);
}

/** Returns the column of a member. Every column of the schema is its field in snake case. */
export function columnOf(member: string): string {
  return member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
