/** Creates organisations, and changes their settings, for the admin API. */

import { binding } from "../../database/bind.ts";
import { isId } from "../../database/ids.ts";
import type { PageRequest } from "../../database/page.ts";
import type { Pool, Transaction } from "../../database/pool.ts";
import { type Db, db, withoutUndefined } from "../../database/prisma/client.ts";
import { type Actor, type Changed, type Changes, changed, isTaken } from "../changes.ts";
import { pageBySeq } from "../page-by-seq.ts";
import { countUnbilled } from "./current-organisation.ts";
import { previewSetupMode } from "./setup-mode-obstacles.ts";
import {
  type AdminOrganisation,
  loadLocked,
  readOrganisationRecord,
  updateOrganisation,
  withConnection,
} from "./update-organisation.ts";

export type { AdminOrganisation } from "./update-organisation.ts";

/** The settings that can change. */
const settingNames = [
  "name",
  "timezone",
  "defaultCurrency",
  "canCreateLedgerContacts",
  "usageAllowed",
  "invoiceCreateDays",
  "firstInvoiceStatus",
  "dueDays",
  "numberPrefix",
] as const;

/** Undefined leaves a setting as it is. */
type OrganisationChanges = {
  readonly [Name in (typeof settingNames)[number]]?: AdminOrganisation[Name] | undefined;
};

/** Returns the settings among the members of a request. */
function settingsOf(request: OrganisationChanges): Partial<OrganisationChanges> {
  return Object.fromEntries(settingNames.map((name) => [name, request[name]]));
}

/** A new organisation. An undefined field takes the default of its column. */
type NewOrganisation = OrganisationChanges &
  Pick<AdminOrganisation, "id" | "name" | "timezone" | "defaultCurrency" | "livemode"> & {
    readonly setupMode?: boolean | undefined;
  };

/** Organisations. Null stands for one that does not exist. */
export type OrganisationStore = ReturnType<typeof createOrganisationStore>;

/** Creates the organisation store over changes. */
export function createOrganisationStore(pool: Pool, { run }: Changes) {
  const get = async (id: string): Promise<AdminOrganisation | null> => {
    if (!isId(id)) return null;
    const query = { where: { id }, include: withConnection };
    const record = await db(pool).organisation.findFirst(query);
    return record && readOrganisationRecord(record);
  };
  const bound = binding(pool);
  return {
    get,
    /** Creates the organisation, or returns the one that an earlier try with this id created. */
    create: async (actor: Actor, organisation: NewOrganisation) => {
      try {
        return await run(actor, (tx) => create(tx, organisation));
      } catch (error) {
        const earlier = isTaken(error) ? await get(organisation.id) : null;
        if (earlier === null) throw error;
        return earlier;
      }
    },
    /** Lists those with a name, in any case. All if it is null. */
    list: async (name: string | null, page: PageRequest) => {
      // The client compares with ILIKE, whose wildcards a name may have.
      const equals = name?.replaceAll(/[\\%_]/g, "\\$&");
      const named = equals === undefined ? {} : { name: { equals, mode: "insensitive" } as const };
      const found = await pageBySeq(page, ({ where, ...query }) =>
        db(pool).organisation.findMany({
          where: "id" in where ? where : { ...named, ...where },
          ...query,
          include: withConnection,
        }),
      );
      return { ...found, data: found.data.map(readOrganisationRecord) };
    },
    update: async (actor: Actor, id: string, settings: OrganisationChanges) => {
      if (!isId(id)) return null;
      return run(actor, async (tx): Promise<Changed<AdminOrganisation | null>> => {
        const before = await loadLocked(tx, id);
        if (before === null) return changed(null);
        return updateOrganisation(tx, before, withoutUndefined(settingsOf(settings)));
      });
    },
    /**
     * Counts active subscriptions whose current period began in Setup Mode. That period is never
     * billed. SETUP-3.
     */
    countUnbilled: bound(countUnbilled),
    previewSetupMode: bound(previewSetupMode),
  };
}

async function create(
  tx: Transaction,
  organisation: NewOrganisation,
): Promise<Changed<AdminOrganisation>> {
  const { id, name, timezone, defaultCurrency, livemode, setupMode } = organisation;
  const required = { id, name, timezone, defaultCurrency, livemode };
  const data = { ...withoutUndefined({ ...settingsOf(organisation), setupMode }), ...required };
  const after = await db(tx).organisation.create({ data });
  await createCounters(db(tx), id);
  return changed(readOrganisationRecord({ ...after, ledgerConnection: null }), {
    targetKind: "organisation",
    targetId: id,
    organisationId: id,
    before: null,
    after,
  });
}

/** The kinds of documents that each organisation numbers separately. */
const counters = ["invoice", "credit_note"] as const;

/** Creates the number counters of a new organisation. */
export async function createCounters(client: Db, organisationId: string): Promise<void> {
  await client.documentCounter.createMany({
    data: counters.map((kind) => ({ organisationId, kind })),
  });
}
