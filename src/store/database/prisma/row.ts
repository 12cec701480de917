/**
 * Rows of SQL, typed by the generated models: a column that leaves its model, or changes its type,
 * does not compile any more.
 */
import type { Prisma } from "../../../gen/prisma/client.ts";

/** The column of a field: `customerId` is stored in `customer_id`. */
type ColumnOf<Field extends string> = Field extends `${infer First}${infer Rest}`
  ? First extends Lowercase<First>
    ? `${First}${ColumnOf<Rest>}`
    : `_${Lowercase<First>}${ColumnOf<Rest>}`
  : Field;

/** A value as a statement returns it: numerics and bigints are text. */
type SqlValue<Value> = Value extends Prisma.Decimal | bigint ? string : Value;

/** A day as a statement returns it: `YYYY-MM-DD`. The model has the same type for an instant. */
type SqlDay<Value> = Value extends Date ? string : Value;

/** The columns of these fields of a model. `Day` are the fields that are days without a time. */
export type Row<
  Model,
  Field extends keyof Model & string,
  Day extends keyof Model & string = never,
> = {
  [F in Field as ColumnOf<F>]: SqlValue<Model[F]>;
} & {
  [F in Day as ColumnOf<F>]: SqlDay<Model[F]>;
};
