/**
 * Shows operators the state of an organisation's ledger sync, and requests a new sync. SQL, because
 * both go by the server's clock, which the sync goes by too.
 */
import { columns } from "../../../gen/columns.ts";
import { binding } from "../../database/bind.ts";
import { msUntil } from "../../database/clock.ts";
import { orderedUpdate } from "../../database/lock-order.ts";
import type { Pool, Transaction } from "../../database/pool.ts";
import { bool, float, instant, int, type RowOf, text } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { first, query } from "../../database/sql/statement.ts";
import { notificationRows } from "../../ledger-sync/pending-notifications.ts";
import { type Actor, type Changed, type Changes, changed } from "../changes.ts";

const syncRow = {
  beganAt: columns.ledgerSyncCursor.beganAt,
  endedAt: columns.ledgerSyncCursor.syncedAt,
  isWaiting: bool,
  problem: text.orNull(),
  /** The end of the pause or of the wait for a retry, and how long it lasts. */
  notBefore: instant.orNull(),
  pausedMs: float.orNull(),
  customersChanged: int,
  creditNotesChanged: int,
  invoicesChanged: int,
  /** The change notifications that wait. */
  notifications: int,
  /** How many change notifications failed in their last attempt, with the reason of one of them. */
  notificationsProblem: text.orNull(),
};

/** The state of the ledger sync. The counts are of the sync under way, or of the last one. */
export type LedgerSyncView = RowOf<typeof syncRow>;

// An incremental sync that fails is retried when it is due.
const getSync = first<LedgerSyncView, [organisationId: string]>(
  query({
    name: "get_ledger_sync",
    text: sql`
      SELECT
        s.began_at, s.synced_at AS ended_at,
        s.sync_kind IS NOT NULL OR coalesce(s.next_sync_at <= now(), false) AS is_waiting,
        CASE
          WHEN p.until > now() THEN coalesce(
            CASE WHEN c.paused_until > now() THEN c.paused_reason END,
            s.reason
          )
          WHEN p.is_retried THEN s.reason
          ELSE c.disconnected_reason
        END AS problem,
        CASE
          WHEN p.until > now() THEN p.until
          WHEN p.is_retried THEN s.next_sync_at
        END AS not_before,
        CASE
          WHEN p.until > now() THEN ${msUntil(sql`p.until`)}
          WHEN p.is_retried THEN ${msUntil(sql`s.next_sync_at`)}
        END AS paused_ms,
        coalesce(s.contacts_changed, 0) AS customers_changed,
        coalesce(s.credit_notes_changed, 0) AS credit_notes_changed,
        coalesce(s.invoices_changed, 0) AS invoices_changed,
        (
          SELECT count(*)::int
          FROM ledger_notifications n
          WHERE n.organisation_id = c.organisation_id
        ) AS notifications,
        (
          SELECT concat(count(*), ' cannot be read: ', min(n.reason))
          FROM ledger_notifications n
          WHERE n.organisation_id = c.organisation_id AND n.reason IS NOT NULL
          HAVING count(*) > 0
        ) AS notifications_problem
      FROM
        ledger_connections c
        LEFT JOIN ledger_sync_cursors s ON s.organisation_id = c.organisation_id
        CROSS JOIN LATERAL (
          SELECT
            greatest(c.paused_until, s.not_before) AS until,
            c.disconnected_at IS NULL
            AND s.sync_kind IS NOT NULL
            AND s.next_sync_at > now() AS is_retried
        ) p
      WHERE c.organisation_id = $1
    `,
    row: syncRow,
  }),
);

/** Creates the store of the ledger sync over changes. Null stands for no connection. */
export function createLedgerSyncAdminStore(pool: Pool, { run }: Changes) {
  return {
    get: binding(pool)(getSync),
    /**
     * Makes a full sync due, including the notifications that failed. Returns the instant from
     * which a sync answers this request.
     */
    request: (actor: Actor, organisationId: string) =>
      run(actor, (tx) => requestSync(tx, organisationId)),
  };
}

const makeDue = query({
  name: "request_ledger_sync",
  text: sql`
    INSERT INTO ledger_sync_cursors AS s (organisation_id, tenant_id, next_sync_at, requested_at)
    SELECT organisation_id, tenant_id, now(), clock_timestamp()
    FROM ledger_connections
    WHERE organisation_id = $1
    ON CONFLICT (organisation_id) DO UPDATE
      SET
        next_sync_at = now(),
        requested_at = clock_timestamp(),
        not_before = NULL,
        reason = NULL,
        failures = 0
    RETURNING s.requested_at
  `,
  row: { requestedAt: columns.ledgerSyncCursor.requestedAt.present() },
});

const retryNotifications = orderedUpdate({
  ...notificationRows,
  name: "retry_failed_notifications",
  where: sql`reason IS NOT NULL`,
  set: sql`try_at = now()`,
});

async function requestSync(tx: Transaction, organisationId: string): Promise<Changed<Date | null>> {
  const [requested] = await makeDue(tx, organisationId);
  if (requested === undefined) return changed(null);
  const { requestedAt } = requested;
  // The operator may have repaired what made these notifications fail.
  await retryNotifications(tx, organisationId);
  return changed(requestedAt, {
    targetKind: "ledger_connection",
    targetId: organisationId,
    organisationId,
    before: {},
    after: { syncRequestedAt: requestedAt },
  });
}
