/** Writes and lists meters for the admin API. A list with the count of plans is SQL. */

import type { Meter } from "../../../domain/catalogue/meter.ts";
import { Refusal } from "../../../domain/refusal.ts";
import { columns } from "../../../gen/columns.ts";
import { isId } from "../../database/ids.ts";
import { listing } from "../../database/page.ts";
import type { Pool } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { int, pick } from "../../database/sql/columns.ts";
import { columnsOf, sql } from "../../database/sql/sql.ts";
import type { Changes } from "../changes.ts";
import { createCatalogueStore, everyFilter, logged, type UsedEntry, usesOf } from "./catalogue.ts";

const meterRow = {
  ...pick(
    columns.meter,
    "id",
    "code",
    "name",
    "unitLabel",
    "createdAt",
    "revenueAccount",
    "taxType",
  ),
  status: columns.meter.status.as<Meter["status"]>(),
};

const meterViews = listing(
  "meter_views",
  {
    table: sql`meters`,
    columns: sql`${columnsOf(sql`t`, meterRow)}, ${usesOf(sql`plan_meters`, sql`meter_id`)}`,
    row: { ...meterRow, uses: int },
    read: ({ uses, ...meter }): UsedEntry<Meter> => ({ entry: meter, uses }),
  },
  everyFilter(),
);

/** The columns that no meter shows. */
const hidden = { organisationId: true, seq: true } as const;

/** Stores meters, and finds those that a plan names. */
export type MeterStore = ReturnType<typeof createMeterStore>;

/** Creates the meter store over changes. */
export function createMeterStore(pool: Pool, changes: Changes) {
  const store = createCatalogueStore(pool, changes, meterViews, {
    targetKind: "meter",
    insert: (tx, organisationId, meter) =>
      db(tx).meter.create({ data: { ...meter, organisationId } }),
    replace: (tx, organisationId, meter) =>
      db(tx).meter.update({ where: { organisationId, id: meter.id }, data: { ...meter } }),
    snapshot: logged,
    // Usage reports name the meter by its code. The prices belong to plans.
    billedBy: ({ code }) => code,
    inUse: () => new Refusal("invalid_state", "The code of a meter stays as it is."),
    decideMove: (from, to) => from !== to,
  });
  return {
    ...store,
    /** Returns the meters with these ids or codes, in any order. Others are left out. */
    named: async (organisationId: string, idsOrCodes: readonly string[]) => {
      const ids = idsOrCodes.map((each) => each.toLowerCase()).filter(isId);
      const named = [{ code: { in: [...idsOrCodes] } }, { id: { in: ids } }];
      const where = { organisationId, OR: named };
      const meters = await db(pool).meter.findMany({ where, omit: hidden });
      return meters.map((meter) => ({ ...meter, status: meter.status as Meter["status"] }));
    },
  };
}
