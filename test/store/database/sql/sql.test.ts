/** Words and names in the text of SQL stay words and names. */
import { expect, test } from "vitest";
import { identifier, literal, sql } from "../../../../src/store/database/sql/sql.ts";

test("a literal doubles its quotes and keeps a backslash", () => {
  expect(literal("draft")).toBe("'draft'");
  expect(literal(String.raw`it's \'`)).toBe(String.raw`'it''s \'''`);
});

test("an identifier doubles its quotes", () => {
  expect(identifier("usage_events_3")).toBe('"usage_events_3"');
  expect(identifier('a" b')).toBe('"a"" b"');
});

test("a text of SQL keeps its backslashes, parameters and fragments", () => {
  const name = sql`d.name`;
  expect(sql`SELECT ${name} ~ '\s' LIMIT $${2}`).toBe(String.raw`SELECT d.name ~ '\s' LIMIT $2`);
});
