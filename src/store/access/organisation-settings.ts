/** Reads organisations' settings: alone, or as a column of other statements. */
import type {
  FirstInvoiceStatus,
  OrganisationSettings,
} from "../../domain/model/organisation-settings.ts";
import { db, type Executor } from "../database/prisma/client.ts";
import { sql } from "../database/sql/sql.ts";

/**
 * The column `organisation` with the settings of the organisation `o`, as JSON. No setting is a
 * decimal number, which JSON does not keep exactly.
 */
export const organisationColumns = sql`json_build_object('id', o.id, 'name', o.name,
    'timezone', o.timezone, 'defaultCurrency', o.default_currency, 'livemode', o.livemode,
    'setupMode', o.setup_mode, 'canCreateLedgerContacts', o.can_create_ledger_contacts,
    'invoiceCreateDays', o.invoice_create_days, 'firstInvoiceStatus', o.first_invoice_status,
    'dueDays', o.due_days, 'numberPrefix', o.number_prefix, 'revenueAccount', o.revenue_account,
    'taxType', o.tax_type) AS organisation`;

/** A row with `organisationColumns`. */
export interface OrganisationRow {
  readonly organisation: OrganisationSettings;
}

/** Returns the settings in a row with `organisationColumns`. */
export function readOrganisation(row: OrganisationRow): OrganisationSettings {
  return row.organisation;
}

/** The fields of the settings, as the typed client selects them. */
const settings = {
  id: true,
  name: true,
  timezone: true,
  defaultCurrency: true,
  livemode: true,
  setupMode: true,
  canCreateLedgerContacts: true,
  invoiceCreateDays: true,
  firstInvoiceStatus: true,
  dueDays: true,
  numberPrefix: true,
  revenueAccount: true,
  taxType: true,
} as const satisfies Readonly<Record<keyof OrganisationSettings, true>>;

/** Returns the organisation with this id. It exists, because one of its keys was admitted. */
export async function getOrganisation(
  executor: Executor,
  organisationId: string,
): Promise<OrganisationSettings> {
  const where = { id: organisationId };
  const found = await db(executor).organisation.findFirst({ where, select: settings });
  if (found === null) throw new Error(`organisation ${organisationId} is gone`);
  return { ...found, firstInvoiceStatus: found.firstInvoiceStatus as FirstInvoiceStatus };
}
