/** Notes what webhooks of the ledger told: for the organisations that are connected to those tenants, and of what may be theirs. */
import type pg from "pg";
import { dropNotifications, leaveNotifications, type SyncKind } from "../ledger-jobs/pending-notifications.ts";
import { findWithNotifications } from "./incremental-sync.ts";

/** Where to look, as a webhook told it. */
export interface ReceivedNotification {
  readonly tenantId: string;
  readonly kind: SyncKind;
  readonly ledgerId: string;
  /** When it was changed, by the ledger's time (ISO 8601); null where that is not told exactly. */
  readonly changedAt: string | null;
}

/**
 * Notes hints; the organisations that have something to be looked at now, by their ids. Others' tenants are passed over, and so are those
 * whose connection has ended: when they are connected again, the sweep reads what they were not told.
 */
export async function recordNotifications(pool: pg.Pool, hints: readonly ReceivedNotification[]): Promise<readonly string[]> {
  if (hints.length === 0) return [];
  const { rows } = await pool.query<{ organisation_id: string; tenant_id: string }>({
    name: "find_connected_tenants",
    text: "SELECT organisation_id, tenant_id FROM ledger_connections WHERE lower(tenant_id) = ANY ($1) AND disconnected_at IS NULL",
    values: [[...new Set(hints.map(({ tenantId }) => tenantId))]],
  });
  for (const { organisation_id: organisationId, tenant_id: tenantId } of rows) {
    const own = hints.filter((hint) => hint.tenantId === tenantId.toLowerCase());
    const byKind = Map.groupBy(own, ({ kind }) => kind);
    for (const [kind, ofKind] of byKind) {
      await leaveNotifications(pool, organisationId, kind, ofKind);
      // A ledger tells of everything in it, and of our own writes as well: for those nobody is woken.
      await dropNotifications(pool, organisationId, kind);
    }
  }
  return findWithNotifications(
    pool,
    rows.map((row) => row.organisation_id),
  );
}
