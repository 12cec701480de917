/**
 * The functions of the database: each is a file of prisma/functions, so that a change of it is read
 * as one. Migrations bring them to the database. The files are loaded into another schema, and
 * PostgreSQL's own text of the functions is compared.
 */
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { migrate, withDatabase } from "../src/store/database/migrations/migrate.ts";

/** A function's file: its path below prisma/functions, and its CREATE OR REPLACE FUNCTION. */
export interface FunctionFile {
  readonly path: string;
  readonly sql: string;
}

/** How the functions of a migrated database differ from the files. */
export interface FunctionChanges {
  /** The files of functions that are new, or not the database's. */
  readonly changed: readonly FunctionFile[];
  /** The functions of the database without a file, as DROP FUNCTION names them. */
  readonly withoutFile: readonly string[];
  /** The files that do not define one function, of their own name. */
  readonly misnamed: readonly string[];
}

const folder = fileURLToPath(new URL("../prisma/functions", import.meta.url));

/** Where the files are loaded, in a transaction that is rolled back. */
const scratch = "function_files";

/** Returns the files, in the order of their paths. */
export function readFunctionFiles(): readonly FunctionFile[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".sql"))
    .sort()
    .map((path) => ({ path, sql: readFileSync(join(folder, path), "utf8") }));
}

/** Compares the functions of a migrated database with files. The database is not changed. */
export async function compareFunctions(
  databaseUrl: string,
  files: readonly FunctionFile[],
): Promise<FunctionChanges> {
  return withClient(databaseUrl, async (client) => {
    await client.query("BEGIN");
    const inDatabase = await definitions(client, "public");
    await client.query(`CREATE SCHEMA ${scratch}; SET LOCAL search_path = ${scratch}, public;
      SET LOCAL check_function_bodies = off`);
    const inFiles = new Map<string, string>();
    const changed: FunctionFile[] = [];
    const misnamed: string[] = [];
    for (const file of files) {
      await client.query(file.sql);
      const added = [...(await definitions(client, scratch))].filter(([key]) => !inFiles.has(key));
      const [name] = basename(file.path).split(".");
      if (added.length !== 1 || !added[0]?.[0].startsWith(`${name}(`)) misnamed.push(file.path);
      if (added.some(([key, text]) => inDatabase.get(key) !== text)) changed.push(file);
      for (const [key, text] of added) inFiles.set(key, text);
    }
    await client.query("ROLLBACK");
    const withoutFile = [...inDatabase.keys()].filter((key) => !inFiles.has(key));
    return { changed, withoutFile, misnamed };
  });
}

/** Returns the functions of a schema: PostgreSQL's text of each, by name and types. */
async function definitions(
  client: pg.Client,
  schema: string,
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ name: string; text: string }>(
    `SELECT format('%I(%s)', proname, pg_get_function_identity_arguments(oid)) AS name,
      pg_get_functiondef(oid) AS text
    FROM pg_proc WHERE pronamespace = $1::regnamespace ORDER BY name`,
    [schema],
  );
  return new Map(rows.map(({ name, text }) => [name, text.replace(`${schema}.`, "")]));
}

/** Returns the statements of a migration that makes these changes, or undefined without one. */
export function migrationOf({ changed, withoutFile }: FunctionChanges): string | undefined {
  const drops = withoutFile.map((name) => `DROP FUNCTION ${name};\n`);
  const statements = [...changed.map(({ sql }) => sql), ...drops];
  return statements.length === 0 ? undefined : statements.join("\n");
}

/**
 * Returns the statements that lead from the functions of the migrations to the files, or undefined
 * if they agree. A scratch database of the server is migrated for it.
 */
export async function functionsMigration(serverUrl: string): Promise<string | undefined> {
  const name = `scratch_${randomUUID().replaceAll("-", "")}`;
  const databaseUrl = withDatabase(serverUrl, name);
  try {
    await migrate(databaseUrl);
    return migrationOf(await compareFunctions(databaseUrl, readFunctionFiles()));
  } finally {
    await withClient(withDatabase(serverUrl, "postgres"), (client) =>
      client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
    );
  }
}

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
