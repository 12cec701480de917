/** ChargeService of the admin API: one-off fees of the catalogue. CATALOGUE-7, CATALOGUE-2 */

import type { Charge } from "../../../domain/catalogue/plan.ts";
import { parseDecimal } from "../../../domain/money/decimal.ts";
import type {
  ChargeService,
  UpdateChargeRequest,
} from "../../../gen/proto/billing/admin/v1/catalogue_pb.ts";
import { catalogueStatuses } from "../../../present/enums.ts";
import { presentCharge } from "../../present/catalogue.ts";
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

/**
 * Implements the service. Refuses `organisation_not_found`, `charge_not_found`,
 * `charge_code_taken`, `charge_in_use`, `invalid_state` (status), `invalid_parameter`. The last one
 * also for a currency of which the connected ledger has too few decimal places. CATALOGUE-10
 */
export function chargeService(deps: AdminDependencies): AdminImplementation<typeof ChargeService> {
  const charges = catalogueMethods(deps, {
    store: deps.store.charges,
    present: presentCharge,
    statuses: catalogueStatuses,
    notFound: "charge_not_found",
  });
  return {
    createCharge: async (request, call) => {
      const organisation = await requireOrganisation(deps, request.organisation);
      requireCurrency(request.currency, "currency");
      const currency = request.currency ?? organisation.defaultCurrency;
      const unfit = await refusalOfCurrency(deps, organisation.id, currency);
      if (unfit !== null) throw unfit;
      const charge: Charge = {
        id: identityOf(call, "charge"),
        code: request.code,
        name: request.name,
        description: request.description || null,
        currency,
        price: parseDecimal(request.price),
        allowsPriceOverride: request.allowsPriceOverride,
        status: "draft",
        createdAt: nowOf(organisation),
        revenueAccount: null,
        taxType: null,
      };
      return { charge: await charges.create(call, organisation.id, charge) };
    },
    getCharge: async (request) => ({ charge: await charges.get(request) }),
    listCharges: charges.list,
    updateCharge: async (request, call) => {
      const { id: organisationId } = await requireOrganisation(deps, request.organisation);
      requireCurrency(request.currency, "currency");
      const unfit = await refusalOfCurrency(deps, organisationId, request.currency);
      const decide = (before: Charge) => {
        if (unfit !== null && request.currency !== before.currency) throw unfit;
        return changedCharge(before, request);
      };
      return { charge: await charges.update(call, { organisationId, id: request.id }, decide) };
    },
    setChargeStatus: async (request, call) => ({ charge: await charges.setStatus(request, call) }),
  };
}

function changedCharge(before: Charge, request: UpdateChargeRequest): Charge {
  return {
    ...before,
    code: request.code ?? before.code,
    name: request.name ?? before.name,
    // An empty description clears the stored one.
    description:
      request.description === undefined ? before.description : request.description || null,
    currency: request.currency ?? before.currency,
    price: request.price === undefined ? before.price : parseDecimal(request.price),
    allowsPriceOverride: request.allowsPriceOverride ?? before.allowsPriceOverride,
  };
}
