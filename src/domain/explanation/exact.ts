/**
 * The exact numbers of an explanation: decimals, and quotients that no decimal can write. Each
 * number has one text.
 */
import { type Decimal, formatShort } from "../money/decimal.ts";

/** `dividend` ÷ `divisor`, not divided yet: only a rounding divides (MONEY-2). */
export interface Quotient {
  readonly dividend: Decimal;
  readonly divisor: Decimal;
}

/** An exact number. */
export type Exact = Decimal | Quotient;

/**
 * Returns the one text of the number: the shortest decimal (`-12.5`), or the fraction in lowest
 * terms if no decimal is exact (`-180/31`).
 */
export function exactText(value: Exact): string {
  if (!("dividend" in value)) return formatShort(value);
  const { dividend, divisor } = value;
  const over = dividend.unscaled * 10n ** BigInt(divisor.scale);
  const under = divisor.unscaled * 10n ** BigInt(dividend.scale);
  const shared = greatestShared(over, under) * (under < 0n ? -1n : 1n);
  const [numerator, denominator] = [over / shared, under / shared];
  const scale = placesOf(denominator);
  if (scale === null) return `${numerator}/${denominator}`;
  return formatShort({ unscaled: (numerator * 10n ** BigInt(scale)) / denominator, scale });
}

/** The places of a decimal with this denominator. Null if it has another factor than 2 and 5. */
function placesOf(denominator: bigint): number | null {
  let [rest, twos, fives] = [denominator, 0, 0];
  for (; rest % 2n === 0n; twos += 1) rest /= 2n;
  for (; rest % 5n === 0n; fives += 1) rest /= 5n;
  return rest === 1n ? Math.max(twos, fives) : null;
}

function greatestShared(left: bigint, right: bigint): bigint {
  let [one, other] = [left < 0n ? -left : left, right < 0n ? -right : right];
  while (other !== 0n) [one, other] = [other, one % other];
  return one;
}
