/** A subscription in its invoice window, and its renewal invoice in the ledger. */
import type { CreatedOrganisation } from "../../../packages/dev/src/demo/first-data.ts";
import { addBands, type Json } from "../../scenario/units-builder.ts";
import type { TestSystem } from "../../support/system.ts";
import type { SceneParts } from "./issued-line.ts";

/** A subscription of 1 April to ten units in its window, with its renewal invoice, INV-0002. */
export async function inWindow(
  { builder, sandbox, system }: SceneParts,
  status: string,
  body: object = {},
): Promise<readonly [CreatedOrganisation, Json]> {
  const changes = { invoice_create_days: 20, first_invoice_status: status };
  const organisation = await sandbox("2026-04-16", changes);
  await addBands(system, organisation);
  const order = { start_date: "2026-04-01", ...body };
  return [organisation, await builder.subscribe(organisation, order)];
}

/** A person voids the invoice with this number in the ledger; we do not hear of it. */
export async function voidInLedger(
  { pool }: TestSystem,
  { tenantId }: CreatedOrganisation,
  number: string,
): Promise<void> {
  const text =
    "UPDATE demo_ledger.invoices SET status = 'VOIDED' WHERE tenant_id = $1 AND number = $2";
  await pool.query(text, [tenantId, number]);
}
