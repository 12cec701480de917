/** The arrays of a set of columns have every element as it was. */
import { expect, test } from "vitest";
import { columnSet } from "../../../src/store/database/column-set.ts";
import { bytes, instant, numeric, uuid } from "../../../src/store/database/sql/columns.ts";
import { sql } from "../../../src/store/database/sql/sql.ts";

test("a set of columns numbers its parameters and leaves absent members null", () => {
  const columns = columnSet({ id: uuid, dueAt: instant, amount: numeric, hash: bytes }, 3);
  expect(columns.source(sql`r`)).toBe(
    "unnest($3::uuid[], $4::timestamp with time zone[], $5::numeric[], $6::bytea[]) " +
      "AS r(id, due_at, amount, hash)",
  );
  expect(columns.next).toBe(7);
  const hash = Buffer.from([0, 255]);
  const records = [
    { id: "a", dueAt: undefined, amount: "-12.5000", hash },
    { id: null, dueAt: new Date(0), amount: 2, hash: null },
  ];
  expect(columns.arrays(records)).toEqual([
    ["a", null],
    [null, new Date(0)],
    ["-12.5000", 2],
    [hash, null],
  ]);
});
