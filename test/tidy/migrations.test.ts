/** Migrations after the first do not break the previous version. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Migration, migrationFaults } from "../../tools/tidy/migrations.ts";

const root = join(import.meta.dirname, "../..");
const folder = join(root, "prisma/migrations");
const version = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version as string;

const first: Migration = { name: "1_schema", sql: "DROP TABLE everything;" };
const faultsOf = (sql: string) => migrationFaults([first, { name: "2_next", sql }], "2.1.0");

test("the migrations of this repository break no process of the previous version", () => {
  const migrations = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
    .map((name) => ({ name, sql: readFileSync(join(folder, name, "migration.sql"), "utf8") }));
  expect(migrations.length).toBeGreaterThan(1);
  expect(migrationFaults(migrations, version)).toEqual([]);
});

test.each([
  "DROP TABLE plans",
  "ALTER TABLE plans DROP COLUMN code",
  'ALTER TABLE "plans" DROP "code"',
  "ALTER TABLE plans ADD COLUMN a int, DROP COLUMN code",
  "ALTER TABLE plans RENAME TO offers",
  "ALTER TABLE plans RENAME COLUMN code TO name",
  "ALTER TABLE plans ADD COLUMN code text NOT NULL",
  "ALTER TABLE plans ADD COLUMN a int NOT NULL, ADD COLUMN b int NOT NULL DEFAULT 0",
  "ALTER TABLE plans ADD code text NOT NULL",
  "ALTER TABLE plans ALTER COLUMN code SET NOT NULL",
  "ALTER TABLE plans ALTER COLUMN code DROP DEFAULT",
  "ALTER TABLE plans ALTER COLUMN code TYPE int",
  "ALTER TABLE plans ALTER code SET DATA TYPE int",
  "ALTER TABLE plans ADD CONSTRAINT plans_code CHECK (code <> '')",
  "ALTER TABLE plans ADD CONSTRAINT plans_fkey FOREIGN KEY (a)\n  REFERENCES b(a)",
  "CREATE UNIQUE INDEX plans_code ON plans (code)",
  "DROP INDEX plans_code",
  "DROP FUNCTION refuse(text, text)",
  "TRUNCATE plans",
])("a statement that breaks the previous version is a fault: %s", (sql) => {
  expect(faultsOf(`${sql};`)).toHaveLength(1);
});

test.each([
  "CREATE TABLE gifts (id uuid NOT NULL); CREATE UNIQUE INDEX gifts_id ON gifts (id)",
  "CREATE TABLE a (id int); ALTER TABLE a ADD CONSTRAINT g FOREIGN KEY (id) REFERENCES b(c)",
  "ALTER TABLE plans ADD COLUMN code text",
  "ALTER TABLE plans ADD COLUMN code text NOT NULL DEFAULT ''",
  "ALTER TABLE plans ADD CONSTRAINT plans_code CHECK (code <> '') NOT VALID",
  "ALTER TABLE plans VALIDATE CONSTRAINT plans_code",
  "ALTER TABLE plans ALTER COLUMN code DROP NOT NULL",
  "ALTER TABLE plans DROP CONSTRAINT plans_code",
  "CREATE INDEX plans_code ON plans (code)",
  "CREATE OR REPLACE FUNCTION a() RETURNS int LANGUAGE sql AS $$ SELECT 1; DROP TABLE a $$",
  "-- DROP TABLE plans;\nSELECT 'DROP TABLE plans; DROP TABLE plans'",
  "DROP TRIGGER a ON plans",
])("a statement that only expands is no fault: %s", (sql) => {
  expect(faultsOf(`${sql};`)).toEqual([]);
});

const replacing = (definition: string) => [
  { name: "1_schema", sql: "CREATE UNIQUE INDEX plans_code ON plans (kind, code);" },
  {
    name: "2_next",
    sql: `CREATE UNIQUE INDEX narrow ON plans ${definition}; DROP INDEX plans_code;
      ALTER INDEX narrow RENAME TO plans_code;`,
  },
];

test("an index without a rule may be dropped", () => {
  const drop = { name: "2_next", sql: "DROP INDEX plans_code;" };
  const created = (kind: string) => ({ name: "1", sql: `CREATE ${kind} plans_code ON plans (a);` });
  expect(migrationFaults([created("INDEX"), drop], "2.1.0")).toEqual([]);
  expect(migrationFaults([created("UNIQUE INDEX"), drop], "2.1.0")).toHaveLength(1);
});

test("an index may be replaced by the one of the same columns without entries of nulls", () => {
  const faults = (definition: string) => migrationFaults(replacing(definition), "2.1.0");
  expect(faults("(kind, code)\n  WHERE code IS NOT NULL")).toEqual([]);
  const others = ["(kind, code)", "(code) WHERE code IS NOT NULL", "(kind, code) WHERE code <> ''"];
  for (const other of [...others, "(kind, code) WHERE name IS NOT NULL"])
    expect(faults(other), other).toHaveLength(3);
});

test("a migration may contract what an earlier release was the last to use", () => {
  const sql = "-- Contracts: 2.0.4 was the last release that read code.\nDROP TABLE plans;";
  expect(faultsOf(sql)).toEqual([]);
  for (const wrong of ["2.1.0", "3.0.0", "2.10.0"])
    expect(faultsOf(sql.replace("2.0.4", wrong))).toHaveLength(1);
});
