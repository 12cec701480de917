/** MeterService of the admin API: the meters of which usage is reported. CATALOGUE-8 */
import type { Meter } from "../../../domain/catalogue/meter.ts";
import { Refusal } from "../../../domain/refusal.ts";
import type {
  CreateMeterRequest,
  MeterService,
  UpdateMeterRequest,
} from "../../../gen/proto/billing/admin/v1/meters_pb.ts";
import { wordOf } from "../../../services/enums.ts";
import type { CatalogueRefusal } from "../../../store/admin/catalogue/catalogue.ts";
import type { AdminMeter } from "../../../store/admin/catalogue/meters.ts";
import { presentMeter } from "../../present/catalogue.ts";
import { meterStatuses } from "../../present/enums.ts";
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
import { requireMapping } from "../ledger/account-mapping.ts";

/**
 * Implements the service. Refuses `organisation_not_found`, `meter_not_found`, `meter_code_taken`,
 * `invalid_parameter`. Account and tax type are refused as SetAccountMapping refuses them.
 */
export function meterService(parts: AdminParts): AdminImplementation<typeof MeterService> {
  const { meters } = parts.store;
  return {
    createMeter: async (request, call) => {
      const organisation = await requireOrganisation(parts, request.organisation);
      await requireAccounts(parts, organisation.id, request);
      const meter = newMeter(request, identityOf(call, "meter"), nowOf(organisation));
      const made = accepted(await meters.create(actorOf(call), organisation.id, meter));
      requireSame(made.meter.code === request.code);
      return { meter: presentMeter(made) };
    },
    getMeter: async ({ organisation, id }) => {
      const owner = await requireOrganisation(parts, organisation);
      return { meter: presentMeter(required(await meters.get(owner.id, id), "meter_not_found")) };
    },
    listMeters: async (request) => {
      const { id } = await requireOrganisation(parts, request.organisation);
      const filters = { code: request.code ?? null, status: wordOf(meterStatuses, request.status) };
      const { data, hasMore } = await meters.list(id, filters, pageOf(request));
      return { data: data.map(presentMeter), hasMore };
    },
    updateMeter: async (request, call) => {
      const { id } = await requireOrganisation(parts, request.organisation);
      await requireAccounts(parts, id, request);
      const decide = (before: Meter) => changedMeter(before, request);
      const meter = accepted(await meters.update(actorOf(call), id, request.id, decide));
      return { meter: presentMeter(required(meter, "meter_not_found")) };
    },
    setMeterStatus: async ({ organisation, id, status }, call) => {
      const owner = await requireOrganisation(parts, organisation);
      const wanted = wordOf(meterStatuses, status) ?? "active";
      const meter = await meters.setStatus(actorOf(call), owner.id, id, wanted);
      return { meter: presentMeter(required(meter, "meter_not_found")) };
    },
  };
}

function accepted<T extends AdminMeter | null>(outcome: T | CatalogueRefusal): T {
  if (typeof outcome === "string")
    throw new Refusal("meter_code_taken", "Another meter has this code.", "code");
  return outcome;
}

async function requireAccounts(
  parts: AdminParts,
  organisationId: string,
  { revenueAccount, taxType, skipCheck }: CreateMeterRequest | UpdateMeterRequest,
): Promise<void> {
  const mapping = { revenueAccount: revenueAccount || null, taxType: taxType || null };
  if (!skipCheck) await requireMapping(parts, organisationId, mapping);
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
