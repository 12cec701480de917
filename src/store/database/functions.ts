/**
 * Calls functions of the database. Each locks its rows and decides in one statement. SQL, because
 * the typed client cannot call them.
 */

import { plannedOnce } from "./planned-once.ts";
import type { AnyRow } from "./pool.ts";
import type { Executor } from "./prisma/client.ts";

/** An argument in milliseconds, where the function takes an interval. */
export interface Milliseconds {
  readonly ms: number;
}

/** The functions, as the migrations define them. */
type DatabaseFunction =
  | "begin_idempotent_request"
  | "complete_idempotent_request"
  | "release_idempotent_request"
  | "renew_idempotent_requests"
  | "delete_expired_idempotency_keys"
  | "take_ledger_call"
  | "end_ledger_call";

/**
 * Returns the first row of a function's result. A function that returns one value has it in a
 * column with the function's name.
 */
export async function callFunction<Row extends AnyRow>(
  executor: Pick<Executor, "query">,
  name: DatabaseFunction,
  ...args: readonly unknown[]
): Promise<Row> {
  const places = args.map((arg, index) =>
    isMilliseconds(arg) ? `$${index + 1} * interval '1 ms'` : `$${index + 1}`,
  );
  const text = `SELECT * FROM ${name}(${places.join(", ")})`;
  const values = args.map((arg) => (isMilliseconds(arg) ? arg.ms : arg));
  const { rows } = await executor.query<Row>(plannedOnce({ name, text, values }));
  const [row] = rows;
  if (row === undefined) throw new Error(`${name} returned nothing`);
  return row;
}

function isMilliseconds(arg: unknown): arg is Milliseconds {
  return typeof arg === "object" && arg !== null && "ms" in arg;
}
