/** Presents plans, charges and meters as messages of the admin contract. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Meter, MeteredPlan, PlanMeter } from "../../domain/catalogue/meter.ts";
import type { Charge } from "../../domain/catalogue/plan.ts";
import { formatDecimal } from "../../domain/money/decimal.ts";
import type {
  ChargeSchema,
  PlanMeterSchema,
  PlanSchema,
} from "../../gen/proto/billing/admin/v1/catalogue_pb.ts";
import type { MeterSchema } from "../../gen/proto/billing/admin/v1/meters_pb.ts";
import { planTypes } from "../../present/enums.ts";
import {
  presentCharge as presentPublicCharge,
  presentPlan as presentPublicPlan,
  presentTiers,
} from "../../present/objects.ts";
import type { UsedEntry } from "../../store/admin/catalogue/catalogue.ts";
import { meterStatuses } from "./enums.ts";
import { membersOf } from "./present.ts";

/** A plan with its meters, its account mapping and the number of its subscriptions. */
export function presentPlan({
  entry: plan,
  uses: subscriptions,
}: UsedEntry<MeteredPlan>): MessageInitShape<typeof PlanSchema> {
  const { object: _, $typeName: __, ...shown } = presentPublicPlan(plan);
  return {
    ...shown,
    revenueAccount: plan.revenueAccount ?? undefined,
    taxType: plan.taxType ?? undefined,
    subscriptions,
    meters: plan.meters.map(presentPlanMeter),
  };
}

function presentPlanMeter({
  id,
  code,
  name,
  ...price
}: PlanMeter): MessageInitShape<typeof PlanMeterSchema> {
  return {
    meter: id,
    code,
    name,
    type: planTypes[price.type],
    price: formatDecimal(price.price),
    tiers: presentTiers(price.tiers),
  };
}

/** A charge with its account mapping and the number of its invoice lines. */
export function presentCharge({
  entry: charge,
  uses: invoiceLines,
}: UsedEntry<Charge>): MessageInitShape<typeof ChargeSchema> {
  const { object: _, $typeName: __, ...shown } = presentPublicCharge(charge);
  return {
    ...shown,
    revenueAccount: charge.revenueAccount ?? undefined,
    taxType: charge.taxType ?? undefined,
    invoiceLines,
  };
}

/** A meter with its account mapping and the number of its plans. */
export function presentMeter({
  entry: meter,
  uses: plans,
}: UsedEntry<Meter>): MessageInitShape<typeof MeterSchema> {
  return {
    ...membersOf(meter),
    status: meterStatuses[meter.status],
    plans,
    created: meter.createdAt.toISOString(),
  };
}
