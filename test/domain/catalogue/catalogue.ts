/** Plans and tiers for the tests of the domain, written as briefly as the worked cases are. */

import type { Plan, PlanType, Tier } from "../../../src/domain/catalogue/plan.ts";
import type { PriceTerms } from "../../../src/domain/catalogue/pricing/index.ts";
import { parseDecimal, ZERO } from "../../../src/domain/money/decimal.ts";

/** A tier as `[up_to, unit_price, flat_price]`, null if there is none. */
export type TierText = readonly [
  upTo: number | null,
  unitPrice: string | null,
  flatPrice?: string | null,
];

/** Tiers of their texts. */
export function tiersOf(...rows: readonly TierText[]): readonly Tier[] {
  const decimal = (text: string | null | undefined) => (text == null ? null : parseDecimal(text));
  return rows.map(([upTo, unitPrice, flatPrice]) => ({
    upTo,
    unitPrice: decimal(unitPrice),
    flatPrice: decimal(flatPrice),
  }));
}

/** An active monthly plan in EUR of this type, with these differences. */
export function planOf(type: PlanType, differs: Partial<Plan> = {}): Plan {
  return {
    id: "0198c0de-0000-7000-8000-000000000001",
    code: "plan",
    name: "Plan",
    type,
    interval: { unit: "month", count: 1 },
    currency: "EUR",
    price: ZERO,
    minimumUnits: 0,
    freeUnits: 0,
    unitLabels: { singular: "seat", plural: "seats" },
    allowsPriceOverride: false,
    status: "active",
    tiers: [],
    createdAt: new Date("2026-01-01T00:00:00Z"),
    revenueAccount: null,
    taxType: null,
    ...differs,
  };
}

/** Units at list price without discount, with these differences. */
export function termsOf(
  units: number,
  differs: { discount?: string; price?: string } = {},
): PriceTerms {
  return {
    units,
    priceOverride: differs.price === undefined ? null : parseDecimal(differs.price),
    discountPercent: parseDecimal(differs.discount ?? "0"),
  };
}
