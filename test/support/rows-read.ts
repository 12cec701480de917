/**
 * How many rows PostgreSQL reads for a statement, by its own count, for tests that hold a query's
 * plan at size. EXPLAIN ANALYZE runs the statement.
 */
import pg from "pg";
import { inTransaction } from "../../src/store/database/pool.ts";

/** A statement as the service sends it. */
export interface SentStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

interface PlanNode {
  readonly "Node Type": string;
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly Plans?: readonly PlanNode[];
}

/** The plans that PostgreSQL can use: made for the values, and for any values. */
export const planModes = ["force_custom_plan", "force_generic_plan"] as const;

/** Returns the rows that all scans of the statement's plan read, those that it drops included. */
export async function rowsRead(
  pool: pg.Pool,
  statement: SentStatement,
  mode: (typeof planModes)[number],
): Promise<number> {
  return inTransaction(pool, (client) => rowsReadWithin(client, statement, mode));
}

let measured = 0;

/** The same within a transaction. What the statement writes is rolled back. */
export async function rowsReadWithin(
  client: Pick<pg.PoolClient, "query">,
  { text, values }: SentStatement,
  mode: (typeof planModes)[number],
): Promise<number> {
  measured += 1;
  const name = `measured_${measured}`;
  await client.query("SAVEPOINT measured");
  await client.query(`SET LOCAL plan_cache_mode = ${mode}`);
  await client.query(`PREPARE ${name} AS ${text}`);
  const list = values.length > 0 ? `(${values.map(literal).join(", ")})` : "";
  const { rows } = await client.query<{ "QUERY PLAN": readonly [{ readonly Plan: PlanNode }] }>(
    `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE ${name} ${list}`,
  );
  await client.query("ROLLBACK TO measured");
  await client.query(`DEALLOCATE ${name}`);
  const plan = rows[0]?.["QUERY PLAN"][0].Plan;
  if (plan === undefined) throw new Error("PostgreSQL explained nothing");
  return scannedBy(plan);
}

function scannedBy(node: PlanNode): number {
  const below = (node.Plans ?? []).reduce((sum, one) => sum + scannedBy(one), 0);
  if (!/Scan$/.test(node["Node Type"])) return below;
  const read =
    (node["Actual Rows"] ?? 0) +
    (node["Rows Removed by Filter"] ?? 0) +
    (node["Rows Removed by Index Recheck"] ?? 0);
  return below + read * (node["Actual Loops"] ?? 1);
}

function literal(value: unknown): string {
  if (value === null) return "NULL";
  if (Array.isArray(value)) return pg.escapeLiteral(`{${value.map(element).join(",")}}`);
  return pg.escapeLiteral(textOf(value));
}

function element(value: unknown): string {
  if (value === null) return "NULL";
  return `"${textOf(value).replaceAll(/["\\]/g, "\\$&")}"`;
}

function textOf(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  return Buffer.isBuffer(value) ? `\\x${value.toString("hex")}` : String(value);
}
