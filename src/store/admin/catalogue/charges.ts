/** Writes and lists charges for the admin API. A list with the count of invoice lines is SQL. */

import { type Charge, decideMove } from "../../../domain/catalogue/plan.ts";
import { formatDecimal } from "../../../domain/money/decimal.ts";
import { Refusal } from "../../../domain/refusal.ts";
import { chargeListing, chargeRow, readCharge } from "../../catalogue/catalogue.ts";
import { listing } from "../../database/page.ts";
import type { Pool } from "../../database/pool.ts";
import { db } from "../../database/prisma/client.ts";
import { int } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import type { Changes } from "../changes.ts";
import { createCatalogueStore, everyFilter, logged, usesOf } from "./catalogue.ts";

const chargeViews = listing(
  "charge_views",
  {
    ...chargeListing,
    columns: sql`${chargeListing.columns}, ${usesOf(sql`invoice_lines`, sql`charge_id`)}`,
    row: { ...chargeRow, uses: int },
    read: ({ uses, ...row }) => ({ entry: readCharge(row), uses }),
  },
  everyFilter(),
);

/** Creates the charge store over changes. */
export function createChargeStore(pool: Pool, changes: Changes) {
  const columns = (charge: Charge) => ({ ...charge, price: formatDecimal(charge.price) });
  return createCatalogueStore(pool, changes, chargeViews, {
    targetKind: "charge",
    insert: (tx, organisationId, charge) =>
      db(tx).charge.create({ data: { ...columns(charge), organisationId } }),
    replace: (tx, organisationId, charge) =>
      db(tx).charge.update({
        where: { organisationId, id: charge.id },
        data: columns(charge),
      }),
    snapshot: logged,
    billedBy: ({ code, price, currency }) => logged({ code, price, currency }),
    inUse: () =>
      new Refusal(
        "charge_in_use",
        "The charge was billed: its code, price and currency stay. Create another one.",
      ),
    decideMove,
  });
}
