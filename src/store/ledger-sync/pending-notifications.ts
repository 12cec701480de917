/**
 * Change notifications of an organisation's ledger, from webhooks or because our state may be
 * stale. A notification says which object to read and never its content. One more or a repeated one
 * does no harm (LEDGER-4). SQL, because one statement merges many notifications with the pending
 * ones.
 */
import { sql } from "../database/sql/sql.ts";
import { command, type Executor } from "../database/sql/statement.ts";

/**
 * The synced kinds in the order of an incremental sync. A note's allocations come before their
 * invoices.
 */
export const syncKinds = ["contacts", "credit_notes", "invoices"] as const;

/** A kind of synced object. */
export type SyncKind = (typeof syncKinds)[number];

/** SQL: the database's clock as text, which keeps its microseconds on the way back. */
export const takenAt = sql`to_char(clock_timestamp() AT TIME ZONE 'UTC',
    'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/** An object that changed, and its change time (ISO 8601). Null if it is not known exactly. */
export interface ChangeNotification {
  readonly ledgerId: string;
  readonly changedAt: string | null;
}

/** How notifications are locked and updated together. */
export const notificationRows = {
  table: sql`ledger_notifications`,
  key: [sql`kind`, sql`ledger_id`],
};

const save = command({
  name: "save_notifications",
  planned: "once",
  text: sql`
    INSERT INTO ledger_notifications AS n (organisation_id, kind, ledger_id, changed_at)
    SELECT
      $1, $2, ledger_id,
      CASE WHEN bool_and(changed_at IS NOT NULL) THEN max(changed_at) END
    FROM unnest($3::text[], $4::timestamptz[]) AS h (ledger_id, changed_at)
    GROUP BY ledger_id
    ORDER BY ledger_id
    ON CONFLICT (organisation_id, kind, ledger_id) DO UPDATE
      SET
        received_at = CASE
          WHEN $5
          AND n.reason IS NOT NULL THEN n.received_at
          ELSE clock_timestamp()
        END,
        try_at = CASE
          WHEN $5 THEN n.try_at
          ELSE least(
            n.try_at,
            now() + CASE WHEN n.reason IS NULL THEN interval '0' ELSE interval '1 minute' END
          )
        END,
        changed_at = CASE
          WHEN n.changed_at IS NOT NULL
          AND excluded.changed_at IS NOT NULL THEN greatest(n.changed_at, excluded.changed_at)
        END
  `,
});

/**
 * Stores notifications of objects that are ours or may become ours. A new notification ends the
 * pause of a rescheduled one. It shortens the pause of an unreadable object to one minute, because
 * its cause may be repaired. With `keepsPauses` the pause stays, because nothing new was reported.
 */
export async function saveNotifications(
  pool: Executor,
  organisationId: string,
  kind: SyncKind,
  notifications: readonly ChangeNotification[],
  keepsPauses = false,
): Promise<void> {
  if (notifications.length === 0) return;
  const ids = notifications.map(({ ledgerId }) => ledgerId);
  const changes = notifications.map(({ changedAt }) => changedAt);
  await save(pool, organisationId, kind, ids, changes, keepsPauses);
}
