/** Incremental syncs that a test makes due. */
import type pg from "pg";

/** Makes the next incremental sync of an organisation due, the first one too. */
export async function setSyncDue(
  pool: pg.Pool,
  { organisationId, tenantId }: { readonly organisationId: string; readonly tenantId: string },
): Promise<void> {
  await pool.query(
    `INSERT INTO ledger_sync_cursors (organisation_id, tenant_id, next_sync_at)
      VALUES ($1, $2, now())
      ON CONFLICT (organisation_id) DO UPDATE SET next_sync_at = now(), not_before = NULL`,
    [organisationId, tenantId],
  );
}
