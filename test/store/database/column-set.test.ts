/** The arrays of a set of columns have every element as it was. */
import { expect, test } from "vitest";
import { columnSet } from "../../../src/store/database/column-set.ts";
import { sql } from "../../../src/store/database/sql/sql.ts";

test("an array's text quotes what PostgreSQL would read otherwise", () => {
  const texts = ["", "null", "Null", "a,b", "{a}", 'say "so"', "back\\slash", " a", "10 × 12.50"];
  expect(columnSet("name text").arrays([...texts, "plan"].map((name) => ({ name })))).toEqual([
    '{"","null","Null","a,b","{a}","say \\"so\\"","back\\\\slash"," a","10 × 12.50",plan}',
  ]);
});

test("a set of columns numbers its parameters and leaves absent members null", () => {
  const columns = columnSet("id uuid, due_at timestamptz,\n  amount numeric, is_due boolean");
  expect(columns.source(sql`r`, 3)).toBe(
    "unnest($3::uuid[], $4::timestamptz[], $5::numeric[], $6::boolean[]) " +
      "AS r(id, due_at, amount, is_due)",
  );
  const records = [
    { id: "a", amount: "-12.5000", is_due: true },
    { due_at: new Date(0), amount: 2 },
  ];
  expect(columns.arrays(records)).toEqual([
    "{a,NULL}",
    "{NULL,1970-01-01T00:00:00.000Z}",
    "{-12.5000,2}",
    "{true,NULL}",
  ]);
  expect(columns.arrays([])).toEqual(["{}", "{}", "{}", "{}"]);
});
