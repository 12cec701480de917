/** What something costs, as it is typed: a plan, or a meter on it. */
import type { Tier } from "../../gen/billing/v1/catalogue_pb.ts";
import { PlanType } from "../../gen/billing/v1/catalogue_pb.ts";

/** A tier as it is typed. The last one may have no end. */
export interface TypedTier {
  readonly upTo: string;
  readonly each: string;
  readonly once: string;
}

/** A price, or tiers where the type has them. */
export interface TypedPrices {
  readonly type: PlanType;
  readonly price: string;
  readonly tiers: readonly TypedTier[];
}

const withTiers: readonly PlanType[] = [PlanType.TIERED, PlanType.VOLUME, PlanType.STAIRSTEP];

const priceForm = /^(0|[1-9]\d{0,8})(\.\d{1,4})?$/;

/** Whether the type is priced by tiers. */
export function hasTiers(type: PlanType): boolean {
  return withTiers.includes(type);
}

const shortPrice = (price: string) => price.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");

/** Two tiers without prices. */
export const emptyTiers: readonly TypedTier[] = [
  { upTo: "10", each: "", once: "" },
  { upTo: "", each: "", once: "" },
];

/** Returns what a form begins with for something that has prices. */
export function typedPrices(of: {
  readonly type: PlanType;
  readonly price: string;
  readonly tiers: readonly Tier[];
}): TypedPrices {
  const { type, price, tiers } = of;
  if (tiers.length === 0) return { type, price: shortPrice(price), tiers: emptyTiers };
  const typed = tiers.map(({ upTo, unitPrice, flatPrice }) => ({
    upTo: upTo === undefined ? "" : String(upTo),
    each: unitPrice === undefined ? "" : shortPrice(unitPrice),
    once: flatPrice === undefined ? "" : shortPrice(flatPrice),
  }));
  return { type, price: "", tiers: typed };
}

/** Returns the members of a request, or null while something of them is missing. */
export function pricesOf({ type, price, tiers }: TypedPrices) {
  if (!hasTiers(type)) return priceForm.test(price) ? { price, tiers: [] } : null;
  const isWhole = tiers.every(
    ({ upTo, each, once }, index) =>
      each + once !== "" &&
      [each, once].every((text) => text === "" || priceForm.test(text)) &&
      (index === tiers.length - 1 || /^[1-9]\d{0,8}$/.test(upTo)),
  );
  if (!isWhole) return null;
  return {
    tiers: tiers.map(({ upTo, each, once }) => ({
      ...(upTo !== "" && { upTo: Number(upTo) }),
      ...(each !== "" && type !== PlanType.STAIRSTEP && { unitPrice: each }),
      ...(once !== "" && { flatPrice: once }),
    })),
  };
}
