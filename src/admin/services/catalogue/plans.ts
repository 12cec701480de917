/**
 * PlanService of the admin API: creates drafts, changes plans that no subscription uses, and sets
 * their status. CATALOGUE-2, CATALOGUE-3
 */

import type { MeteredPlan, PlanMeter } from "../../../domain/catalogue/meter.ts";
import { parseDecimal } from "../../../domain/money/decimal.ts";
import type {
  CreatePlanRequest,
  PlanService,
  UpdatePlanRequest,
} from "../../../gen/proto/billing/admin/v1/catalogue_pb.ts";
import { catalogueStatuses } from "../../../present/enums.ts";
import { presentPlan } from "../../present/catalogue.ts";
import { requireCurrency } from "../../present/read-values.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  identityOf,
  nowOf,
  requireOrganisation,
} from "../dependencies.ts";
import { catalogueMethods } from "./catalogue-methods.ts";
import { refusalOfCurrency } from "./fitting-currency.ts";
import { planTypeOf, priceOf, readMeterInputs, tierOf } from "./plan-meters.ts";

/**
 * Implements the service. Refuses `organisation_not_found`, `plan_not_found`, `plan_code_taken`,
 * `plan_in_use`, `meter_not_found`, `meter_inactive`, `invalid_state` (status). Refuses
 * `invalid_parameter` for inconsistent prices (`checkMeteredPlan`). Also for a currency of which
 * the connected ledger has too few decimal places. CATALOGUE-10
 */
export function planService(deps: AdminDependencies): AdminImplementation<typeof PlanService> {
  const plans = catalogueMethods(deps, {
    store: deps.store.plans,
    present: presentPlan,
    statuses: catalogueStatuses,
    notFound: "plan_not_found",
  });
  return {
    createPlan: async (request, call) => {
      const organisation = await requireOrganisation(deps, request.organisation);
      requireCurrency(request.currency, "currency");
      const meters = await readMeterInputs(deps.store.meters, organisation.id, request.meters);
      const currency = request.currency ?? organisation.defaultCurrency;
      const unfit = await refusalOfCurrency(deps, organisation.id, currency);
      if (unfit !== null) throw unfit;
      const id = identityOf(call, "plan");
      const plan = newPlan(request, meters, id, currency, nowOf(organisation));
      return { plan: await plans.create(call, organisation.id, plan) };
    },
    getPlan: async (request) => ({ plan: await plans.get(request) }),
    listPlans: plans.list,
    updatePlan: async (request, call) => {
      const { id: organisationId } = await requireOrganisation(deps, request.organisation);
      requireCurrency(request.currency, "currency");
      const unfit = await refusalOfCurrency(deps, organisationId, request.currency);
      const meters =
        request.meters &&
        (await readMeterInputs(deps.store.meters, organisationId, request.meters.meters));
      const decide = (before: MeteredPlan) => {
        if (unfit !== null && request.currency !== before.currency) throw unfit;
        return changedPlan(before, request, meters ?? before.meters);
      };
      return { plan: await plans.update(call, { organisationId, id: request.id }, decide) };
    },
    setPlanStatus: async (request, call) => ({ plan: await plans.setStatus(request, call) }),
  };
}

function newPlan(
  request: CreatePlanRequest,
  meters: readonly PlanMeter[],
  id: string,
  currency: string,
  now: Date,
): MeteredPlan {
  const type = planTypeOf(request.type, "type");
  return {
    id,
    code: request.code,
    name: request.name,
    type,
    interval: { unit: "month", count: request.intervalMonths ?? 1 },
    currency,
    price: priceOf(type, request.price, "price"),
    minimumUnits: request.minimumUnits ?? 0,
    freeUnits: request.freeUnits ?? 0,
    unitLabels: { singular: request.unitSingular ?? "unit", plural: request.unitPlural ?? "units" },
    allowsPriceOverride: request.allowsPriceOverride,
    status: "draft",
    tiers: request.tiers.map(tierOf),
    createdAt: now,
    revenueAccount: null,
    taxType: null,
    meters,
  };
}

function changedPlan(
  before: MeteredPlan,
  request: UpdatePlanRequest,
  meters: readonly PlanMeter[],
): MeteredPlan {
  const { singular, plural } = before.unitLabels;
  return {
    ...before,
    code: request.code ?? before.code,
    name: request.name ?? before.name,
    interval: { unit: "month", count: request.intervalMonths ?? before.interval.count },
    currency: request.currency ?? before.currency,
    price: request.price === undefined ? before.price : parseDecimal(request.price),
    minimumUnits: request.minimumUnits ?? before.minimumUnits,
    freeUnits: request.freeUnits ?? before.freeUnits,
    unitLabels: {
      singular: request.unitSingular ?? singular,
      plural: request.unitPlural ?? plural,
    },
    allowsPriceOverride: request.allowsPriceOverride ?? before.allowsPriceOverride,
    tiers: request.tiers === undefined ? before.tiers : request.tiers.tiers.map(tierOf),
    meters,
  };
}
