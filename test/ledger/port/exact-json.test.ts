/** Numbers keep their digits on the way in and out, and are rounded in one direction. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decimalTextOf,
  divideRounded,
  scaledOf,
  shortDecimalText,
} from "../../../src/ledger/port/decimal-text.ts";
import { numberToken, readExactJson, writeExactJson } from "../../../src/ledger/port/exact-json.ts";

describe("reading", () => {
  test("numbers stand as they were sent, text as text", () => {
    const text =
      '{"a":1.50,"b":[148062.76,1e-7,12345678901234567890],"c":"1.50","d":null,"e":true}';
    expect(readExactJson(text)).toEqual({
      a: "1.50",
      b: ["148062.76", "1e-7", "12345678901234567890"],
      c: "1.50",
      d: null,
      e: true,
    });
  });

  test.each([
    "",
    "<html>",
    "{",
    "The resource cannot be found",
  ])("what is not JSON is undefined: %s", (text) => {
    expect(readExactJson(text)).toBeUndefined();
  });
});

describe("writing", () => {
  test.each([
    ["10.9500", "10.95"],
    ["3.0000", "3"],
    ["-0.5000", "-0.5"],
    ["100", "100"],
    ["0.0000001", "0.0000001"],
    ["123456789012345678.1234", "123456789012345678.1234"],
  ])("%s goes out as the token %s", (text, token) => {
    expect(writeExactJson({ Quantity: numberToken(text) })).toBe(`{"Quantity":${token}}`);
  });

  test.each([
    "1e-7",
    "1E5",
    "",
    "abc",
    "NaN",
    "01",
    "1.",
    ".5",
  ])("%s is no number to write", (text) => {
    expect(() => numberToken(text)).toThrow();
  });

  test("what is written is read back as the same value, at every size", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }), (scaled) => {
        const read = readExactJson(writeExactJson([numberToken(decimalTextOf(scaled, 4))]));
        expect(read).toEqual([shortDecimalText(decimalTextOf(scaled, 4), 4)]);
        expect(scaledOf(`${(read as string[])[0]}`, 4)).toBe(scaled);
      }),
    );
  });
});

describe("decimal text", () => {
  test.each([
    ["46", 4, 460000n],
    ["148062.76", 4, 1480627600n],
    ["0.30000000000000004", 4, 3000n],
    ["1E-05", 4, 0n],
    ["5e-5", 4, 1n],
    ["1.5e3", 2, 150000n],
    ["-0.005", 2, -1n],
    ["0.005", 2, 1n],
    ["0.0049", 2, 0n],
  ] as const)("%s at %i places is %i", (text, places, scaled) => {
    expect(scaledOf(text, places)).toBe(scaled);
  });

  test("rounding is half away from zero", () => {
    expect([5n, -5n, 4n, -4n, 15n].map((value) => divideRounded(value, 10n))).toEqual([
      1n,
      -1n,
      0n,
      0n,
      2n,
    ]);
  });

  test.each(["", "-", "1e", "Infinity", "1,5", " 1"])("%s is no decimal", (text) => {
    expect(() => scaledOf(text, 2)).toThrow();
  });
});
