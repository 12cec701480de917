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
  /** Never set. It carries the type. */
  readonly value?: T;
}

/** The columns of a row by the names of its members: `dueAt` is the column `due_at`. */
export type Shape = Readonly<Record<string, Column<unknown>>>;

/** The row of a shape. */
export type RowOf<S extends Shape> = {
  readonly [Name in keyof S]: S[Name] extends Column<infer T> ? T : never;
};

function column<T>(types: readonly string[], isNullable = false, isPresent = false): Column<T> {
  return {
    types,
    isNullable,
    isPresent,
    orNull: () => column(types, true),
    present: () => column(types, false, true),
    as: () => column(types, isNullable, isPresent),
  };
}

export const uuid = column<string>(["uuid"]);

export const text = column<string>(["text", "character varying"]);

export const bool = column<boolean>(["boolean"]);

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

export const bytes = column<Buffer>(["bytea"]);

/** JSON with values of the type `T`, in which decimals are text. */
export function json<T>(): Column<T> {
  return column(["json", "jsonb"]);
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

/** Returns the column of a member. Every column of the schema is its field in snake case. */
export function columnOf(member: string): string {
  return member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
