/** Stores account mappings: of an organisation, and of single plans, charges and meters. */

import { isId } from "../../database/ids.ts";
import type { Pool, Transaction } from "../../database/pool.ts";
import { type Db, db } from "../../database/prisma/client.ts";
import { lockCatalogue } from "../catalogue/catalogue.ts";
import { type Actor, type Changed, type Changes, changed } from "../changes.ts";

/** An account and a tax type of the ledger. Null uses the next wider mapping. */
export interface Mapping {
  readonly revenueAccount: string | null;
  readonly taxType: string | null;
}

/** The mapping of a plan, charge or meter. */
export interface CatalogueMapping extends Mapping {
  readonly id: string;
  readonly code: string;
  readonly name: string;
}

/** The plan, charge, meter or organisation that a mapping belongs to. */
export interface MappingTarget {
  readonly kind: "organisation" | "plan" | "charge" | "meter";
  /** The id of the target. */
  readonly id: string;
}

/** Creates the store of mappings over changes. */
export function createMappingStore(pool: Pool, { run }: Changes) {
  return {
    /** Its default, and those of single plans, charges and meters. */
    mappings: async (organisationId: string) => {
      const [ofOrganisation, plans, charges, meters] = await Promise.all([
        findMapping(db(pool), { kind: "organisation", id: organisationId }, organisationId),
        db(pool).plan.findMany(mapped(organisationId)),
        db(pool).charge.findMany(mapped(organisationId)),
        db(pool).meter.findMany(mapped(organisationId)),
      ]);
      if (ofOrganisation === null) throw new Error(`organisation ${organisationId} is gone`);
      return { default: mappingOf(ofOrganisation), plans, charges, meters };
    },
    /** Sets and returns the mapping. Null if the plan, charge or meter does not exist. */
    map: async (actor: Actor, organisationId: string, target: MappingTarget, mapping: Mapping) =>
      isId(target.id) ? run(actor, (tx) => map(tx, organisationId, target, mapping)) : null,
  };
}

/** Selects the entries of a catalogue that have a mapping, by code. */
function mapped(organisationId: string) {
  return {
    where: {
      organisationId,
      OR: [{ revenueAccount: { not: null } }, { taxType: { not: null } }],
    },
    select: { id: true, code: true, name: true, revenueAccount: true, taxType: true } as const,
    orderBy: { code: "asc" } as const,
  };
}

async function map(
  tx: Transaction,
  organisationId: string,
  target: MappingTarget,
  mapping: Mapping,
): Promise<Changed<Mapping | null>> {
  // Makes creations that used the old mapping decide again.
  await lockCatalogue(tx, organisationId);
  const found = await findMapping(db(tx), target, organisationId);
  if (found === null) return changed(null);
  const isSame =
    found.revenueAccount === mapping.revenueAccount && found.taxType === mapping.taxType;
  if (isSame) return changed(mapping);
  await saveMapping(db(tx), target, organisationId, mapping);
  const { kind, id } = target;
  const named = "code" in found ? { target: kind, code: found.code } : { target: kind };
  return changed(mapping, {
    targetKind: "account_mapping",
    targetId: id,
    organisationId,
    before: { ...named, ...mappingOf(found) },
    after: { ...named, ...mapping },
  });
}

async function findMapping(
  client: Db,
  { kind, id }: MappingTarget,
  organisationId: string,
): Promise<(Mapping & { readonly code?: string }) | null> {
  const mapping = { revenueAccount: true, taxType: true } as const;
  const query = { where: { organisationId, id }, select: { code: true, ...mapping } };
  switch (kind) {
    case "organisation":
      return client.organisation.findFirst({ where: { id: organisationId }, select: mapping });
    case "plan":
      return client.plan.findFirst(query);
    case "charge":
      return client.charge.findFirst(query);
    case "meter":
      return client.meter.findFirst(query);
  }
}

async function saveMapping(
  client: Db,
  { kind, id }: MappingTarget,
  organisationId: string,
  { revenueAccount, taxType }: Mapping,
): Promise<void> {
  const data = { revenueAccount, taxType };
  const where = { organisationId, id };
  switch (kind) {
    case "organisation":
      await client.organisation.update({ where: { id: organisationId }, data });
      return;
    case "plan":
      await client.plan.update({ where, data });
      return;
    case "charge":
      await client.charge.update({ where, data });
      return;
    case "meter":
      await client.meter.update({ where, data });
      return;
  }
}

function mappingOf({ revenueAccount, taxType }: Mapping): Mapping {
  return { revenueAccount, taxType };
}
