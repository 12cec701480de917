/**
 * Reads the meters and tiers of a plan from a request: resolves codes and ids, parses prices.
 * CATALOGUE-4, CATALOGUE-8
 */

import type { Meter, PlanMeter } from "../../../domain/catalogue/meter.ts";
import type { PlanType, Tier } from "../../../domain/catalogue/plan.ts";
import { hasTiers } from "../../../domain/catalogue/pricing/index.ts";
import { type Decimal, parseDecimal } from "../../../domain/money/decimal.ts";
import { Refusal } from "../../../domain/refusal.ts";
import type {
  PlanMeterInput,
  TierInput,
} from "../../../gen/proto/billing/admin/v1/catalogue_pb.ts";
import { planTypes, wordOf } from "../../../present/enums.ts";
import type { MeterStore } from "../../../store/admin/catalogue/meters.ts";

/**
 * The meters of a plan, in the order of the request. Each refusal names its place:
 * `meters.0.meter`. Refuses `meter_not_found` (also for another organisation's meter) and
 * `meter_inactive`. Refuses `invalid_parameter` for a missing price. The prices themselves are not
 * validated here.
 */
export async function readMeterInputs(
  store: MeterStore,
  organisationId: string,
  inputs: readonly PlanMeterInput[],
): Promise<readonly PlanMeter[]> {
  if (inputs.length === 0) return [];
  const named = await store.named(
    organisationId,
    inputs.map(({ meter }) => meter),
  );
  return inputs.map((input, index): PlanMeter => {
    const path = `meters.${index}`;
    const meter = requireMeter(named, input.meter, `${path}.meter`);
    const type = planTypeOf(input.type, `${path}.type`);
    const price = priceOf(type, input.price, `${path}.price`);
    return { ...meter, type, price, tiers: input.tiers.map(tierOf) };
  });
}

function requireMeter(named: readonly Meter[], idOrCode: string, param: string): Meter {
  const id = idOrCode.toLowerCase();
  // A code may equal an id. The id wins.
  const meter = named.find((each) => each.id === id) ?? named.find(({ code }) => code === idOrCode);
  if (meter === undefined)
    throw new Refusal("meter_not_found", "There is no meter with this id or code.", param);
  if (meter.status === "inactive")
    throw new Refusal("meter_inactive", `The meter ${meter.code} is not active.`, param);
  return meter;
}

/** The type as the request has it. */
export function planTypeOf(type: number, param: string): PlanType {
  const word = wordOf(planTypes, type);
  if (word === null) throw new Refusal("invalid_parameter", `${param} is required`, param);
  return word;
}

/**
 * The price as the request has it. Without tiers it is required: a missing price must not become a
 * plan or usage that costs nothing.
 */
export function priceOf(type: PlanType, price: string | undefined, param: string): Decimal {
  if (price === undefined && !hasTiers(type))
    throw new Refusal("invalid_parameter", `${param} is required`, param);
  return parseDecimal(price ?? "0");
}

/** A tier as the request has it. Its prices are not validated here. */
export function tierOf({ upTo, unitPrice, flatPrice }: TierInput): Tier {
  return {
    upTo: upTo ?? null,
    unitPrice: unitPrice === undefined ? null : parseDecimal(unitPrice),
    flatPrice: flatPrice === undefined ? null : parseDecimal(flatPrice),
  };
}
