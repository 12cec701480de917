/** ChargeService of the admin API: one-off fees of the catalogue. CATALOGUE-7, CATALOGUE-2 */

import type { Charge } from "../../../domain/catalogue/plan.ts";
import { parseDecimal } from "../../../domain/money/decimal.ts";
import { Refusal } from "../../../domain/refusal.ts";
import type {
  ChargeService,
  UpdateChargeRequest,
} from "../../../gen/proto/billing/admin/v1/catalogue_pb.ts";
import { catalogueStatuses, wordOf } from "../../../services/enums.ts";
import type { CatalogueRefusal } from "../../../store/admin/catalogue/catalogue.ts";
import type { AdminCharge } from "../../../store/admin/catalogue/charges.ts";
import { presentCharge } from "../../present/catalogue.ts";
import { requireCurrency } from "../../present/read-values.ts";
import {
  type AdminImplementation,
  type AdminParts,
  actorOf,
  identityOf,
  nowOf,
  pageOf,
  required,
  requireOrganisation,
  requireSame,
} from "../dependencies.ts";
import { refusalOfCurrency } from "./fitting-currency.ts";

/**
 * Implements the service. Refuses `organisation_not_found`, `charge_not_found`,
 * `charge_code_taken`, `charge_in_use`, `invalid_state` (status), `invalid_parameter`. The last one
 * also for a currency of which the connected ledger keeps too few decimal places. CATALOGUE-10
 */
export function chargeService(parts: AdminParts): AdminImplementation<typeof ChargeService> {
  const { charges } = parts.store;
  return {
    createCharge: async (request, call) => {
      const organisation = await requireOrganisation(parts, request.organisation);
      requireCurrency(request.currency, "currency");
      const currency = request.currency ?? organisation.defaultCurrency;
      const unfit = await refusalOfCurrency(parts, organisation.id, currency);
      if (unfit !== null) throw unfit;
      const made = accepted(
        await charges.create(actorOf(call), organisation.id, {
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
        }),
      );
      requireSame(made.charge.code === request.code);
      return { charge: presentCharge(made) };
    },
    getCharge: async ({ organisation, id }) => {
      const owner = await requireOrganisation(parts, organisation);
      return {
        charge: presentCharge(required(await charges.get(owner.id, id), "charge_not_found")),
      };
    },
    listCharges: async (request) => {
      const { id } = await requireOrganisation(parts, request.organisation);
      const filters = {
        code: request.code ?? null,
        status: wordOf(catalogueStatuses, request.status),
      };
      const { data, hasMore } = await charges.list(id, filters, pageOf(request));
      return { data: data.map(presentCharge), hasMore };
    },
    updateCharge: async (request, call) => {
      const { id } = await requireOrganisation(parts, request.organisation);
      requireCurrency(request.currency, "currency");
      const unfit = await refusalOfCurrency(parts, id, request.currency);
      const decide = (before: Charge) => {
        if (unfit !== null && request.currency !== before.currency) throw unfit;
        return changedCharge(before, request);
      };
      const charge = accepted(await charges.update(actorOf(call), id, request.id, decide));
      return { charge: presentCharge(required(charge, "charge_not_found")) };
    },
    setChargeStatus: async ({ organisation, id, status }, call) => {
      const owner = await requireOrganisation(parts, organisation);
      const wanted = wordOf(catalogueStatuses, status) ?? "draft";
      const charge = await charges.setStatus(actorOf(call), owner.id, id, wanted);
      return { charge: presentCharge(required(charge, "charge_not_found")) };
    },
  };
}

function accepted<T extends AdminCharge | null>(outcome: T | CatalogueRefusal): T {
  if (outcome === "code_taken")
    throw new Refusal("charge_code_taken", "Another charge has this code.", "code");
  if (outcome === "in_use") {
    throw new Refusal(
      "charge_in_use",
      "The charge was billed: its code, price and currency stay. Make another one.",
    );
  }
  return outcome;
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
