/** Lines of whole periods and of charges, at every price. */
import { addBands } from "../../scenario/units-builder.ts";
import { once, type Scene } from "./issued-line.ts";

/** All on 1 April. */
const april = once(async ({ system, sandbox }) => {
  const organisation = await sandbox("2026-04-01");
  await addBands(system, organisation);
  return organisation;
});

/** The first invoice of a subscription of 1 April. */
const first =
  (body: object, line = 0): Scene["issue"] =>
  async (parts) => {
    const organisation = await april(parts);
    const order = { start_date: "2026-04-01", price: undefined, ...body };
    const { invoice } = await parts.builder.subscribe(organisation, order);
    return { organisation, number: invoice.number, line };
  };

const units = "subscription.units it";
const noDiscount = "discount_percent: 0 percent, subscription.discount_percent it";

/** The scenes by their names. */
export const planScenes = {
  "a flat fee": {
    issue: first({ plan_code: "site", units: undefined }),
    reads: [
      "flat_fee/1",
      noDiscount,
      "sheet: flat_fee of site (49), plan.price site",
      "list = price_once sheet = 49 = 49",
      "value = less_percent list discount_percent = 49",
      "amount = round value places = 49",
      "49.0000",
    ],
  },
  "a price per unit": {
    issue: first({}),
    reads: [
      "plan/1",
      `units: 10 units, ${units}`,
      noDiscount,
      "sheet: per_unit of team (12.5), plan.price team",
      "priced = units_to_price units sheet = 10",
      "list = price_each priced sheet = 10 × 12.5 = 125",
      "value = less_percent list discount_percent = 125",
      "amount = round value places = 125",
      "125.0000",
    ],
  },
  "a walk through tiers": {
    issue: first({ plan_code: "growth", units: 12 }),
    reads: [
      "plan/1",
      `units: 12 units, ${units}`,
      noDiscount,
      "sheet: tiered of growth (5: 7, 10: 6.5, ∞: 6), plan.price growth",
      "priced = units_to_price units sheet = 12",
      "list = tier_walk priced sheet = 5 × 7 + 5 × 6.5 + 2 × 6 = 79.5",
      "value = less_percent list discount_percent = 79.5",
      "amount = round value places = 79.5",
      "79.5000",
    ],
  },
  "a volume band": {
    issue: first({ plan_code: "bands", units: 11 }),
    reads: [
      "plan/1",
      `units: 11 units, ${units}`,
      noDiscount,
      "sheet: volume of bands (10: 10, ∞: 8), plan.price bands",
      "priced = units_to_price units sheet = 11",
      "list = volume_band priced sheet = 11 × 8 = 88",
      "value = less_percent list discount_percent = 88",
      "amount = round value places = 88",
      "88.0000",
    ],
  },
  "a stair step": {
    issue: first({ plan_code: "steps", units: 12 }),
    reads: [
      "plan/1",
      `units: 12 units, ${units}`,
      noDiscount,
      "sheet: stairstep of steps (10: 50, 20: 100, ∞: 150), plan.price steps",
      "priced = units_to_price units sheet = 12",
      "list = stairstep priced sheet = 100 = 100",
      "value = less_percent list discount_percent = 100",
      "amount = round value places = 100",
      "100.0000",
    ],
  },
  "free units": {
    issue: first({ plan_code: "scale", units: 8 }),
    reads: [
      "plan/1",
      `units: 8 units, ${units}`,
      noDiscount,
      "sheet: volume of scale (2 free, 5: 7, 10: 6.5, ∞: 6), plan.price scale",
      "priced = units_to_price units sheet = 6",
      "list = volume_band priced sheet = 6 × 6.5 = 39",
      "value = less_percent list discount_percent = 39",
      "amount = round value places = 39",
      "39.0000",
    ],
  },
  "a discount": {
    issue: first({ discount_percent: "7.25" }),
    reads: [
      "plan/1",
      `units: 10 units, ${units}`,
      "discount_percent: 7.25 percent, subscription.discount_percent it",
      "sheet: per_unit of team (12.5), plan.price team",
      "priced = units_to_price units sheet = 10",
      "list = price_each priced sheet = 10 × 12.5 = 125",
      "value = less_percent list discount_percent = 115.9375",
      "amount = round value places = 115.94",
      "115.9400",
    ],
  },
  "a price override": {
    issue: first({ price: "9.995" }),
    reads: [
      "plan/1",
      `units: 10 units, ${units}`,
      noDiscount,
      "sheet: per_unit of team it (9.995), subscription.price_override it",
      "priced = units_to_price units sheet = 10",
      "list = price_each priced sheet = 10 × 9.995 = 99.95",
      "value = less_percent list discount_percent = 99.95",
      "amount = round value places = 99.95",
      "99.9500",
    ],
  },
  "a charge": {
    issue: first({ charges: [{ charge_code: "hardware-key", quantity: 3 }] }, 1),
    reads: [
      "charge/1",
      "quantity: 3 quantity, subscription.charges it",
      "price: 39.9 NZD, charge.price hardware-key",
      "product = mul quantity price = 119.7",
      "amount = round product places = 119.7",
      "119.7000",
    ],
  },
  "a charge at a requested price": {
    issue: first({ charges: [{ charge_code: "onboarding", quantity: 2, price: "199.5" }] }, 1),
    reads: [
      "charge/1",
      "quantity: 2 quantity, subscription.charges it",
      "price: 199.5 NZD, subscription.charges it",
      "product = mul quantity price = 399",
      "amount = round product places = 399",
      "399.0000",
    ],
  },
} as const satisfies Readonly<Record<string, Scene>>;
