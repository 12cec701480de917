/** The columns of the generated models in hand-written SQL. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { columnOf, columnsOf } from "../../../../src/store/database/prisma/model-columns.ts";

test("every field of the schema has the column that hand-written SQL derives from its name", () => {
  const schema = readFileSync("prisma/schema.prisma", "utf8");
  const fields = [...schema.matchAll(/^ {2}(\w+) +[A-Z]\w*\S*(.*)$/gm)];
  const mapped = fields.flatMap(([, field = "", attributes = ""]) => {
    if (attributes.includes("@relation")) return [];
    return [[field, /@map\("(\w+)"\)/.exec(attributes)?.[1] ?? field]];
  });
  expect(mapped.length).toBeGreaterThan(300);
  const scalars = mapped.filter(
    ([field, column]) => field !== column || !/[A-Z]/.test(field ?? ""),
  );
  expect(scalars.map(([field = ""]) => columnOf(field))).toEqual(
    scalars.map(([, column]) => column),
  );
});

test("columns of a model keep their names, and other names are aliases of the field", () => {
  expect(columnsOf("t", ["id", "taxType"])).toBe('t.id, t.tax_type AS "taxType"');
});
