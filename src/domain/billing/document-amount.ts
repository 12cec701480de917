/** What one document can hold: the check of every document that is drafted or amended (MONEY-8). */
import { amountLimit } from "../catalogue/pricing/index.ts";
import { add, compare, type Decimal, formatDecimal, sum, ZERO } from "../money/decimal.ts";

/** A line's name and amount. `meterId` is set if the line bills or credits usage. */
interface HeldLine {
  readonly name: string;
  readonly amount: Decimal;
  readonly meterId?: string | null;
}

/**
 * Returns why one document cannot hold these lines, as sentences; null if it can. `already`: the
 * amount of what else is on it.
 */
export function tooMuch(lines: readonly HeldLine[], already: Decimal = ZERO): string | null {
  const whole = add(already, sum(lines.map(({ amount }) => amount)));
  if (compare(whole, amountLimit) < 0) return null;
  const namesOf = (some: readonly HeldLine[]) => [...new Set(some.map(({ name }) => name))];
  const metered = namesOf(lines.filter(({ meterId = null }) => meterId !== null));
  const advice = metered.length === 0 ? "" : ` Events of ${metered.join(", ")} have to be voided.`;
  const names = namesOf(lines).join(", ");
  const limit = `less than ${formatDecimal(amountLimit)} can be billed at once`;
  return `The amount of ${names} comes to ${formatDecimal(whole)}: ${limit}.${advice}`;
}
