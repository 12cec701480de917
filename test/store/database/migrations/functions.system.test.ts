/** The functions of the migrated database are those of prisma/functions. */
import { expect } from "vitest";
import {
  compareFunctions,
  migrationOf,
  readFunctionFiles,
} from "../../../../tools/database-functions.ts";
import { databaseTest as test } from "../../../support/fixtures.ts";

const files = readFunctionFiles();
const none = { changed: [], withoutFile: [], misnamed: [] };

/** A function that no migration has. */
const added = {
  path: "two.sql",
  sql: "CREATE OR REPLACE FUNCTION two() RETURNS int LANGUAGE sql AS $$ SELECT 2 $$;\n",
};

test("each function of the migrated database is that of its file", async ({ database }) => {
  expect(files.length).toBeGreaterThan(1);
  expect(await compareFunctions(database.url, files)).toEqual(none);
});

test("a changed and a new function are the statements of a migration", async ({ database }) => {
  const [first, ...rest] = files;
  const changed = { path: first?.path ?? "", sql: `${first?.sql.replace("BEGIN", "BEGIN NULL;")}` };
  const changes = await compareFunctions(database.url, [changed, ...rest, added]);
  expect(changes).toEqual({ ...none, changed: [changed, added] });
  expect(migrationOf(changes)).toBe(`${changed.sql}\n${added.sql}`);
});

test("a function whose file is gone is dropped by a migration", async ({ database }) => {
  const rest = files.filter(({ path }) => path !== "access/admit_operator.sql");
  const changes = await compareFunctions(database.url, rest);
  expect(changes).toEqual({ ...none, withoutFile: ["admit_operator(the_hash bytea)"] });
  expect(migrationOf(changes)).toBe("DROP FUNCTION admit_operator(the_hash bytea);\n");
});

test("a file that defines no function of its name is misnamed", async ({ database }) => {
  const renamed = { ...added, path: "one.sql" };
  const { misnamed } = await compareFunctions(database.url, [...files, renamed]);
  expect(misnamed).toEqual(["one.sql"]);
});

test("without a difference there is no migration", () => {
  expect(migrationOf(none)).toBeUndefined();
});
