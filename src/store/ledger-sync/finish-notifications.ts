/**
 * Records that notifications of the ledger were read, or that their reading failed. SQL, because
 * many rows change by the database's clock.
 */
import { orderedUpdate } from "../database/lock-order.ts";
import type { Pool } from "../database/pool.ts";
import { sql } from "../database/sql/sql.ts";
import { command } from "../database/sql/statement.ts";
import { type ClaimedNotifications, maxBatchFailures } from "./claim-notifications.ts";
import { notificationRows } from "./pending-notifications.ts";

/**
 * The longest pause between two reads of an object that cannot be read (LEDGER-5). A person must
 * act, in the ledger or here.
 */
const maxPause = sql`interval '6 hours'`;

/** An object that was requested and cannot be synced, and why. The reason names no person. */
export interface SkippedNotification {
  readonly ledgerId: string;
  readonly reason: string;
}

const finish = command({
  name: "finish_notifications",
  text: sql`
    WITH
      taken AS (SELECT * FROM unnest($3::text[], $4::timestamptz[]) AS t (ledger_id, received_at)),
      kept AS (SELECT * FROM unnest($5::text[], $6::text[]) AS k (ledger_id, reason)),
      locked AS (
        SELECT h.ledger_id
        FROM
          ledger_notifications h
          JOIN taken USING (ledger_id)
        WHERE h.organisation_id = $1 AND h.kind = $2
        ORDER BY h.ledger_id
        FOR UPDATE OF h
      ),
      later AS (
        UPDATE ledger_notifications h
        SET
          failures = 0,
          reason = kept.reason,
          changed_at = CASE WHEN kept.reason IS NOT NULL THEN h.changed_at END,
          try_at = now() + CASE
            WHEN kept.reason IS NULL THEN greatest(interval '1 second', (now() - h.received_at) / 2)
            ELSE least(${maxPause}, greatest(interval '1 minute', now() - h.received_at))
          END
        FROM
          locked
          JOIN kept USING (ledger_id)
        WHERE h.organisation_id = $1 AND h.kind = $2 AND h.ledger_id = locked.ledger_id
      )
    DELETE FROM ledger_notifications h
    USING
      locked
      JOIN taken USING (ledger_id)
    WHERE
      h.organisation_id = $1
      AND h.kind = $2
      AND h.ledger_id = taken.ledger_id
      AND h.received_at = taken.received_at
      AND NOT EXISTS (SELECT FROM kept WHERE kept.ledger_id = h.ledger_id)
  `,
});

/**
 * Deletes notifications that were read. Those in `again` are read once more soon. Those in
 * `skipped` stay with their reason and are read ever more rarely. If the claim was for one alone,
 * the ledger answers again, so the others of its kind are read together.
 */
export async function finishNotifications(
  pool: Pool,
  organisationId: string,
  { kind, notifications, isAlone }: ClaimedNotifications,
  again: readonly string[],
  skipped: readonly SkippedNotification[],
): Promise<void> {
  const reasons = new Map([
    ...again.map((id) => [id, null] as const),
    ...skipped.map(({ ledgerId, reason }) => [ledgerId, reason] as const),
  ]);
  const ids = notifications.map(({ ledgerId }) => ledgerId);
  const receivedAt = notifications.map((one) => one.receivedAt);
  const kept = [[...reasons.keys()], [...reasons.values()]];
  await finish(pool, organisationId, kind, ids, receivedAt, ...kept);
  if (isAlone && notifications.length > 0) await rejoin(pool, organisationId, kind);
}

// An object that always fails is alone again after one more failure.
const rejoin = orderedUpdate({
  ...notificationRows,
  name: "rejoin_notifications",
  where: sql`kind = $2 AND failures >= ${maxBatchFailures}`,
  set: sql`failures = ${maxBatchFailures - 1}`,
});

const fail = orderedUpdate({
  ...notificationRows,
  name: "fail_notifications",
  where: sql`kind = $2 AND ledger_id = ANY ($3)`,
  set: sql`failures = t.failures + 1, reason = $4, try_at = now()
    + least(${maxPause}, greatest(interval '2 seconds', now() - t.received_at))`,
});

/**
 * Records that the call for these objects failed. Each is requested again later, and later each
 * time.
 */
export async function failNotifications(
  pool: Pool,
  organisationId: string,
  { kind, notifications }: Pick<ClaimedNotifications, "kind" | "notifications">,
  reason: string,
): Promise<void> {
  const ids = notifications.map(({ ledgerId }) => ledgerId);
  await fail(pool, organisationId, kind, ids, reason);
}
