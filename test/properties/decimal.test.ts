/** Decimals calculate as fractions of big integers do. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  add,
  compare,
  type Decimal,
  formatDecimal,
  formatShort,
  isNegative,
  minimum,
  multiply,
  negate,
  parseDecimal,
  roundQuotient,
  subtract,
} from "../../src/domain/money/decimal.ts";

const someDecimal: fc.Arbitrary<Decimal> = fc.record({
  unscaled: fc.oneof(
    fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
    fc.bigInt({ min: -20n, max: 20n }),
  ),
  scale: fc.integer({ min: 0, max: 12 }),
});
const somePlaces = fc.integer({ min: 0, max: 4 });

/** The same number as a fraction, the oracle's way to hold it. */
interface Fraction {
  readonly over: bigint;
  readonly under: bigint;
}
const fraction = ({ unscaled, scale }: Decimal): Fraction => ({
  over: unscaled,
  under: 10n ** BigInt(scale),
});
const same = (left: Fraction, right: Fraction) =>
  left.over * right.under === right.over * left.under;
const absolute = (value: bigint) => (value < 0n ? -value : value);

describe("exact arithmetic", () => {
  it("adds, subtracts and multiplies as fractions do", () => {
    fc.assert(
      fc.property(someDecimal, someDecimal, (left, right) => {
        const [a, b] = [fraction(left), fraction(right)];
        const under = a.under * b.under;
        expect(
          same(fraction(add(left, right)), { over: a.over * b.under + b.over * a.under, under }),
        ).toBe(true);
        expect(
          same(fraction(subtract(left, right)), {
            over: a.over * b.under - b.over * a.under,
            under,
          }),
        ).toBe(true);
        expect(same(fraction(multiply(left, right)), { over: a.over * b.over, under })).toBe(true);
      }),
    );
  });

  it("compares as fractions do", () => {
    fc.assert(
      fc.property(someDecimal, someDecimal, (left, right) => {
        const [a, b] = [fraction(left), fraction(right)];
        const difference = a.over * b.under - b.over * a.under;
        expect(compare(left, right)).toBe(difference < 0n ? -1 : difference > 0n ? 1 : 0);
        expect(isNegative(left)).toBe(left.unscaled < 0n);
        for (const one of [left, right])
          expect(compare(minimum(left, right), one)).toBeLessThanOrEqual(0);
      }),
    );
  });
});

describe("rounding a quotient", () => {
  const someDivisor = someDecimal.filter(({ unscaled }) => unscaled !== 0n);

  it("is never more than half a place away, and on half goes away from zero", () => {
    fc.assert(
      fc.property(someDecimal, someDivisor, somePlaces, (numerator, denominator, places) => {
        const [n, m] = [fraction(numerator), fraction(denominator)];
        const exact = { over: n.over * m.under, under: n.under * m.over };
        const rounded = roundQuotient(numerator, denominator, places);
        expect(rounded.scale).toBe(places);
        // |rounded − exact| ≤ ½ · 10^−places, all multiplied by 2 · 10^places · |exact.under|.
        const unit = 10n ** BigInt(places);
        const error = 2n * (rounded.unscaled * exact.under - exact.over * unit);
        expect(absolute(error)).toBeLessThanOrEqual(absolute(exact.under));
        if (absolute(error) === absolute(exact.under)) {
          expect(absolute(rounded.unscaled * exact.under)).toBeGreaterThan(
            absolute(exact.over * unit),
          );
        }
      }),
    );
  });

  it("is the same on both sides of zero, so that a credit equals its charge", () => {
    fc.assert(
      fc.property(someDecimal, someDivisor, somePlaces, (numerator, denominator, places) => {
        const charge = roundQuotient(numerator, denominator, places);
        const credit = roundQuotient(negate(numerator), denominator, places);
        expect(credit).toEqual(negate(charge));
      }),
    );
  });
});

describe("text", () => {
  const somePrinted = fc.record({
    unscaled: fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }),
    scale: fc.integer({ min: 0, max: 4 }),
  });

  it("prints four places and reads back the same number", () => {
    fc.assert(
      fc.property(somePrinted, (value) => {
        expect(formatDecimal(value)).toMatch(/^-?\d+\.\d{4}$/);
        expect(compare(parseDecimal(formatDecimal(value)), value)).toBe(0);
      }),
    );
  });

  it("in prose too, without a zero too many", () => {
    fc.assert(
      fc.property(someDecimal, (value) => {
        expect(formatShort(value)).toMatch(/^-?(0|[1-9]\d*)(\.\d*[1-9])?$/);
        expect(compare(parseDecimal(formatShort(value)), value)).toBe(0);
      }),
    );
  });
});
