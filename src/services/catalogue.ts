/** PlanService and ChargeService: lists and retrieves plans and charges. */
import type { ChargeService, PlanService } from "../gen/proto/billing/v1/catalogue_pb.ts";
import { catalogueStatuses, wordOf } from "../present/enums.ts";
import { presentCharge, presentPlan, presentPlanMeter } from "../present/objects.ts";
import type { CatalogueFilters } from "../store/catalogue/catalogue.ts";
import { pageAfter } from "../store/database/page.ts";
import type { Implementation } from "../transport/rpc/implementation.ts";
import type { Deps } from "./deps.ts";
import { getObject, listMethod, type PagedRequest, pageOf } from "./reading.ts";

/** Returns the implementation of PlanService. Refuses `plan_not_found`. */
export function planService(deps: Deps): Implementation<typeof PlanService> {
  const get = getObject(deps, ({ plans }) => plans, "plan_not_found");
  const getMeters = getObject(deps, ({ plans }) => ({ get: plans.getMeters }), "plan_not_found");
  return {
    listPlans: listMethod(deps, ({ plans }) => plans, filtersOf, presentPlan),
    getPlan: async ({ id }, call) => ({ plan: presentPlan(await get(id, call)) }),
    listPlanMeters: async (request, call) => {
      const meters = await getMeters(request.id, call);
      const page = pageOf(request);
      const first = meters.findIndex(({ id }) => id === page.startingAfter);
      const from = page.startingAfter === null ? meters : meters.slice(first);
      const { data, hasMore } = pageAfter(from, page, ({ id }) => id);
      return {
        data: data.map((meter) => presentPlanMeter(request.id.toLowerCase(), meter)),
        hasMore,
      };
    },
  };
}

/** Returns the implementation of ChargeService. Refuses `charge_not_found`. */
export function chargeService(deps: Deps): Implementation<typeof ChargeService> {
  const get = getObject(deps, ({ charges }) => charges, "charge_not_found");
  return {
    listCharges: listMethod(deps, ({ charges }) => charges, filtersOf, presentCharge),
    getCharge: async ({ id }, call) => ({ charge: presentCharge(await get(id, call)) }),
  };
}

interface CatalogueRequest extends PagedRequest {
  readonly code?: string | undefined;
  readonly status?: number | undefined;
}

function filtersOf(request: CatalogueRequest): CatalogueFilters {
  return { code: request.code ?? null, status: wordOf(catalogueStatuses, request.status) };
}
