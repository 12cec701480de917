/** The table of all measurements: reading printed figures, and the comparison with kept ratios. */
import { describe, expect, test } from "vitest";
import { betterRows, type Row, readRows, worseRows } from "../../bench/support/results/rows.ts";

const row = (name: string, ratio: number): Row => ({
  name,
  ratio,
  value: 100 * ratio,
  unit: "lists/s",
  floor: 100,
});

describe("rows", () => {
  test("are read from figures with a floor, with the ratio unrounded", () => {
    const output = [
      "figure lists_p50 21 ms",
      "figure webhooks_alive 36.1 deliveries/s floor 4680 ratio 0.01",
      "other output",
    ].join("\n");
    expect(readRows(output)).toEqual([
      {
        name: "webhooks_alive",
        value: 36.1,
        unit: "deliveries/s",
        floor: 4680,
        ratio: 0.00771,
      },
    ]);
  });
});

describe("a ratio", () => {
  test("passes if it lost less than a tenth, whatever the speed", () => {
    expect(worseRows([row("lists", 0.5)], [{ ...row("lists", 0.46), value: 1 }])).toEqual([]);
  });

  test("is worse if it lost more than a tenth", () => {
    const worse = worseRows(
      [row("lists", 0.5), row("usage", 0.5)],
      [row("lists", 0.44), row("usage", 0.9)],
    );
    expect(worse).toEqual([{ name: "lists", before: 0.5, now: 0.44 }]);
  });

  test("is worse if its row is missing or no number", () => {
    expect(worseRows([row("lists", 0.5)], [])).toEqual([{ name: "lists", before: 0.5, now: null }]);
    expect(worseRows([row("lists", 0.5)], [row("lists", Number.NaN)])).toHaveLength(1);
  });

  test("is not compared if its row is new", () => {
    expect(worseRows([], [row("lists", 0.1)])).toEqual([]);
  });
});

test("of two measurements of a row the better one counts", () => {
  const [first, second] = [row("lists", 0.4), row("lists", 0.5)];
  expect(betterRows([first], [second])).toEqual([second]);
  expect(betterRows([second], [first])).toEqual([second]);
  expect(betterRows([first], [])).toEqual([first]);
  expect(betterRows([], [second])).toEqual([second]);
});
