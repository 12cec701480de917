/** Amounts are rounded to the smallest unit that ISO 4217 gives the currency. */
import { expect, it } from "vitest";
import { isCurrency, minorUnitDigits } from "../../../src/domain/money/currency.ts";
import { formatDecimal, parseDecimal, round } from "../../../src/domain/money/decimal.ts";

it.each([
  ["EUR", 2, "1234.5700"],
  ["JPY", 0, "1235.0000"],
  ["KRW", 0, "1235.0000"],
  ["KWD", 3, "1234.5670"],
  ["IQD", 3, "1234.5670"],
  ["CLF", 4, "1234.5665"],
])("%s has %d places", (currency, places, rounded) => {
  expect(minorUnitDigits(currency)).toBe(places);
  const amount = round(parseDecimal("1234.56650"), places);
  expect(formatDecimal(amount)).toBe(rounded);
});

it.each([
  ["EUR", true],
  ["JPY", true],
  ["eur", false],
  ["DEM", false],
  ["EU", false],
  ["", false],
])("%j is a current currency: %s", (text, current) => {
  expect(isCurrency(text)).toBe(current);
});
