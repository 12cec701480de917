/**
 * The catalogue and customers of the first data: a plan of each type, a meter, charges and
 * customers. The customers' contacts are created in the demo ledger.
 */

import type { Meter, MeteredPlan, MeterPrice } from "../../../../src/domain/catalogue/meter.ts";
import type { Charge, Plan, PlanType, Tier } from "../../../../src/domain/catalogue/plan.ts";
import { decimalOf, parseDecimal, ZERO } from "../../../../src/domain/money/decimal.ts";
import type { LedgerContactDraft } from "../../../../src/ledger/port/ledger.ts";
import { newId } from "../../../../src/store/database/ids.ts";
import type { OrganisationToSave } from "./provision.ts";

const seats = { singular: "seat", plural: "seats" };

interface PlanSketch extends Partial<Plan> {
  readonly code: string;
  readonly name: string;
  readonly type: PlanType;
  /** The price of the plan's usage. */
  readonly usage?: MeterPrice;
}

const tier = (upTo: number | null, unitPrice: string | null, flatPrice: string | null): Tier => ({
  upTo,
  unitPrice: unitPrice === null ? null : parseDecimal(unitPrice),
  flatPrice: flatPrice === null ? null : parseDecimal(flatPrice),
});

/**
 * The prices are those of the worked cases, so that a reader can check an invoice against a
 * published amount.
 */
const sketches: readonly PlanSketch[] = [
  {
    code: "site",
    name: "Site licence",
    type: "flat_fee",
    price: decimalOf(49),
    allowsPriceOverride: true,
  },
  {
    code: "team",
    name: "Team",
    type: "per_unit",
    price: parseDecimal("12.50"),
    minimumUnits: 1,
    allowsPriceOverride: true,
    // The first thousand units of a period are free.
    usage: {
      type: "tiered",
      price: ZERO,
      tiers: [tier(1000, "0", null), tier(null, "0.002", null)],
    },
  },
  {
    code: "growth",
    name: "Growth",
    type: "tiered",
    tiers: [tier(5, "7", null), tier(10, "6.5", null), tier(null, "6", null)],
  },
  {
    code: "scale",
    name: "Scale",
    type: "volume",
    freeUnits: 2,
    tiers: [tier(5, "7", null), tier(10, "6.5", null), tier(null, "6", null)],
  },
  {
    code: "steps",
    name: "Steps",
    type: "stairstep",
    tiers: [tier(10, null, "50"), tier(20, null, "100"), tier(null, null, "150")],
  },
];

/**
 * Returns the catalogue of a new organisation in this currency. With `metered` it has a meter, and
 * the plan `team` has a price for it.
 */
export function demoCatalogue(
  currency: string,
  now: Date,
  metered = false,
): Pick<OrganisationToSave, "meters" | "plans" | "charges"> {
  const meters = metered ? [demoMeter(now)] : [];
  return {
    meters,
    plans: demoPlans(currency, now, meters[0]),
    charges: demoCharges(currency, now),
  };
}

function demoMeter(now: Date): Meter {
  const shared = { status: "active", createdAt: now, revenueAccount: null, taxType: null } as const;
  return { ...shared, id: newId(), code: "api-calls", name: "API calls", unitLabel: "call" };
}

/**
 * Returns an active monthly plan of each type in this currency. With `meter`, the plan `team` has a
 * price for it.
 */
export function demoPlans(currency: string, now: Date, meter?: Meter): readonly MeteredPlan[] {
  return sketches.map(({ usage, ...sketch }) => ({
    id: newId(),
    interval: { unit: "month", count: 1 },
    currency,
    price: ZERO,
    minimumUnits: 0,
    freeUnits: 0,
    unitLabels: sketch.type === "flat_fee" ? { singular: "unit", plural: "units" } : seats,
    allowsPriceOverride: false,
    status: "active",
    tiers: [],
    createdAt: now,
    revenueAccount: null,
    taxType: null,
    meters: usage === undefined || meter === undefined ? [] : [{ ...meter, ...usage }],
    ...sketch,
  }));
}

/** Returns two one-off charges in this currency. */
export function demoCharges(currency: string, now: Date): readonly Charge[] {
  const shared = {
    currency,
    status: "active",
    createdAt: now,
    revenueAccount: null,
    taxType: null,
  } as const;
  return [
    {
      ...shared,
      id: newId(),
      code: "onboarding",
      name: "Onboarding",
      description: "Two hours with our team",
      price: decimalOf(250),
      allowsPriceOverride: true,
    },
    {
      ...shared,
      id: newId(),
      code: "hardware-key",
      name: "Hardware key",
      description: null,
      price: parseDecimal("39.90"),
      allowsPriceOverride: false,
    },
  ];
}

/** The contacts that become the first customers. */
export const demoContacts: readonly LedgerContactDraft[] = [
  {
    code: "ACME",
    name: "Acme Ltd",
    firstName: "Ada",
    lastName: "Lovelace",
    email: "billing@acme.example",
  },
  {
    code: "GLOBEX",
    name: "Globex Pty",
    firstName: "Grace",
    lastName: "Hopper",
    email: "accounts@globex.example",
  },
  {
    code: "INITECH",
    name: "Initech",
    firstName: null,
    lastName: null,
    email: "ap@initech.example",
  },
];
