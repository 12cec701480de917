/** Exact fractions on bigint. */

/** A fraction in lowest terms, its denominator above 0. */
export type Rational = readonly [numerator: bigint, denominator: bigint];

const size = (of: bigint) => (of < 0n ? -of : of);

/** The fraction in lowest terms. The denominator is not 0. */
export function rational(over: bigint, under: bigint): Rational {
  let [one, other] = [size(over), size(under)];
  while (other !== 0n) [one, other] = [other, one % other];
  const shared = under < 0n ? -one : one;
  return [over / shared, under / shared];
}

/** A whole number. */
export const whole = (of: number): Rational => [BigInt(of), 1n];
/** Nothing. */
export const zero = whole(0);
/** a + b. */
export const add = ([a, b]: Rational, [c, d]: Rational) => rational(a * d + c * b, b * d);
/** a × b. */
export const mul = ([a, b]: Rational, [c, d]: Rational) => rational(a * c, b * d);
/** −a. */
export const neg = ([a, b]: Rational): Rational => [-a, b];
/** a − b. */
export const sub = (one: Rational, other: Rational) => add(one, neg(other));
/** The smaller one. */
export const min = (one: Rational, other: Rational) => (sub(one, other)[0] < 0n ? one : other);
/** max(0, a − b). */
export const excess = (one: Rational, other: Rational) =>
  min(one, other) === one ? zero : sub(one, other);
/** The sum of all, 0 if there are none. */
export const sum = (of: readonly Rational[]) => of.reduce(add, zero);

/** Rounds half away from zero, to so many places. */
export function round([over, under]: Rational, places: number): Rational {
  const up = (2n * size(over) * 10n ** BigInt(places) + under) / (2n * under);
  return rational(over < 0n ? -up : up, 10n ** BigInt(places));
}

/** The decimal with exactly so many places, of a number that has no more. */
export function decimal([over, under]: Rational, places: number): string {
  const digits = String((size(over) * 10n ** BigInt(places)) / under).padStart(places + 1, "0");
  const point = digits.length - places;
  const part = places === 0 ? "" : `.${digits.slice(point)}`;
  return `${over < 0n ? "-" : ""}${digits.slice(0, point)}${part}`;
}

/** The one text of a number: the shortest decimal, else a fraction in lowest terms. */
export function show(of: Rational): string {
  let [rest, places] = [of[1], 0];
  for (const factor of [10n, 5n, 2n]) for (; rest % factor === 0n; places += 1) rest /= factor;
  return rest === 1n ? decimal(of, places) : `${of[0]}/${of[1]}`;
}
