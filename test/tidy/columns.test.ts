/** The rule of columns finds long lines in code, SQL, strings and Markdown. */
import { expect, test } from "vitest";
import { columnFaults } from "../../tools/tidy/columns.ts";

test.each([
  "src/a.ts",
  "prisma/migrations/a/migration.sql",
  "proto/a.proto",
  "test/a.test.ts",
])("a line of 101 columns in %s is a fault, with its number", (path) => {
  const text = `short\n${"x".repeat(101)}\n${"x".repeat(100)}\n`;
  expect(columnFaults({ path, text })).toEqual([`${path}:2 has 101 columns: 100 is the limit`]);
});

const long = "x".repeat(100);

test.each([
  `  rpc Get${long}(GetRequest) returns (GetResponse) {`,
  `  rpc Watch(stream ${long}) returns (stream Answer);`,
  `  string id = 1 [(billing.options.v1.field) = {example: "\\"${long}\\""}];`,
  `  optional string price = 7 [(buf.validate.field).string.pattern = "^${long}$"];`,
])("a long line of a proto that the formatter joins is no fault: %s", (line) => {
  expect(columnFaults({ path: "proto/a.proto", text: line })).toEqual([]);
  expect(columnFaults({ path: "src/a.ts", text: line })).toHaveLength(1);
});

test.each([
  `  // rpc ${long}`,
  `  rpc Get(GetRequest) returns (GetResponse) { // ${long}`,
  `  string id = 1 [(a) = 2, (b) = "${long}"];`,
  `      pattern: "${long}"`,
])("another long line of a proto is a fault: %s", (line) => {
  expect(columnFaults({ path: "proto/a.proto", text: line })).toHaveLength(1);
});

test("a long line inside a template is a fault", () => {
  const text = `const text = \`SELECT 1\n  ${"a, ".repeat(40)}\`;\n`;
  expect(columnFaults({ path: "src/a.ts", text })).toHaveLength(1);
});

test("a character outside the basic plane is one column", () => {
  expect(columnFaults({ path: "src/a.ts", text: "😀".repeat(100) })).toEqual([]);
});

test("the import of one name, which the formatter never breaks, is excluded", () => {
  const [names, file] = ["a".repeat(50), "b".repeat(50)];
  const text = `import { ${names} } from "../${file}.ts";`;
  expect(columnFaults({ path: "src/a.ts", text })).toEqual([]);
});

test("a line of Markdown has at most 120 columns, in prose and in blocks of code", () => {
  const lines = ["x".repeat(120), `- ${"x".repeat(119)}`, "```sh", "x".repeat(121), "```"];
  expect(columnFaults({ path: "docs/a.md", text: lines.join("\n") })).toEqual([
    "docs/a.md:2 has 121 columns: 120 is the limit",
    "docs/a.md:4 has 121 columns: 120 is the limit",
  ]);
});

test("a row of a table in Markdown, which cannot be broken, is excluded", () => {
  expect(columnFaults({ path: "docs/a.md", text: `| ${"x".repeat(130)} |` })).toEqual([]);
});
