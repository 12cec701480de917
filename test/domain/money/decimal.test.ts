/** Decimals are parsed, formatted, compared and rounded without loss. MONEY-1, MONEY-2. */
import { describe, expect, it } from "vitest";
import {
  compare,
  decimalOf,
  equals,
  formatDecimal,
  formatShort,
  parseDecimal,
  round,
  roundQuotient,
  sum,
} from "../../../src/domain/money/decimal.ts";

const d = parseDecimal;

describe("text", () => {
  it.each([
    ["0", "0.0000"],
    ["19.99", "19.9900"],
    ["-0.5", "-0.5000"],
    ["0.0001", "0.0001"],
    ["999999999.9999", "999999999.9999"],
    ["123456789012345678901234567890.1", "123456789012345678901234567890.1000"],
    ["1.00000000", "1.0000"],
  ])("%s prints with exactly four places as %s", (text, printed) => {
    expect(formatDecimal(d(text))).toBe(printed);
  });

  it.each(["0.00001", "1.23456"])("%s is not printed with a digit lost", (text) => {
    expect(() => formatDecimal(d(text))).toThrow(/more than 4 places/);
  });

  it.each([
    "",
    " 1",
    "1 ",
    "1.",
    ".5",
    "+1",
    "1e3",
    "0x1",
    "1,5",
    "NaN",
    "1.2.3",
    "--1",
    "１",
  ])("%j is not read as a decimal", (text) => {
    expect(() => parseDecimal(text)).toThrow(/not a decimal/);
  });

  it.each([
    ["10.0000", "10"],
    ["12.5000", "12.5"],
    ["0", "0"],
    ["0.00", "0"],
    ["-0.05", "-0.05"],
    ["100", "100"],
  ])("%s in prose is %s", (text, short) => {
    expect(formatShort(d(text))).toBe(short);
  });
});

describe("whole numbers", () => {
  it.each([1.5, Number.NaN, 2 ** 53])("%s is refused", (value) => {
    expect(() => decimalOf(value)).toThrow(/not a whole number/);
  });

  it("take bigints of any size", () => {
    expect(formatDecimal(decimalOf(10n ** 30n))).toBe(`${10n ** 30n}.0000`);
  });
});

describe("comparison", () => {
  it("compares the number, not its scale", () => {
    expect(equals(d("1.50"), d("1.5"))).toBe(true);
    expect(compare(d("-2"), d("-1.99"))).toBe(-1);
    expect(["1.1", "0.999", "-3", "1.01"].map(d).sort(compare).map(formatShort)).toEqual([
      "-3",
      "0.999",
      "1.01",
      "1.1",
    ]);
  });

  it("the sum of nothing is 0", () => {
    expect(formatDecimal(sum([]))).toBe("0.0000");
  });
});

describe("rounding", () => {
  // Worked case 110: `toFixed(2)` gives 1.00 and 2.67 for the second and third.
  it.each([
    ["0.125", 2, "0.1300"],
    ["1.005", 2, "1.0100"],
    ["2.675", 2, "2.6800"],
    ["-0.125", 2, "-0.1300"],
    ["-1.004", 2, "-1.0000"],
    ["0.4999", 0, "0.0000"],
    ["0.5", 0, "1.0000"],
    ["-0.5", 0, "-1.0000"],
    ["0.01599", 3, "0.0160"],
  ])("%s to %d places is %s: half goes away from zero", (text, places, rounded) => {
    expect(formatDecimal(round(d(text), places))).toBe(rounded);
  });

  it.each([
    ["1", "3", 4, "0.3333"],
    ["2", "3", 4, "0.6667"],
    ["1", "-3", 4, "-0.3333"],
    ["-1", "-2", 0, "1.0000"],
    ["0.001", "0.002", 0, "1.0000"],
    ["1000", "0.03", 2, "33333.3300"],
  ])("%s ÷ %s to %d places is %s", (numerator, denominator, places, quotient) => {
    expect(formatDecimal(roundQuotient(d(numerator), d(denominator), places))).toBe(quotient);
  });

  it("a division by zero is impossible", () => {
    expect(() => roundQuotient(d("1"), d("0.00"), 2)).toThrow(/division by zero/);
  });
});
