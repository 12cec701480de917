/** Quantities and timestamps as clients write them: which texts are valid, and their values. */
import { describe, expect, test } from "vitest";
import {
  dateOf,
  formatInstant,
  instantOf,
  readQuantity,
  readTimestamp,
} from "../../../src/domain/usage/parse.ts";

describe("a quantity", () => {
  test.each([
    ["1", "1.0000"],
    ["0.1", "0.1000"],
    ["0.0001", "0.0001"],
    ["12.50", "12.5000"],
    ["10", "10.0000"],
    ["99999999999999999999", "99999999999999999999.0000"],
    ["123456789012345.6789", "123456789012345.6789"],
  ])("%s is read without losing a digit", (text, read) => {
    expect(readQuantity(text)).toBe(read);
  });

  test("written in two ways is one number, and the same text", () => {
    expect(new Set(["1.5", "1.50", "1.500", "1.5000"].map(readQuantity))).toEqual(
      new Set(["1.5000"]),
    );
  });

  test.each([
    ["zero", "0"],
    ["zero with places", "0.0000"],
    ["a sign", "-1"],
    ["a plus", "+1"],
    ["an exponent", "1e3"],
    ["a leading zero", "01"],
    ["two zeros", "00.5"],
    ["a bare point", "1."],
    ["no whole part", ".5"],
    ["a fifth place", "1.00001"],
    ["a fifth place of zero", "1.00000"],
    ["a comma", "1,5"],
    ["a separator", "1_000"],
    ["white space before", " 1"],
    ["white space after", "1\n"],
    ["nothing", ""],
    ["a 21st character", "999999999999999999999"],
    ["a hexadecimal", "0x1"],
    ["a number that is none", "NaN"],
    ["infinity", "Infinity"],
    ["digits of another script", "１"],
  ])("with %s is none", (_, text) => {
    expect(readQuantity(text)).toBeNull();
  });
});

describe("a timestamp", () => {
  test.each([
    ["2026-03-05T10:15:00Z", "2026-03-05T10:15:00.000000Z"],
    ["2026-03-05t10:15:00z", "2026-03-05T10:15:00.000000Z"],
    ["2026-03-05T10:15:00+13:00", "2026-03-04T21:15:00.000000Z"],
    ["2026-03-05T10:15:00-03:30", "2026-03-05T13:45:00.000000Z"],
    ["2026-03-05T10:15:00-00:00", "2026-03-05T10:15:00.000000Z"],
    ["2026-03-05T23:59:59.9Z", "2026-03-05T23:59:59.900000Z"],
    ["2026-03-05T00:00:00.000001Z", "2026-03-05T00:00:00.000001Z"],
    ["2024-02-29T12:00:00Z", "2024-02-29T12:00:00.000000Z"],
    ["2000-02-29T12:00:00Z", "2000-02-29T12:00:00.000000Z"],
    ["1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"],
    ["0099-03-05T10:15:00Z", "0099-03-05T10:15:00.000000Z"],
    ["9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"],
    ["2026-12-31T23:59:59+23:59", "2026-12-31T00:00:59.000000Z"],
  ])("%s is %s", (text, shown) => {
    const instant = readTimestamp(text);
    expect(instant).not.toBeNull();
    expect(formatInstant(instant ?? 0n)).toBe(shown);
  });

  test("beyond the microsecond is cut, never rounded", () => {
    const cut = readTimestamp("2026-03-05T10:15:00.1234569Z");
    expect(cut).toBe(readTimestamp("2026-03-05T10:15:00.123456Z"));
    expect(readTimestamp("2026-03-05T23:59:59.999999999Z")).toBe(
      readTimestamp("2026-03-05T23:59:59.999999Z"),
    );
    expect(readTimestamp("1969-12-31T23:59:59.9999999Z")).toBe(-1n);
  });

  test.each([
    ["no offset", "2026-03-05T10:15:00"],
    ["no seconds", "2026-03-05T10:15Z"],
    ["no time", "2026-03-05"],
    ["a space for the T", "2026-03-05 10:15:00Z"],
    ["a leap second", "2026-06-30T23:59:60Z"],
    ["the hour 24", "2026-03-05T24:00:00Z"],
    ["the minute 60", "2026-03-05T10:60:00Z"],
    ["an offset hour of 24", "2026-03-05T10:15:00+24:00"],
    ["an offset minute of 60", "2026-03-05T10:15:00+01:60"],
    ["an offset without colon", "2026-03-05T10:15:00+0100"],
    ["an offset of hours", "2026-03-05T10:15:00+01"],
    ["29 February of a common year", "2026-02-29T10:15:00Z"],
    ["29 February of 1900", "1900-02-29T10:15:00Z"],
    ["31 April", "2026-04-31T10:15:00Z"],
    ["the month 13", "2026-13-01T10:15:00Z"],
    ["the month 0", "2026-00-01T10:15:00Z"],
    ["the day 0", "2026-03-00T10:15:00Z"],
    ["ten decimals", "2026-03-05T10:15:00.1234567890Z"],
    ["a bare point", "2026-03-05T10:15:00.Z"],
    ["a comma", "2026-03-05T10:15:00,5Z"],
    ["white space", " 2026-03-05T10:15:00Z"],
    ["a line's end", "2026-03-05T10:15:00Z\n"],
    ["a year of five digits", "12026-03-05T10:15:00Z"],
    ["a year below zero", "-2026-03-05T10:15:00Z"],
    ["a zone's name", "2026-03-05T10:15:00[Europe/Paris]"],
    ["a word", "today"],
    ["infinity", "infinity"],
    ["a number", "1772705700"],
    ["digits of another script", "２０２６-03-05T10:15:00Z"],
    ["nothing", ""],
  ])("with %s is none", (_, text) => {
    expect(readTimestamp(text)).toBeNull();
  });

  test("of a Date is that Date's, before 1970 as well", () => {
    for (const text of ["2026-03-05T10:15:00.123Z", "1903-07-01T00:00:00.001Z"]) {
      expect(instantOf(new Date(text))).toBe(readTimestamp(text));
      expect(dateOf(instantOf(new Date(text)) + 999n).toISOString()).toBe(text);
    }
  });
});
