/**
 * `npm run db:diff -- NAME`: writes a migration from the existing migrations to
 * prisma/schema.prisma and prisma/functions. Without NAME it prints that SQL, and exits with 2 for
 * a difference or 0 for none. The server of DATABASE_URL, or the embedded one, holds scratch
 * databases for it. Its own data is not touched.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { withDatabaseUrl } from "../packages/dev/src/postgres/database-url.ts";
import { migrationsFolder } from "../src/assets.ts";
import { functionsMigration } from "./database-functions.ts";
import { diff } from "./prisma/diff.ts";

const schemaFile = fileURLToPath(new URL("../prisma/schema.prisma", import.meta.url));

/** The exit status of `prisma migrate diff --exit-code` for "they differ". */
const differ = 2;

const [name] = process.argv.slice(2);
if (name !== undefined && !/^[a-z][a-z0-9_]*$/.test(name)) {
  throw new Error(
    `The name of a migration is written in small letters, digits and underscores: ${name} is not.`,
  );
}
const sql = await withDatabaseUrl(
  process.env,
  (line) => console.error(line),
  async (serverUrl) => {
    const parts = [await diff({ serverUrl, schemaFile }), await functionsMigration(serverUrl)];
    return parts.some((part) => part !== undefined) ? parts.filter(Boolean).join("\n") : undefined;
  },
);
if (sql === undefined) {
  console.log("the migrations lead to the schema and to the functions");
} else if (name === undefined) {
  console.log(sql);
  process.exitCode = differ;
} else {
  const instant = new Date().toISOString().replaceAll(/\D/g, "").slice(0, 14);
  const folder = join(migrationsFolder(), `${instant}_${name}`);
  await mkdir(folder, { recursive: true });
  await writeFile(join(migrationsFolder(), "migration_lock.toml"), 'provider = "postgresql"\n');
  await writeFile(join(folder, "migration.sql"), sql.endsWith("\n") ? sql : `${sql}\n`);
  console.log(`wrote ${folder}`);
}
