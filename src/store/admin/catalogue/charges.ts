/** Writes and lists charges for the admin API. A list with the count of lines is SQL. */

import { decideMove } from "../../../domain/catalogue/catalogue-status.ts";
import type { Charge } from "../../../domain/catalogue/plan.ts";
import { formatDecimal } from "../../../domain/money/decimal.ts";
import { type ChargeRow, chargeListing, readCharge } from "../../catalogue/catalogue.ts";
import type { Listing } from "../../database/page.ts";
import type { Pool } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import type { Changes } from "../changes.ts";
import { type CatalogueStore, createCatalogueStore, logged, usesOf } from "./catalogue.ts";

/** A charge with the number of invoice lines that bill it. */
export interface AdminCharge {
  readonly charge: Charge;
  readonly invoiceLines: number;
}

const chargeViews: Listing<ChargeRow & { readonly invoiceLines: number }, AdminCharge> = {
  ...chargeListing,
  columns: `${chargeListing.columns}, ${usesOf("invoice_lines", "charge_id")} AS "invoiceLines"`,
  read: ({ invoiceLines, ...row }) => ({ charge: readCharge(row), invoiceLines }),
};

/** Creates the charge store over changes. */
export function createChargeStore(
  pool: Pool,
  changes: Changes,
): CatalogueStore<Charge, AdminCharge> {
  const columns = (charge: Charge) => ({ ...charge, price: formatDecimal(charge.price) });
  return createCatalogueStore(pool, changes, chargeViews, {
    targetKind: "charge",
    entryOf: ({ charge }) => charge,
    usesOf: ({ invoiceLines }) => invoiceLines,
    insert: (tx, organisationId, charge) =>
      db(tx).charge.create({ data: { ...columns(charge), organisationId } }),
    replace: (tx, organisationId, charge) =>
      db(tx).charge.update({
        where: { organisationId, id: charge.id },
        data: columns(charge),
      }),
    snapshot: logged,
    billedBy: ({ code, price, currency }) => logged({ code, price, currency }),
    decideMove,
  });
}
