/** AccountMappingService: maps billed lines to the ledger's accounts and tax types. DOCUMENT-5 */
import { Refusal } from "../../../domain/refusal.ts";
import type {
  AccountMappingService,
  SetAccountMappingRequest,
} from "../../../gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import type { LedgerMappingKind } from "../../../ledger/port/ledger.ts";
import type {
  CatalogueMapping,
  Mapping,
  MappingTarget,
} from "../../../store/admin/ledger/account-mappings.ts";
import { membersOf } from "../../present/present.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  required,
  requireOrganisation,
} from "../dependencies.ts";
import { queryMappingOptions } from "./query-reference-data.ts";

/**
 * Implements the service. Refuses `organisation_not_found`, `plan_not_found`, `charge_not_found`,
 * `meter_not_found`, `ledger_not_connected`, `ledger_refused`, `ledger_unavailable`. Refuses
 * `invalid_parameter` for a code that the ledger does not have or that accepts no revenue.
 */
export function accountMappingService(
  deps: AdminDependencies,
): AdminImplementation<typeof AccountMappingService> {
  const { connections } = deps.store;
  return {
    getAccountMapping: async ({ organisation }) => {
      const { id } = await requireOrganisation(deps, organisation);
      const mappings = await connections.mappings(id);
      return {
        default: membersOf(mappings.default),
        plans: mappings.plans.map(presentEntry),
        charges: mappings.charges.map(presentEntry),
        meters: mappings.meters.map(presentEntry),
      };
    },
    setAccountMapping: async (request, call) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const target = targetOf(request, id);
      const mapping = {
        revenueAccount: request.revenueAccount ?? null,
        taxType: request.taxType ?? null,
      };
      if (!request.skipCheck) await requireMapping(deps, id, mapping);
      const saved = await connections.map(actorOf(call), id, target, mapping);
      return { mapping: membersOf(required(saved, `${target.kind}_not_found`)) };
    },
  };
}

function targetOf(
  { plan, charge, meter }: SetAccountMappingRequest,
  organisationId: string,
): MappingTarget {
  const targets = Object.entries({ plan, charge, meter }).flatMap(([kind, id]): MappingTarget[] =>
    id === undefined ? [] : [{ kind: kind as MappingTarget["kind"], id }],
  );
  const [first, second] = targets;
  if (first !== undefined && second !== undefined) {
    const message = `${second.kind} and ${first.kind} exclude each other`;
    throw new Refusal("invalid_parameter", message, second.kind);
  }
  return first ?? { kind: "organisation", id: organisationId };
}

/**
 * Checks that the ledger has account and tax type. Refuses `ledger_not_connected`,
 * `ledger_refused`, `ledger_unavailable`. Refuses `invalid_parameter` for a code that the ledger
 * does not have or that accepts no revenue.
 */
export async function requireMapping(
  deps: AdminDependencies,
  organisationId: string,
  { revenueAccount, taxType }: Mapping,
): Promise<void> {
  await requireOption(deps, organisationId, "accounts", revenueAccount, "revenue_account");
  await requireOption(deps, organisationId, "tax_rates", taxType, "tax_type");
}

async function requireOption(
  deps: AdminDependencies,
  organisationId: string,
  kind: LedgerMappingKind,
  code: string | null,
  param: string,
): Promise<void> {
  if (code === null) return;
  const options = await queryMappingOptions(deps, organisationId, kind);
  const found = options.find((option) => option.code === code);
  if (found === undefined)
    throw new Refusal("invalid_parameter", `The ledger has no ${param} ${code}.`, param);
  if (!found.active || !found.usableForRevenue) {
    throw new Refusal(
      "invalid_parameter",
      `${param}: ${code} (${found.name}) accepts no revenue in the ledger.`,
      param,
    );
  }
}

function presentEntry({ id, code, name, ...mapping }: CatalogueMapping) {
  return { id, code, name, mapping: membersOf(mapping) };
}
