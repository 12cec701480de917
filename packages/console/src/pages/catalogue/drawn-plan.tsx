/** The price curve of a plan, as it is drawn. */
import type { PricedPlan } from "../../../../../src/domain/catalogue/pricing/index.ts";
import { parseDecimal } from "../../../../../src/domain/money/decimal.ts";
import { PriceCurve } from "../../charts/price-curve.tsx";
import { PlanType } from "../../gen/billing/v1/catalogue_pb.ts";

/** What is drawn: a plan, or one that is being typed. */
export interface PlanToDraw {
  readonly type: PlanType;
  readonly currency: string;
  readonly price: string;
  readonly freeUnits: number;
  readonly minimumUnits: number;
  readonly unitLabels?: { readonly plural: string } | undefined;
  readonly tiers: readonly {
    readonly upTo?: number | undefined;
    readonly unitPrice?: string | undefined;
    readonly flatPrice?: string | undefined;
  }[];
}

/** Draws what the plan costs over its units. */
export function DrawnPlan({ plan }: { readonly plan: PlanToDraw }) {
  const word = plan.unitLabels?.plural ?? "units";
  return <PriceCurve plan={pricedOf(plan)} maxUnits={maxUnitsOf(plan)} unitWord={word} />;
}

/** Names of the types in the domain. */
const types = {
  [PlanType.FLAT_FEE]: "flat_fee",
  [PlanType.PER_UNIT]: "per_unit",
  [PlanType.TIERED]: "tiered",
  [PlanType.VOLUME]: "volume",
  [PlanType.STAIRSTEP]: "stairstep",
} as const;

/** The plan as the domain prices it. */
function pricedOf(plan: PlanToDraw): PricedPlan & { readonly currency: string } {
  const decimal = (text: string | undefined) => (text === undefined ? null : parseDecimal(text));
  return {
    type: types[plan.type as keyof typeof types],
    price: parseDecimal(plan.price),
    freeUnits: plan.freeUnits,
    currency: plan.currency,
    tiers: plan.tiers.map(({ upTo, unitPrice, flatPrice }) => ({
      upTo: upTo ?? null,
      unitPrice: decimal(unitPrice),
      flatPrice: decimal(flatPrice),
    })),
  };
}

/** The most units that the curve shows: beyond the last step, but no unit that has no price. */
function maxUnitsOf({ tiers, freeUnits, minimumUnits }: PlanToDraw): number {
  const bounds = tiers.flatMap(({ upTo }) => (upTo === undefined ? [] : [upTo + freeUnits]));
  const last = Math.max(...bounds, freeUnits, minimumUnits);
  if (tiers.at(-1)?.upTo !== undefined) return last;
  return Math.max(10, Math.ceil(last * 1.5));
}
