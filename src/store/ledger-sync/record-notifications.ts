/**
 * Stores notifications from the ledger's webhooks for the organisations connected to those tenants,
 * if the object may be theirs (LEDGER-4).
 */
import type { Pool } from "../database/pool.ts";
import {
  dropNotifications,
  leaveNotifications,
  type SyncKind,
} from "../ledger-jobs/pending-notifications.ts";
import { findWithNotifications } from "./incremental-sync.ts";

/** An object that a webhook reported as changed. */
export interface ReceivedNotification {
  readonly tenantId: string;
  readonly kind: SyncKind;
  readonly ledgerId: string;
  /** Its change time by the ledger's clock (ISO 8601). Null if it is not known exactly. */
  readonly changedAt: string | null;
}

/**
 * Stores notifications of a kind of ledger and returns the ids of organisations that have something
 * to read now.
 * Unknown and disconnected tenants are skipped. After a reconnection the incremental sync reads
 * what they missed.
 */
export async function recordNotifications(
  pool: Pool,
  ledgerKind: string,
  hints: readonly ReceivedNotification[],
): Promise<readonly string[]> {
  if (hints.length === 0) return [];
  const { rows } = await pool.query<{ organisation_id: string; tenant_id: string }>({
    name: "find_connected_tenants",
    text: `SELECT organisation_id, tenant_id FROM ledger_connections
      WHERE lower(tenant_id) = ANY ($1) AND kind = $2 AND disconnected_at IS NULL`,
    values: [[...new Set(hints.map(({ tenantId }) => tenantId))], ledgerKind],
  });
  for (const { organisation_id: organisationId, tenant_id: tenantId } of rows) {
    const own = hints.filter((hint) => hint.tenantId === tenantId.toLowerCase());
    const byKind = Map.groupBy(own, ({ kind }) => kind);
    for (const [kind, ofKind] of byKind) {
      await leaveNotifications(pool, organisationId, kind, ofKind);
      // A ledger reports every object, and our own writes as well. Those wake no workflow.
      await dropNotifications(pool, organisationId, kind);
    }
  }
  return findWithNotifications(
    pool,
    rows.map((row) => row.organisation_id),
  );
}
