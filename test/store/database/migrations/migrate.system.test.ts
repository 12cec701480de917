/** Each migration is applied once, by any number of concurrent processes. */
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest";
import { migrationsFolder } from "../../../../src/assets.ts";
import { migrate, withDatabase } from "../../../../src/store/database/migrations/migrate.ts";
import {
  readMigrations,
  wholeSchema,
  withSchemaEngine,
} from "../../../../tools/prisma/schema-engine.ts";

let folder = "";
let url = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "migrate-test-"));
  url = withDatabase(inject("postgresUrl"), `migrate_${randomUUID().replaceAll("-", "")}`);
});

afterEach(async () => {
  await drop(url);
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

async function create(databaseUrl: string): Promise<void> {
  await query(inject("postgresUrl"), `CREATE DATABASE ${new URL(databaseUrl).pathname.slice(1)}`);
}

async function drop(databaseUrl: string): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1);
  await query(inject("postgresUrl"), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
}

/** Applies the migrations as `prisma migrate deploy` does. */
async function deploy(databaseUrl: string): Promise<readonly string[]> {
  const input = { migrationsList: await readMigrations(folder), filters: wholeSchema };
  const { appliedMigrationNames } = await withSchemaEngine({ databaseUrl }, (engine) =>
    engine.applyMigrations(input),
  );
  return appliedMigrationNames;
}

/** Marks a migration as `prisma migrate resolve --rolled-back` does. */
function resolve(migrationName: string): Promise<unknown> {
  return withSchemaEngine({ databaseUrl: url }, (engine) =>
    engine.markMigrationRolledBack({ migrationName }),
  );
}

/** Compares the database with the migrations: edited, failed and unapplied ones. */
async function diagnose(migrations = folder) {
  const migrationsList = await readMigrations(migrations);
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
    'CREATE TABLE "half" ("id" INT);\nINSERT INTO "nowhere" VALUES (1);',
  );
  const reason = 'relation "nowhere" does not exist (42P01, line 2 of migration.sql)';
  await expect(migrate(url, { migrationsFolder: folder })).rejects.toThrow(
    `Migration 20260101000000_bad failed: ${reason}`,
  );
  expect(await query(url, "SELECT to_regclass('half') AS half")).toEqual([{ half: null }]);
  expect(await query(url, "SELECT logs FROM _prisma_migrations")).toEqual([{ logs: reason }]);
  expect((await diagnose()).failedMigrationNames).toEqual(["20260101000000_bad"]);
});

test("a script that begins a transaction itself and fails is recorded as failed", async () => {
  await write("20260101000000_bad", "BEGIN; CREATE TABLE half (id INT); SELECT 1 / 0; COMMIT;");
  await expect(migrate(url, { migrationsFolder: folder })).rejects.toThrow("division by zero");
  expect(await query(url, "SELECT to_regclass('half') AS half")).toEqual([{ half: null }]);
  expect((await diagnose()).failedMigrationNames).toEqual(["20260101000000_bad"]);
});

test("a migration of one statement may be one that no transaction allows", async () => {
  await write("20260101000000_first", first);
  await write("20260102000000_index", 'CREATE INDEX CONCURRENTLY "kinds" ON "things" ("kind");');
  await migrate(url, { migrationsFolder: folder });
  expect(await query(url, "SELECT to_regclass('kinds')::text AS name")).toEqual([
    { name: "kinds" },
  ]);
});

test.each([
  ["rolled_back_at", ["20260101000000_bad"]],
  ["finished_at", []],
])("the statement that sets %s resolves a failed migration", async (column, applied) => {
  await write("20260101000000_bad", 'INSERT INTO "things" VALUES (1);');
  await expect(migrate(url, { migrationsFolder: folder })).rejects.toThrow("things");
  await query(url, 'CREATE TABLE "things" ("id" INT)');
  const refused = await migrate(url, { migrationsFolder: folder }).catch(String);
  expect(refused).toContain("Migration 20260101000000_bad failed, or was interrupted, at 2");
  const statements = String(refused).match(/UPDATE .*?(?=\. )/g) ?? [];
  await query(url, statements.find((text) => text.includes(`SET ${column}`)) ?? "");
  expect(await migrate(url, { migrationsFolder: folder })).toEqual(applied);
  expect(await diagnose()).toMatchObject({ history: null, failedMigrationNames: [] });
});

test("an applied migration that was edited is refused by its checksum", async () => {
  await write("20260101000000_first", first);
  await migrate(url, { migrationsFolder: folder });
  await write("20260101000000_first", `${first}CREATE TABLE "more" ("id" INT);`);
  await expect(migrate(url, { migrationsFolder: folder })).rejects.toThrow(
    "Migration 20260101000000_first was edited after it was applied to this database",
  );
  expect((await diagnose()).editedMigrationNames).toEqual(["20260101000000_first"]);
});

test("a database that a newer version has migrated is left as it is", async () => {
  await write("20260101000000_first", first);
  await write("20260102000000_newer", 'CREATE TABLE "others" ("id" INT);');
  await migrate(url, { migrationsFolder: folder });
  await rm(join(folder, "20260102000000_newer"), { recursive: true });
  expect(await migrate(url, { migrationsFolder: folder })).toEqual([]);
});

test("a database with tables and without a history is refused unchanged", async () => {
  await create(url);
  await query(url, "CREATE TABLE strange (id INT)");
  await write("20260101000000_first", first);
  await expect(migrate(url, { migrationsFolder: folder })).rejects.toThrow(
    "The database has tables and no history of migrations",
  );
  expect(await query(url, "SELECT to_regclass('things') AS things")).toEqual([{ things: null }]);
});

describe("Prisma's engine and migrate share one history", () => {
  test("the engine continues what migrate began, in a table of the same columns", async () => {
    await write("20260101000000_first", first);
    await migrate(url, { migrationsFolder: folder });
    await write("20260102000000_second", 'ALTER TABLE "things" ADD COLUMN "more" INTEGER;');
    expect(await deploy(url)).toEqual(["20260102000000_second"]);
    expect(await migrate(url, { migrationsFolder: folder })).toEqual([]);

    const other = `${url}_other`;
    try {
      await create(other);
      await deploy(other);
      const columns = `SELECT column_name, data_type, character_maximum_length, is_nullable,
          column_default
        FROM information_schema.columns WHERE table_name = '_prisma_migrations' ORDER BY 1`;
      expect(await query(url, columns)).toEqual(await query(other, columns));
      const record = `SELECT migration_name, checksum, applied_steps_count, logs, rolled_back_at,
          finished_at >= started_at AS is_finished
        FROM _prisma_migrations ORDER BY 1`;
      expect(await query(url, record)).toEqual(await query(other, record));
    } finally {
      await drop(other);
    }
  });

  test("migrate continues what the engine began", async () => {
    await create(url);
    await write("20260101000000_first", first);
    expect(await deploy(url)).toEqual(["20260101000000_first"]);
    await write("20260102000000_second", 'ALTER TABLE "things" ADD COLUMN "more" INTEGER;');
    expect(await migrate(url, { migrationsFolder: folder })).toEqual(["20260102000000_second"]);
    expect(await diagnose()).toMatchObject({
      history: null,
      editedMigrationNames: [],
      failedMigrationNames: [],
    });
  });

  test("each refuses a migration that failed with the other until it is resolved", async () => {
    await create(url);
    await write("20260101000000_bad", 'CREATE INDEX "kinds" ON "things" ("kind");');
    await expect(deploy(url)).rejects.toThrow("20260101000000_bad");
    await expect(migrate(url, { migrationsFolder: folder })).rejects.toThrow("was interrupted");
    await resolve("20260101000000_bad");
    await expect(migrate(url, { migrationsFolder: folder })).rejects.toThrow("does not exist");
    await expect(deploy(url)).rejects.toThrow("migrate found failed migrations");
    await resolve("20260101000000_bad");
    await query(url, 'CREATE TABLE "things" ("kind" TEXT)');
    expect(await migrate(url, { migrationsFolder: folder })).toEqual(["20260101000000_bad"]);
    expect(await deploy(url)).toEqual([]);
  });

  test("the engine finds the migrations of this repository applied", async () => {
    await migrate(url);
    expect(await diagnose(migrationsFolder())).toMatchObject({
      history: null,
      editedMigrationNames: [],
      failedMigrationNames: [],
    });
  });
});
