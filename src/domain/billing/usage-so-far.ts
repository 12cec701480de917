/**
 * What usage of a meter in one period comes to so far: what bills have taken, and what the next
 * bill would charge for the rest (USAGE-16).
 */
import type { OpenUsage } from "../model/usage.ts";
import { add, type Decimal, sum, ZERO } from "../money/decimal.ts";
import { priceInOrder } from "./usage-charges.ts";

/**
 * Usage that bills have taken: its sums, the quantity of it that was reported after an earlier bill
 * of the period, and the part of the whole that the amounts cover.
 */
export interface TakenUsage extends Pick<OpenUsage, "events" | "quantity" | "priced"> {
  readonly late: Decimal;
  readonly amount: Decimal;
}

/** Usage that waits for its bill. `isBillable`: a bill will price it. */
export interface WaitingUsage extends Pick<OpenUsage, "bill" | "events" | "quantity"> {
  readonly isLate: boolean;
  readonly isBillable: boolean;
}

/** Usage of one meter in one period. `taken` is null before its first bill. */
export interface MeterUsage extends Pick<OpenUsage, "period" | "meter"> {
  readonly taken: TakenUsage | null;
  readonly waiting: readonly WaitingUsage[];
}

/** Its sums. Amounts are before tax, as on the documents. */
export interface UsageSums {
  readonly events: bigint;
  readonly quantity: Decimal;
  readonly billedQuantity: Decimal;
  readonly lateQuantity: Decimal;
  readonly billedAmount: Decimal;
  /** The billed amount, and the amount that the next bill would add if it was created now. */
  readonly amount: Decimal;
}

const none: TakenUsage = { events: 0n, quantity: ZERO, late: ZERO, amount: ZERO, priced: ZERO };

/** Returns the sums of usage. Each amount is rounded as on its bill (MONEY-7). */
export function usageSoFar(
  { period, meter, taken, waiting }: MeterUsage,
  currency: string,
): UsageSums {
  const { events, quantity, late, amount, priced } = taken ?? none;
  const open = waiting.map(
    (one): OpenUsage => ({
      bill: one.bill,
      period,
      meter,
      setupMode: !one.isBillable,
      events: one.events,
      quantity: one.quantity,
      before: quantity,
      priced,
    }),
  );
  const lateWaiting = waiting.filter(({ isLate }) => isLate);
  return {
    events: waiting.reduce((all, one) => all + one.events, events),
    quantity: add(quantity, sum(waiting.map((one) => one.quantity))),
    billedQuantity: quantity,
    lateQuantity: add(late, sum(lateWaiting.map((one) => one.quantity))),
    billedAmount: amount,
    amount: add(amount, sum(priceInOrder(open, currency).map((one) => one.amount))),
  };
}
