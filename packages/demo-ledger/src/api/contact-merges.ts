/** Merges of two contacts. In Xero people can merge contacts in its screens, and no program can. */
import type pg from "pg";
import { inTransaction } from "../database.ts";

/**
 * Merges a contact into another one, which takes over its documents. The merged contact is archived
 * and names its replacement. Returns false unless both are active contacts of the organisation.
 */
export function mergeContact(
  pool: pg.Pool,
  tenantId: string,
  contactId: string,
  into: string,
): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const { rowCount } = await client.query(
      `select 1 from demo_ledger.contacts
       where tenant_id = $1 and contact_id in ($2, $3) and status = 'ACTIVE'
         order by contact_id for update`,
      [tenantId, contactId, into],
    );
    if (rowCount !== 2) return false;
    for (const table of ["invoices", "credit_notes"]) {
      await client.query(
        `update demo_ledger.${table} set contact_id = $3, updated_at = date_trunc('milliseconds',
          clock_timestamp())
         where tenant_id = $1 and contact_id = $2`,
        [tenantId, contactId, into],
      );
    }
    await client.query(
      `update demo_ledger.contacts set status = 'ARCHIVED', merged_to = $3,
         updated_at = date_trunc('milliseconds', clock_timestamp())
       where tenant_id = $1 and contact_id = $2`,
      [tenantId, contactId, into],
    );
    return true;
  });
}
