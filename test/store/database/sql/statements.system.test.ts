/**
 * The statements of the service on the migrated database: PostgreSQL prepares each, and the row
 * that it would return is the declared one.
 */
import { globSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type pg from "pg";
import { expect } from "vitest";
import * as c from "../../../../src/store/database/sql/columns.ts";
import { sql } from "../../../../src/store/database/sql/sql.ts";
import {
  type DeclaredStatement,
  declaredStatements,
} from "../../../../src/store/database/sql/statement.ts";
import { databaseTest as test } from "../../../support/fixtures.ts";
import { type DescribedColumn, describeStatement } from "./describe-statement.ts";

const root = join(import.meta.dirname, "../../../..");

/** What the catalogue of the database says: names of types, tables, and columns without nulls. */
interface Catalogue {
  readonly types: ReadonlyMap<number, string>;
  readonly tables: ReadonlyMap<number, string>;
  /** `table id.column number`. */
  readonly required: ReadonlySet<string>;
}

async function readCatalogue(client: pg.ClientBase): Promise<Catalogue> {
  const types = await client.query<{ id: number; name: string }>(
    "SELECT oid::int AS id, format_type(oid, NULL) AS name FROM pg_type",
  );
  const tables = await client.query<{ id: number; name: string }>(
    "SELECT oid::int AS id, relname AS name FROM pg_class",
  );
  const required = await client.query<{ id: string }>(
    "SELECT concat(attrelid::int, '.', attnum) AS id FROM pg_attribute WHERE attnotnull",
  );
  return {
    types: new Map(types.rows.map(({ id, name }) => [id, name])),
    tables: new Map(tables.rows.map(({ id, name }) => [id, name])),
    required: new Set(required.rows.map(({ id }) => id)),
  };
}

/** Returns what differs between a statement's columns and its declared row. */
function differences(
  { text, row }: DeclaredStatement,
  described: readonly DescribedColumn[],
  catalogue: Catalogue,
): readonly string[] {
  const declared = new Map(Object.entries(row).map(([member, of]) => [c.columnOf(member), of]));
  const unread = described
    .filter(({ name }) => !declared.has(name))
    .map(({ name }) => `${name} is not declared`);
  const wrong = [...declared].flatMap(([name, column]) => {
    const found = described.filter((candidate) => candidate.name === name);
    if (found.length !== 1) return [`${name} is there ${found.length} times`];
    return found.flatMap((only) => columnFaults(text, column, only, catalogue));
  });
  return [...unread, ...wrong];
}

function columnFaults(
  text: string,
  { types, isNullable, isPresent }: c.Column<unknown>,
  { name, typeId, tableId, columnId }: DescribedColumn,
  catalogue: Catalogue,
): readonly string[] {
  const type = catalogue.types.get(typeId) ?? "";
  if (!types.includes(type)) return [`${name} is ${type}, not ${types.join(" or ")}`];
  if (isNullable || isPresent || tableId === 0) return [];
  const table = catalogue.tables.get(tableId) ?? "";
  const isOptional = new RegExp(`(LEFT|FULL) JOIN ${table}\\b`).test(text);
  const mayBeNull = isOptional || !catalogue.required.has(`${tableId}.${columnId}`);
  return mayBeNull ? [`${name} may be null`] : [];
}

async function faultsOf(client: pg.ClientBase, statements: readonly DeclaredStatement[]) {
  const catalogue = await readCatalogue(client);
  const faults: string[] = [];
  for (const statement of statements) {
    try {
      const described = await describeStatement(client, statement.text);
      const found = differences(statement, described, catalogue);
      faults.push(...found.map((fault) => `${statement.name}: ${fault}`));
    } catch (error) {
      faults.push(`${statement.name}: ${error instanceof Error ? error.message : error}`);
    }
  }
  return faults;
}

const connected = test.extend("client", async ({ pool }, { onCleanup }) => {
  const client = await pool.connect();
  onCleanup(() => client.release());
  return client;
});

connected("each statement returns the row that it declares", async ({ client }) => {
  for (const path of globSync("src/store/**/*.ts", { cwd: root }))
    await import(pathToFileURL(join(root, path)).href);
  const statements = declaredStatements();
  expect(statements.length).toBeGreaterThan(0);
  expect(await faultsOf(client, statements)).toEqual([]);
});

const people = sql`organisations o LEFT JOIN customers c ON c.organisation_id = o.id`;

connected.for([
  ["a renamed column", sql`SELECT nam FROM organisations`, {}, 'column "nam" does not exist'],
  ["a column that is not declared", sql`SELECT id FROM organisations`, {}, "id is not declared"],
  ["a declared column that is absent", sql`SELECT`, { id: c.uuid }, "id is there 0 times"],
  ["another type", sql`SELECT id FROM customers`, { id: c.text }, "id is uuid, not text or "],
  [
    "an undeclared null",
    sql`SELECT deactivated_at FROM customers`,
    { deactivatedAt: c.instant },
    "deactivated_at may be null",
  ],
  [
    "an undeclared null of an array",
    sql`SELECT kinds FROM webhook_endpoints`,
    { kinds: c.arrayOf(c.text) },
    "kinds may be null",
  ],
  [
    "an array of another type",
    sql`SELECT array_agg(id) AS ids FROM customers`,
    { ids: c.arrayOf(c.text) },
    "ids is uuid[], not text[] or ",
  ],
  ["a null of an outer join", sql`SELECT c.id FROM ${people}`, { id: c.uuid }, "id may be null"],
] as const)("%s is a fault of a statement", async ([, text, row, fault], { client }) => {
  const faults = await faultsOf(client, [{ name: "faulty", text, row }]);
  expect(faults).toEqual([expect.stringContaining(`faulty: ${fault}`)]);
});

connected.for([
  ["a null that it declares", sql`SELECT c.id FROM ${people}`, { id: c.uuid.orNull() }],
  ["a null that it excludes", sql`SELECT c.id FROM ${people}`, { id: c.uuid.present() }],
  ["an array", sql`SELECT array_agg(id) AS ids FROM customers`, { ids: c.arrayOf(c.uuid) }],
  ["an expression", sql`SELECT count(*) AS n FROM customers`, { n: c.bigint }],
] as const)("a statement may return %s", async ([, text, row], { client }) => {
  expect(await faultsOf(client, [{ name: "right", text, row }])).toEqual([]);
});
