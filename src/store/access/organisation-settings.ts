/** Reads organisations' settings: alone, or as a column of other statements. */
import type {
  FirstInvoiceStatus,
  OrganisationSettings,
} from "../../domain/model/organisation-settings.ts";
import { db } from "../database/prisma/client.ts";
import { columnOf } from "../database/sql/columns.ts";
import { identifier, joinSql, literal, sql } from "../database/sql/sql.ts";
import type { Executor } from "../database/sql/statement.ts";

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

/**
 * The column `organisation` with the settings of the organisation `o`, as JSON. No setting is a
 * decimal number, which JSON does not keep exactly.
 */
export const organisationColumns = sql`json_build_object(${joinSql(
  Object.keys(settings).map((name) => sql`${literal(name)}, o.${identifier(columnOf(name))}`),
  ", ",
)}) AS organisation`;

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
