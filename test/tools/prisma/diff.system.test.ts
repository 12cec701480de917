/** `npm run db:diff` compares the schema of Prisma with what the migrations make. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { diff } from "../../../tools/prisma/diff.ts";

test("diff returns SQL from the migrations to the schema, or undefined if they agree", async () => {
  const folder = await mkdtemp(join(tmpdir(), "diff-test-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, "20260101000000_first"));
  await writeFile(
    join(folder, "20260101000000_first/migration.sql"),
    `CREATE TABLE "things" ("id" TEXT NOT NULL, "kind" TEXT,
      CONSTRAINT "things_pkey" PRIMARY KEY ("id"), CONSTRAINT "things_kind" CHECK ("kind" <> ''));
    CREATE INDEX "things_open" ON "things" ("kind") WHERE "kind" IS NULL;
    CREATE FUNCTION "two"() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM 1; RETURN 2; END; $$;`,
  );
  await writeFile(join(folder, "migration_lock.toml"), 'provider = "postgresql"\n');
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
