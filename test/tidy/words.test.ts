/** The rule of the glossary's words finds them in names, prose, statements and paths. */
import { expect, test } from "vitest";
import { glossaryFaults } from "../../tools/tidy/words.ts";

const faultsOf = (text: string, path = "src/a.ts") => glossaryFaults({ path, text });

test.each([
  ["a part of a camel-case name", "const untoldObjects = 1;"],
  ["a part of a constant", "const MARKS_AT_ONCE = 1;"],
  ["two parts of a name", "putOffDeliveries();"],
  ["a verb in a function's name", "const x = makeContact();"],
  ["a local", "const asked = 1;"],
  ["a comment", "// Settles the document."],
  ["a phrase over two lines of a comment", "/**\n * It has a table of its\n * own.\n */"],
  ["a string", 'throw new Error("another process tells it");'],
  ["an alias of a statement", 'query("SELECT a FROM unnest($1) AS asked(id)");'],
  ["a statement's name", 'query({ name: "take_marks" });'],
  ["an interpolation", `const a = \`\${judged}\`;`],
])("%s with a replaced word is a fault", (_, text) => {
  expect(faultsOf(text)).toHaveLength(1);
});

test.each([
  ["a path", "const a = 1;", "test/scenario/usage-world.ts"],
  ["a column of the schema", "  askedAt DateTime", "prisma/schema.prisma"],
  ["a comment of a migration", "-- Marks that were told.", "prisma/migration.sql"],
  ["a comment of a proto", "// The mirror of the ledger.", "proto/a.proto"],
  ["documentation", "Nobody but whoever asks.", "docs/a.md"],
])("%s with a replaced word is a fault", (_, text, path) => {
  expect(faultsOf(text, path)).toHaveLength(1);
});

test.each([
  ["JavaScript's functions", "await Promise.allSettled([Math.round(1.5)]);"],
  ["SQL's rounding", 'query("SELECT round(a, 2) FROM b");'],
  ["a round trip", "// One round trip."],
  ["a look-up", "// Looks up the key. It is looked up by its number."],
  ["ordinary verbs in prose", "// The change was made as asked, and the cursor is kept."],
  ["a local of a test", "const made = 1;", "test/a.test.ts"],
  ["a set of seen ids outside the ledger", "const seen = new Set();"],
  ["a return", "return turned;"],
])("%s may stay", (_, text, path = "src/a.ts") => {
  expect(faultsOf(text, path)).toEqual([]);
});

test("a fault names the file, the line, the word and its replacement", () => {
  expect(faultsOf("// One.\n// Two.\nconst keeper = 1;")).toEqual([
    'src/a.ts:3 "keeper": use cache, token store, registry',
  ]);
});
