/** The price curve of a plan. */
import type { PricedPlan } from "../../../../../src/domain/catalogue/pricing/index.ts";
import { parseDecimal } from "../../../../../src/domain/money/decimal.ts";
import { PriceCurve } from "../../charts/price-curve.tsx";
import type { Plan } from "../../gen/billing/admin/v1/catalogue_pb.ts";
import { PlanType } from "../../gen/billing/v1/catalogue_pb.ts";

/** Draws what the plan costs over its units. */
export function PlanCurve({ plan }: { readonly plan: Plan }) {
  const word = plan.unitLabels?.plural ?? "units";
  return <PriceCurve plan={pricedOf(plan)} most={mostUnits(plan)} unitWord={word} />;
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
function pricedOf(plan: Plan): PricedPlan & { readonly currency: string } {
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
function mostUnits({ tiers, freeUnits, minimumUnits }: Plan): number {
  const bounds = tiers.flatMap(({ upTo }) => (upTo === undefined ? [] : [upTo + freeUnits]));
  const last = Math.max(...bounds, freeUnits, minimumUnits);
  if (tiers.at(-1)?.upTo !== undefined) return last;
  return Math.max(10, Math.ceil(last * 1.5));
}
