/** What the pages of figures share: how often they ask again, and exact sums by currency. */
import { add, formatDecimal, parseDecimal } from "../../../../../src/domain/money/decimal.ts";

/** How often a page asks again. The figures are reckoned each minute. */
export const refetchInterval = 30_000;

/** How many of something, and what they come to. */
interface Figures {
  readonly count: number;
  readonly values: readonly { readonly currency: string; readonly amount: string }[];
}

/** Returns how many they are and what they come to. */
export function sumOf(figures: readonly (Figures | undefined)[]) {
  const values = new Map<string, string>();
  let count = 0;
  for (const each of figures) {
    count += each?.count ?? 0;
    for (const { currency, amount } of each?.values ?? []) {
      const sum = add(parseDecimal(values.get(currency) ?? "0"), parseDecimal(amount));
      values.set(currency, formatDecimal(sum));
    }
  }
  return { count, values: [...values].map(([currency, amount]) => ({ currency, amount })) };
}
