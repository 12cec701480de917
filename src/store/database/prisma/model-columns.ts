/**
 * Builds the columns of a hand-written SELECT from the fields of a generated model. The rows then
 * have the names and the types of the schema.
 */
import type { Prisma } from "../../../gen/prisma/client.ts";

/**
 * These fields of a model as the pool returns them: `numeric` and `bigint` are text. A date is text
 * too, which the row type must state, because the model has the same type for an instant.
 */
export type ModelRow<Model, Field extends keyof Model> = {
  readonly [F in Field]: PooledValue<Model[F]>;
};

type PooledValue<Value> = Value extends Prisma.Decimal | bigint
  ? string
  : Value extends Uint8Array
    ? Buffer
    : Value;

/** Returns the columns of these fields, under the fields' names: `t.tax_type AS "taxType"`. */
export function columnsOf(alias: string, fields: readonly string[]): string {
  return fields
    .map((field) => {
      const column = columnOf(field);
      return column === field ? `${alias}.${column}` : `${alias}.${column} AS "${field}"`;
    })
    .join(", ");
}

/** Returns the column of a field. Every column of the schema is its field in snake case. */
export function columnOf(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
