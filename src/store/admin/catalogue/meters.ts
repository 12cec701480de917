/** Writes and lists meters for the admin API. */

import type { Meter } from "../../../domain/catalogue/meter.ts";
import type { Listing } from "../../database/page.ts";
import type { Pool } from "../../database/pool.ts";
import type { Changes } from "../changes.ts";
import { type CatalogueStore, createCatalogueStore, logged } from "./catalogue.ts";

/** A meter with the number of plans that have a price for it. */
export interface AdminMeter {
  readonly meter: Meter;
  readonly plans: number;
}

/** Stores meters, and finds those that a plan names. */
export interface MeterStore extends CatalogueStore<Meter, AdminMeter> {
  /**
   * Returns the meters with these ids or codes, in any order. Unknown ids and codes are left out.
   */
  named(organisationId: string, idsOrCodes: readonly string[]): Promise<readonly Meter[]>;
}

interface MeterRow {
  id: string;
  code: string;
  name: string;
  unit_label: string;
  status: Meter["status"];
  revenue_account: string | null;
  tax_type: string | null;
  created_at: Date;
  plans: number;
}

const meterViews: Listing<MeterRow, AdminMeter> = {
  table: "meters",
  columns: `t.id, t.code, t.name, t.unit_label, t.status, t.revenue_account, t.tax_type, t.created_at,
    (SELECT count(*)::int FROM plan_meters p WHERE p.organisation_id = t.organisation_id AND p.meter_id = t.id) AS plans`,
  from: "meters t",
  read: (row) => ({
    meter: {
      id: row.id,
      code: row.code,
      name: row.name,
      unitLabel: row.unit_label,
      status: row.status,
      createdAt: row.created_at,
      revenueAccount: row.revenue_account,
      taxType: row.tax_type,
    },
    plans: row.plans,
  }),
};

const namedText = `SELECT ${meterViews.columns} FROM ${meterViews.from}
  WHERE t.organisation_id = $1 AND (t.code = ANY ($2) OR t.id::text = ANY ($3))`;

/** Creates the meter store over changes. */
export function createMeterStore(pool: Pool, changes: Changes): MeterStore {
  const store = createCatalogueStore(pool, changes, meterViews, {
    targetKind: "meter",
    entryOf: ({ meter }) => meter,
    usesOf: ({ plans }) => plans,
    insert: async (transaction, organisationId, meter) => {
      await transaction.meter.create({ data: { ...meter, organisationId } });
    },
    replace: async (transaction, organisationId, meter) => {
      await transaction.meter.updateMany({
        where: { organisationId, id: meter.id },
        data: { ...meter },
      });
    },
    snapshot: logged,
    // Usage reports name the meter by its code. The prices belong to plans.
    billedBy: ({ code }) => code,
    decideMove: (from, to) => from !== to,
  });
  return {
    ...store,
    named: async (organisationId, idsOrCodes) => {
      const ids = idsOrCodes.map((each) => each.toLowerCase());
      const { rows } = await pool.query<MeterRow>({
        name: "named_meters",
        text: namedText,
        values: [organisationId, idsOrCodes, ids],
      });
      return rows.map((row) => meterViews.read(row).meter);
    },
  };
}
