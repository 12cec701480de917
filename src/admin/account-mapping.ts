/** AccountMappingService: which accounts and tax types lines go to. decisions §6. */
import { Refusal } from "../domain/refusal.ts";
import type {
  AccountMappingService,
  SetAccountMappingRequest,
} from "../gen/proto/billing/admin/v1/ledger_connections_pb.ts";
import type { LedgerMappingKind } from "../ledger/port.ts";
import type { CatalogueMapping, Mapping, MappingTarget } from "../store/admin/connections.ts";
import { askLedger } from "./ledger-answers.ts";
import { type AdminImplementation, type AdminParts, actorOf, required, requireOrganisation } from "./parts.ts";
import { present } from "./present.ts";

/**
 * The methods of the service. Refuses `organisation_not_found`, `plan_not_found`, `charge_not_found`, `ledger_not_connected`,
 * `ledger_refused`, `ledger_unavailable`, and `invalid_parameter` for a code that the ledger does not have or takes no revenue on.
 */
export function accountMappingService(parts: AdminParts): AdminImplementation<typeof AccountMappingService> {
  const { connections } = parts.store;
  return {
    getAccountMapping: async ({ organisation }) => {
      const { id } = await requireOrganisation(parts, organisation);
      const mappings = await connections.mappings(id);
      return {
        default: presentMapping(mappings.default),
        plans: mappings.plans.map(presentEntry),
        charges: mappings.charges.map(presentEntry),
      };
    },
    setAccountMapping: async (request, call) => {
      const { id } = await requireOrganisation(parts, request.organisation);
      const target = targetOf(request, id);
      const mapping = { revenueAccount: request.revenueAccount ?? null, taxType: request.taxType ?? null };
      if (!request.skipCheck) {
        await requireOption(parts, id, "accounts", mapping.revenueAccount, "revenue_account");
        await requireOption(parts, id, "tax_rates", mapping.taxType, "tax_type");
      }
      const saved = await connections.map(actorOf(call), id, target, mapping);
      return {
        mapping: presentMapping(required(saved, target.kind === "plan" ? "plan_not_found" : "charge_not_found")),
      };
    },
  };
}

function targetOf({ plan, charge }: SetAccountMappingRequest, organisationId: string): MappingTarget {
  if (plan !== undefined && charge !== undefined) {
    throw new Refusal("invalid_parameter", "charge must not be given together with plan", "charge");
  }
  if (plan !== undefined) return { kind: "plan", id: plan };
  return charge === undefined ? { kind: "organisation", id: organisationId } : { kind: "charge", id: charge };
}

async function requireOption(
  parts: AdminParts,
  organisationId: string,
  kind: LedgerMappingKind,
  code: string | null,
  param: string,
): Promise<void> {
  if (code === null) return;
  const options = await askLedger(parts, organisationId, (ledger, call) => ledger.listMappingOptions(call, kind));
  const found = options.find((option) => option.code === code);
  if (found === undefined) throw new Refusal("invalid_parameter", `The ledger has no ${param} ${code}.`, param);
  if (!found.active || !found.usableForRevenue) {
    throw new Refusal("invalid_parameter", `${param}: ${code} (${found.name}) takes no revenue in the ledger.`, param);
  }
}

function presentMapping({ revenueAccount, taxType }: Mapping) {
  return { ...present("revenueAccount", revenueAccount), ...present("taxType", taxType) };
}

function presentEntry({ id, code, name, ...mapping }: CatalogueMapping) {
  return { id, code, name, mapping: presentMapping(mapping) };
}
