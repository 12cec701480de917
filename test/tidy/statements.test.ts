/** The rule of statements finds text for PostgreSQL outside its folder. */
import { expect, test } from "vitest";
import { readSource } from "../../tools/tidy/source.ts";
import { statementFaults } from "../../tools/tidy/statements.ts";

const faultsOf = (path: string, text: string) => statementFaults(readSource(path, text));

test.each([
  'await pool.query("SELECT 1");',
  "const { rows } = await client.query<Row>({ text, values });",
  "const text = asSql(name);",
  "const names = columns.map(asSql);",
])("%s is a fault of the code outside the folder of statements", (code) => {
  expect(faultsOf("src/store/billing/a.ts", `\n${code}`)).toEqual([
    expect.stringMatching(/^src\/store\/billing\/a\.ts:2 /),
  ]);
  expect(faultsOf("src/store/database/a.ts", code)).toEqual([]);
  expect(faultsOf("test/store/a.test.ts", code)).toEqual([]);
});

test.each([
  'const found = query({ name: "find", text: sql`SELECT`, row });',
  "// pool.query(text)",
  'const text = "asSql(name)";',
  "const { limit } = request.query;",
])("%s is no fault", (code) => {
  expect(faultsOf("src/store/billing/a.ts", code)).toEqual([]);
});
