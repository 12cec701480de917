/** MeterService of the admin API: the meters of which usage is reported. CATALOGUE-8 */
import type { Meter } from "../../../domain/catalogue/meter.ts";
import type {
  CreateMeterRequest,
  MeterService,
  UpdateMeterRequest,
} from "../../../gen/proto/billing/admin/v1/meters_pb.ts";
import { presentMeter } from "../../present/catalogue.ts";
import { meterStatuses } from "../../present/enums.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  identityOf,
  nowOf,
  requireOrganisation,
} from "../dependencies.ts";
import { requireMapping } from "../ledger/account-mapping.ts";
import { catalogueMethods } from "./catalogue-methods.ts";

/**
 * Implements the service. Refuses `organisation_not_found`, `meter_not_found`, `meter_code_taken`,
 * `invalid_parameter`. Account and tax type are refused as SetAccountMapping refuses them.
 */
export function meterService(deps: AdminDependencies): AdminImplementation<typeof MeterService> {
  const meters = catalogueMethods(deps, {
    store: deps.store.meters,
    present: presentMeter,
    statuses: meterStatuses,
    notFound: "meter_not_found",
  });
  return {
    createMeter: async (request, call) => {
      const organisation = await requireOrganisation(deps, request.organisation);
      await requireAccounts(deps, organisation.id, request);
      const meter = newMeter(request, identityOf(call, "meter"), nowOf(organisation));
      return { meter: await meters.create(call, organisation.id, meter) };
    },
    getMeter: async (request) => ({ meter: await meters.get(request) }),
    listMeters: meters.list,
    updateMeter: async (request, call) => {
      const { id: organisationId } = await requireOrganisation(deps, request.organisation);
      await requireAccounts(deps, organisationId, request);
      const decide = (before: Meter) => changedMeter(before, request);
      return { meter: await meters.update(call, { organisationId, id: request.id }, decide) };
    },
    setMeterStatus: async (request, call) => ({ meter: await meters.setStatus(request, call) }),
  };
}

async function requireAccounts(
  deps: AdminDependencies,
  organisationId: string,
  { revenueAccount, taxType, skipCheck }: CreateMeterRequest | UpdateMeterRequest,
): Promise<void> {
  const mapping = { revenueAccount: revenueAccount || null, taxType: taxType || null };
  if (!skipCheck) await requireMapping(deps, organisationId, mapping);
}

function newMeter(request: CreateMeterRequest, id: string, createdAt: Date): Meter {
  const { code, name, unitLabel, revenueAccount, taxType } = request;
  return {
    id,
    code,
    name,
    unitLabel: unitLabel ?? "unit",
    status: "active",
    createdAt,
    revenueAccount: revenueAccount ?? null,
    taxType: taxType ?? null,
  };
}

function changedMeter(before: Meter, request: UpdateMeterRequest): Meter {
  const { name, unitLabel, revenueAccount, taxType } = request;
  return {
    ...before,
    name: name ?? before.name,
    unitLabel: unitLabel ?? before.unitLabel,
    // An empty code clears the stored one.
    revenueAccount: revenueAccount === undefined ? before.revenueAccount : revenueAccount || null,
    taxType: taxType === undefined ? before.taxType : taxType || null,
  };
}
