/** The arrays of a set of columns have every element as it was. */
import { expect, test } from "vitest";
import { columnSet } from "../../../src/store/database/column-set.ts";
import { sql } from "../../../src/store/database/sql/sql.ts";

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
    ["a", null],
    [null, new Date(0)],
    ["-12.5000", 2],
    [true, null],
  ]);
});
