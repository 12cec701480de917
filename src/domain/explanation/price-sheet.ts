/**
 * Price sheets: everything that turns units or a quantity into a price. A sheet is stored once for
 * each content and named by it, so that no line repeats it and no bound changes unnoticed. Names
 * and labels stay out of it: they may change, prices may not (MONEY-9).
 */
import type { PricedMeter } from "../catalogue/meter.ts";
import type { Plan, PlanType, Tier } from "../catalogue/plan.ts";
import type { PricedPlan } from "../catalogue/pricing/models.ts";
import { type Decimal, formatShort, parseDecimal, ZERO } from "../money/decimal.ts";

/**
 * The prices of a plan, or of a meter on it. `isOverride`: the price is the subscription's own
 * instead of the plan's.
 */
export interface PriceSheet extends PricedPlan {
  readonly planId: string;
  readonly meterId: string | null;
  readonly isOverride: boolean;
}

/** A tier as it is shown. */
interface ShownTier {
  readonly up_to: number | null;
  readonly unit_price: string | null;
  readonly flat_price: string | null;
}

/** A sheet as it is shown and stored. An absent meter or subscription is left out. */
export interface ShownSheet {
  readonly plan: string;
  readonly meter?: string;
  readonly subscription?: string;
  readonly type: PlanType;
  readonly free_units: number;
  readonly price: string;
  readonly tiers: readonly ShownTier[];
}

/** Returns the sheet of a plan, or of the subscription's own price. */
export function planSheet(
  { id, type, price, freeUnits, tiers }: PricedPlan & Pick<Plan, "id">,
  priceOverride: Decimal | null,
): PriceSheet {
  const prices = { type, price: priceOverride ?? price, freeUnits, tiers };
  return { ...prices, planId: id, meterId: null, isOverride: priceOverride !== null };
}

/** Returns the sheet of a meter on a plan. */
export function meterSheet(planId: string, { id, type, price, tiers }: PricedMeter): PriceSheet {
  return { type, price, freeUnits: 0, tiers, planId, meterId: id, isOverride: false };
}

/** Returns the sheet as it is shown. A price of its own names the subscription. */
export function showSheet(sheet: PriceSheet, subscriptionId: string): ShownSheet {
  const { planId, meterId, isOverride, type, freeUnits, price, tiers } = sheet;
  return {
    plan: planId,
    ...(meterId !== null && { meter: meterId }),
    ...(isOverride && { subscription: subscriptionId }),
    type,
    free_units: freeUnits,
    price: formatShort(price),
    tiers: tiers.map(({ upTo, unitPrice, flatPrice }) => ({
      up_to: upTo,
      unit_price: unitPrice && formatShort(unitPrice),
      flat_price: flatPrice && formatShort(flatPrice),
    })),
  };
}

/** Returns the canonical text that names the sheet: its members sorted by name, without spaces. */
export function sheetText({ tiers, ...members }: ShownSheet): string {
  const rows = tiers.map(({ up_to, unit_price, flat_price }) => ({
    flat_price,
    unit_price,
    up_to,
  }));
  const { free_units, meter, plan, price, subscription, type } = members;
  // JSON leaves out what is undefined.
  return JSON.stringify({ free_units, meter, plan, price, subscription, tiers: rows, type });
}

/** Reads the text of a stored sheet. */
export function readSheet(text: string): PriceSheet {
  const shown: ShownSheet = JSON.parse(text);
  const decimal = (value: string | null) => (value === null ? null : parseDecimal(value));
  return {
    type: shown.type,
    price: decimal(shown.price) ?? ZERO,
    freeUnits: shown.free_units,
    tiers: shown.tiers.map(
      ({ up_to, unit_price, flat_price }): Tier => ({
        upTo: up_to,
        unitPrice: decimal(unit_price),
        flatPrice: decimal(flat_price),
      }),
    ),
    planId: shown.plan,
    meterId: shown.meter ?? null,
    isOverride: shown.subscription !== undefined,
  };
}

/** The first 32 hexadecimal digits of the SHA-256 of a text. The domain has no hash of its own. */
export type HashName = (text: string) => string;

/** Returns the name of a sheet: the hash of its canonical text. */
export function sheetName(sheet: PriceSheet, subscriptionId: string, hash: HashName): string {
  return hash(sheetText(showSheet(sheet, subscriptionId)));
}
