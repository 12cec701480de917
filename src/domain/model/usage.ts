/** Usage of a subscription before and after it is billed. */
import type { Period } from "../calendar/period.ts";
import type { PricedMeter } from "../catalogue/meter.ts";
import type { Decimal } from "../money/decimal.ts";

/**
 * The usage bills of a subscription: the number of the current period's bill, and of the first bill
 * that is not issued.
 */
export interface UsageBills {
  readonly open: number;
  readonly billed: number;
}

/**
 * Unbilled usage of one meter in one period. `before`: the quantity that earlier bills of that
 * period took. `priced`: the part of it that their amounts cover. `setupMode`: the period began in
 * Setup Mode and is never billed.
 */
export interface OpenUsage {
  readonly bill: number;
  readonly period: Period;
  readonly setupMode: boolean;
  readonly meter: PricedMeter;
  readonly events: bigint;
  readonly quantity: Decimal;
  readonly before: Decimal;
  readonly priced: Decimal;
}

/**
 * Usage on a bill. An `amount` below zero is credited. `priced` is the quantity that all amounts of
 * the period cover afterwards.
 */
export interface BilledUsage {
  readonly usage: OpenUsage;
  readonly amount: Decimal;
  readonly priced: Decimal;
}
