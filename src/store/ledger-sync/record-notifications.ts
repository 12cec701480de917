/**
 * Stores notifications from the ledger's webhooks for the organisations connected to those tenants,
 * if the object may be theirs (LEDGER-4). SQL, because tenants are compared without their case.
 */

import { columns } from "../../gen/columns.ts";
import type { Pool } from "../database/pool.ts";
import { pick } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import { dropNotificationsOf } from "./claim-notifications.ts";
import {
  type ChangeNotification,
  type SyncKind,
  saveNotifications,
} from "./pending-notifications.ts";
import { findWithNotifications } from "./sync-cursors.ts";

/** An object that a webhook reported as changed. */
interface ReceivedNotification extends ChangeNotification {
  readonly tenantId: string;
  readonly kind: SyncKind;
}

const findTenants = query({
  name: "find_connected_tenants",
  planned: "once",
  text: sql`
    SELECT organisation_id, tenant_id
    FROM ledger_connections
    WHERE lower(tenant_id) = ANY ($1) AND kind = $2 AND disconnected_at IS NULL
  `,
  row: pick(columns.ledgerConnection, "organisationId", "tenantId"),
});

/**
 * Stores notifications of a kind of ledger and returns the ids of organisations that have something
 * to read now. Unknown and disconnected tenants are skipped. After a reconnection the incremental
 * sync reads what they missed.
 */
export async function recordNotifications(
  pool: Pool,
  ledgerKind: string,
  received: readonly ReceivedNotification[],
): Promise<readonly string[]> {
  if (received.length === 0) return [];
  const tenants = [...new Set(received.map(({ tenantId }) => tenantId))];
  const rows = await findTenants(pool, tenants, ledgerKind);
  for (const { organisationId, tenantId } of rows) {
    const ofConnection = received.filter((one) => one.tenantId === tenantId.toLowerCase());
    for (const [kind, notifications] of Map.groupBy(ofConnection, (one) => one.kind)) {
      await saveNotifications(pool, organisationId, kind, notifications);
      // A ledger reports every object, and our own writes as well. Those wake no workflow.
      const ledgerIds = notifications.map(({ ledgerId }) => ledgerId);
      await dropNotificationsOf(pool, organisationId, kind, ledgerIds);
    }
  }
  return findWithNotifications(
    pool,
    rows.map(({ organisationId }) => organisationId),
  );
}
