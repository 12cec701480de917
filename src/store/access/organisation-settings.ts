/** Reads organisations and their settings from rows, and an organisation's current time. */

import type {
  FirstInvoiceStatus,
  OrganisationSettings,
} from "../../domain/subscriptions/organisation-settings.ts";
import type { Connection, Pool } from "../database/pool.ts";

/** The columns of an organisation's settings, under the alias `o`. */
export const organisationColumns = `o.id AS o_id, o.name AS o_name, o.timezone AS o_timezone, o.default_currency, o.livemode,
  o.setup_mode, o.can_create_ledger_contacts, o.invoice_create_days, o.first_invoice_status, o.due_days, o.number_prefix,
  o.revenue_account AS o_revenue_account, o.tax_type AS o_tax_type`;

/** A row of `organisationColumns`. */
export interface OrganisationRow {
  o_id: string;
  o_name: string;
  o_timezone: string;
  default_currency: string;
  livemode: boolean;
  setup_mode: boolean;
  can_create_ledger_contacts: boolean;
  invoice_create_days: number;
  first_invoice_status: FirstInvoiceStatus;
  due_days: number;
  number_prefix: string;
  o_revenue_account: string | null;
  o_tax_type: string | null;
}

/** Converts a row of `organisationColumns` to settings. */
export function readOrganisation(row: OrganisationRow): OrganisationSettings {
  return {
    id: row.o_id,
    name: row.o_name,
    timezone: row.o_timezone,
    defaultCurrency: row.default_currency,
    livemode: row.livemode,
    setupMode: row.setup_mode,
    canCreateLedgerContacts: row.can_create_ledger_contacts,
    invoiceCreateDays: row.invoice_create_days,
    firstInvoiceStatus: row.first_invoice_status,
    dueDays: row.due_days,
    numberPrefix: row.number_prefix,
    revenueAccount: row.o_revenue_account,
    taxType: row.o_tax_type,
  };
}

/** Returns the organisation with this id. It exists, because one of its keys was admitted. */
export async function getOrganisation(
  pool: Pool,
  organisationId: string,
): Promise<OrganisationSettings> {
  const { rows } = await pool.query<OrganisationRow>({
    name: "get_organisation",
    text: `SELECT ${organisationColumns} FROM organisations o WHERE o.id = $1`,
    values: [organisationId],
  });
  if (rows[0] === undefined) throw new Error(`organisation ${organisationId} is gone`);
  return readOrganisation(rows[0]);
}

/**
 * Returns the organisation's current time: the test clock in a sandbox, otherwise the database's
 * clock. CLOCK-1.
 */
export async function organisationNow(
  client: Pick<Connection, "query">,
  organisationId: string,
): Promise<Date> {
  const { rows } = await client.query<{ now: Date }>({
    name: "now_of_organisation",
    text: "SELECT coalesce(o.test_clock, now()) AS now FROM organisations o WHERE o.id = $1",
    values: [organisationId],
  });
  return rows[0]?.now ?? new Date();
}
