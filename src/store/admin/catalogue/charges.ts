/** Writes and lists charges for the admin API. */

import { decideMove } from "../../../domain/catalogue/catalogue-status.ts";
import type { Charge } from "../../../domain/catalogue/plan.ts";
import { formatDecimal } from "../../../domain/money/decimal.ts";
import { type ChargeRow, chargeListing, readCharge } from "../../catalogue/catalogue.ts";
import type { Listing } from "../../database/page.ts";
import type { Pool } from "../../database/pool.ts";
import type { Changes } from "../changes.ts";
import { type CatalogueStore, createCatalogueStore, logged } from "./catalogue.ts";

/** A charge with the number of invoice lines that bill it. */
export interface AdminCharge {
  readonly charge: Charge;
  readonly invoiceLines: number;
}

const chargeViews: Listing<ChargeRow & { invoice_lines: number }, AdminCharge> = {
  ...chargeListing,
  columns: `${chargeListing.columns}, (SELECT count(*)::int FROM invoice_lines l
    WHERE l.organisation_id = t.organisation_id AND l.charge_id = t.id) AS invoice_lines`,
  read: (row) => ({ charge: readCharge(row), invoiceLines: row.invoice_lines }),
};

/** Creates the charge store over changes. */
export function createChargeStore(
  pool: Pool,
  changes: Changes,
): CatalogueStore<Charge, AdminCharge> {
  const record = (charge: Charge) => ({ ...charge, price: formatDecimal(charge.price) });
  return createCatalogueStore(pool, changes, chargeViews, {
    targetKind: "charge",
    entryOf: ({ charge }) => charge,
    usesOf: ({ invoiceLines }) => invoiceLines,
    insert: async (transaction, organisationId, charge) => {
      await transaction.charge.create({ data: { ...record(charge), organisationId } });
    },
    replace: async (transaction, organisationId, charge) => {
      await transaction.charge.updateMany({
        where: { organisationId, id: charge.id },
        data: record(charge),
      });
    },
    snapshot: logged,
    billedBy: ({ code, price, currency }) => logged({ code, price, currency }),
    decideMove,
  });
}
