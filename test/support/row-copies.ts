/** Thousands of copies of an organisation's rows, for tests of statements at size. */
import type { Transaction } from "../../src/store/database/pool.ts";

/** What is copied, and what differs in each copy. */
interface RowCopies {
  readonly organisationId: string;
  readonly table: string;
  readonly copies: number;
  /** How many of the organisation's rows are copied. Without it, all. */
  readonly rows?: number;
  /**
   * The columns with another value in each copy, as SQL over the copied row `t` and the copy's
   * number `n`.
   */
  readonly values: Readonly<Record<string, string>>;
}

/** Returns the SQL of a copied id: the MD5 of the id and the copy's number. */
export function copiedId(column: string): string {
  return `md5(t.${column}::text || n)::uuid`;
}

/** Inserts the copies of a table's rows. The database numbers them by `seq`. */
export async function copyRows(client: Transaction, order: RowCopies): Promise<void> {
  const { organisationId, table, copies, values } = order;
  const { rows } = await client.query<{ column: string }>(
    `SELECT column_name AS column FROM information_schema.columns
      WHERE table_name = $1 AND table_schema = 'public' AND column_name <> 'seq'`,
    [table],
  );
  const names = rows.map(({ column }) => column);
  await client.query(
    `INSERT INTO ${table} (${names.join(", ")})
      SELECT ${names.map((name) => values[name] ?? `t.${name}`).join(", ")}
      FROM generate_series(1, ${copies}) n,
        (SELECT * FROM ${table} WHERE organisation_id = $1 LIMIT ${order.rows ?? "ALL"}) t`,
    [organisationId],
  );
}
