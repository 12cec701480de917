/** No spreadsheet reads a formula in CSV, whatever separates its cells. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { csvText } from "../../src/output/formats.ts";

/** The cells that a spreadsheet with this list separator reads. A quote at its start opens one. */
function cellsBy(separator: string, csv: string): readonly string[] {
  const cells: string[] = [];
  let at = 0;
  while (at < csv.length) {
    let cell = "";
    if (csv[at] === '"') {
      for (at += 1; at < csv.length; at += 1) {
        if (csv[at] === '"' && csv[at + 1] !== '"') break;
        if (csv[at] === '"') at += 1;
        cell += csv[at] ?? "";
      }
      at += 1;
    }
    while (at < csv.length && csv[at] !== separator && csv[at] !== "\r") cell += csv[at++];
    cells.push(cell);
    at += csv[at] === "\r" ? 2 : 1;
  }
  return cells;
}

const formula = /^\s*[=+\-@＝＋－＠]/;

test.each([
  ["=1+1", "'=1+1"],
  ["x;=1+1", "x;'=1+1"],
  ["x; =1+1", "x; '=1+1"],
  ['x;"=1+1', '"x;""\'=1+1"'],
  ["x;;@sum", "x;;'@sum"],
  [" -1", " '-1"],
  ["x;＋1", "x;'＋1"],
  ["a, -5; b = c", '"a, -5; b = c"'],
  ["2026-03-01", "2026-03-01"],
])("the cell %j is written as %j", (cell, written) => {
  expect(csvText([["id", cell]])).toBe(`id,${written}\r\n`);
});

test("no cell begins a formula, read by commas and by semicolons", () => {
  const character = fc.constantFrom(..."x1;,\"' =+-@＝");
  const cell = fc.array(character, { maxLength: 8 }).map((characters) => characters.join(""));
  const table = fc.array(fc.array(cell, { minLength: 1, maxLength: 3 }), { maxLength: 3 });
  fc.assert(
    fc.property(table, fc.constantFrom(",", ";"), (rows, separator) => {
      const found = cellsBy(separator, csvText(rows)).filter((each) => formula.test(each));
      expect(found).toEqual([]);
    }),
    { numRuns: 5_000 },
  );
});
