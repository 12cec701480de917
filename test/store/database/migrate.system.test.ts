/** Each migration is applied once, by any number of concurrent processes. */
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { diff, migrate, withDatabase } from "../../../src/store/database/migrate.ts";
import {
  readMigrations,
  wholeSchema,
  withSchemaEngine,
} from "../../../src/store/database/schema-engine.ts";

let folder = "";
let url = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "migrate-test-"));
  url = withDatabase(inject("postgresUrl"), `migrate_${randomUUID().replaceAll("-", "")}`);
});

afterEach(async () => {
  await query(
    inject("postgresUrl"),
    `DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`,
  );
  await rm(folder, { recursive: true, force: true });
});

async function query(databaseUrl: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Compares the database with the migrations: edited, failed and unapplied ones. */
async function diagnose() {
  const migrationsList = await readMigrations(folder);
  const input = { migrationsList, filters: wholeSchema, optInToShadowDatabase: false };
  return withSchemaEngine({ databaseUrl: url }, (engine) => engine.diagnoseMigrationHistory(input));
}

async function write(name: string, sql: string): Promise<void> {
  await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, "migration_lock.toml"), 'provider = "postgresql"\n');
  await writeFile(join(folder, name, "migration.sql"), sql);
}

const first = `CREATE TABLE "things" ("id" TEXT NOT NULL, "kind" TEXT,
  CONSTRAINT "things_pkey" PRIMARY KEY ("id"));
ALTER TABLE "things" ADD CONSTRAINT "things_kind" CHECK ("kind" <> '');
CREATE INDEX "things_open" ON "things" ("kind") WHERE "kind" IS NULL;
CREATE FUNCTION "two"() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM 1; RETURN 2; END; $$;
`;

test("migrate creates the database and applies a migration with function bodies once", async () => {
  await write("20260101000000_first", first);
  expect(await migrate(url, { migrationsFolder: folder })).toEqual(["20260101000000_first"]);
  expect(await query(url, "SELECT two()")).toEqual([{ two: 2 }]);
  expect(await migrate(url, { migrationsFolder: folder })).toEqual([]);
  expect(await diagnose()).toMatchObject({
    history: null,
    failedMigrationNames: [],
  });
});

test("concurrent runs of migrate apply each migration once, and none fails", async () => {
  await write("20260101000000_first", first);
  await write("20260102000000_second", 'ALTER TABLE "things" ADD COLUMN "more" INTEGER;');
  const applied = await Promise.all(
    Array.from({ length: 4 }, () => migrate(url, { migrationsFolder: folder })),
  );
  expect(applied.flat()).toEqual(["20260101000000_first", "20260102000000_second"]);
  const rows = await query(
    url,
    "SELECT migration_name FROM _prisma_migrations WHERE finished_at IS NOT NULL",
  );
  expect(rows).toHaveLength(2);
});

test("a migration that fails is rolled back and names its cause", async () => {
  await write(
    "20260101000000_bad",
    'CREATE TABLE "half" ("id" INT); INSERT INTO "nowhere" VALUES (1);',
  );
  await expect(migrate(url, { migrationsFolder: folder })).rejects.toThrow(
    /Migration 20260101000000_bad failed: [\s\S]*nowhere/,
  );
  expect(await query(url, "SELECT to_regclass('half') AS half")).toEqual([{ half: null }]);
  expect((await diagnose()).failedMigrationNames).toEqual(["20260101000000_bad"]);
});

test("a database with a migration from before the first one is refused unchanged", async () => {
  await write("20260101000000_first", first);
  await migrate(url, { migrationsFolder: folder });
  await rm(join(folder, "20260101000000_first"), { recursive: true });
  await write("20260201000000_again", 'CREATE TABLE "others" ("id" INT);');
  await expect(migrate(url, { migrationsFolder: folder })).rejects.toThrow(
    /before the first release \(migration 20260101000000_first\), and its data cannot be upgraded/,
  );
  expect(await query(url, "SELECT to_regclass('others') AS others")).toEqual([{ others: null }]);
});

test("diff returns SQL from the migrations to the schema, or undefined if they agree", async () => {
  await write("20260101000000_first", first);
  const schemaFile = join(folder, "schema.prisma");
  const schema = (more: string): string =>
    `datasource db {\n  provider = "postgresql"\n}\n\n` +
    `model Thing {\n  id String @id\n  kind String?\n${more}\n  @@map("things")\n}\n`;
  const settings = { serverUrl: inject("postgresUrl"), schemaFile, migrationsFolder: folder };
  await writeFile(schemaFile, schema(""));
  expect(await diff(settings)).toBeUndefined();
  await writeFile(schemaFile, schema("  more Int?"));
  expect(await diff(settings)).toContain('ALTER TABLE "things" ADD COLUMN     "more" INTEGER;');
});
