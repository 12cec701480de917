/**
 * Claims pending change notifications, and finishes, fails or reschedules them after the read. SQL,
 * because each statement evaluates or writes many notifications by the database's clock, and locks
 * them by kind and id, so that two never deadlock.
 */
import { columns } from "../../gen/columns.ts";
import type { Pool } from "../database/pool.ts";
import { bool, pick, type RowOf, text } from "../database/sql/columns.ts";
import { type Sql, sql } from "../database/sql/sql.ts";
import { type Command, command, query } from "../database/sql/statement.ts";
import { isBusy } from "./observed-state.ts";
import { type SyncKind, takenAt } from "./pending-notifications.ts";

/**
 * How many notifications are claimed at once: as many as one call reads, and few if each needs a
 * separate address.
 */
const notificationsAtOnce = sql`CASE WHEN $2 = 'credit_notes' THEN 8 ELSE 40 END`;

/**
 * After this many failed calls an object is requested singly. Otherwise one that always fails would
 * block the others in its call.
 */
export const maxBatchFailures = 2;

const claimedNotification = {
  ...pick(columns.ledgerNotification, "ledgerId"),
  /** The database's text of an instant, which keeps its microseconds. */
  receivedAt: text,
};

/** A claimed notification. A later one for the same object stays. */
type ClaimedNotification = RowOf<typeof claimedNotification>;

/**
 * Claimed notifications of one kind. `takenAt` is the database's clock at the claim, so the data
 * read is at least as new. `isAlone`: calls failed for its single object.
 */
export interface ClaimedNotifications {
  readonly kind: SyncKind;
  readonly notifications: readonly ClaimedNotification[];
  readonly isAlone: boolean;
  readonly takenAt: string;
}

/** A kind's table, the column with the ledger's id, and the jobs that create its objects. */
const objects = {
  invoices: {
    table: sql`invoices`,
    column: sql`ledger_invoice_id`,
    jobs: sql`'create_invoice'`,
  },
  credit_notes: {
    table: sql`credit_notes`,
    column: sql`ledger_credit_note_id`,
    jobs: sql`'create_credit_note'`,
  },
  contacts: {
    table: sql`customers`,
    column: sql`ledger_contact_id`,
    jobs: sql`'create_contact', 'import_contact'`,
  },
} as const;

/**
 * SQL: what becomes of notification `h` without a read. `drop`: its object is not ours and is not
 * becoming ours, or was written here since its change. `later`: it may be becoming ours.
 */
const outcomeWithoutRead = (kind: SyncKind): Sql => {
  const { table, column, jobs } = objects[kind];
  const object = sql`
    SELECT
    FROM ${table} d
    WHERE d.organisation_id = $1 AND d.${column} = h.ledger_id
  `;
  return sql`CASE WHEN EXISTS (${object} AND d.ledger_updated_at >= h.changed_at) THEN 'drop'
      WHEN EXISTS (${object}) THEN NULL
      WHEN EXISTS (SELECT FROM ledger_jobs o WHERE o.organisation_id = $1 AND o.kind IN (${jobs})
        AND o.state IN ('sending', 'uncertain')) THEN 'later'
      ELSE 'drop' END`;
};

/** SQL: reschedules notification `h`, later each time. */
export const later = sql`try_at = now()
  + greatest(interval '2 seconds', (now() - h.received_at) / 2)`;

/**
 * SQL: drops and reschedules the due notifications of a condition over `h`. One that a later
 * webhook changes meanwhile stays.
 */
const dropText = (condition: Sql): Sql => sql`
WITH due AS (
  SELECT h.ledger_id, h.received_at, h.changed_at, CASE $2
    WHEN 'invoices' THEN ${outcomeWithoutRead("invoices")}
    WHEN 'credit_notes' THEN ${outcomeWithoutRead("credit_notes")}
    ELSE ${outcomeWithoutRead("contacts")} END AS fate
  FROM ledger_notifications h
  WHERE h.organisation_id = $1 AND h.kind = $2 AND h.try_at <= now() AND ${condition}
), locked AS (
  SELECT h.ledger_id, due.fate FROM ledger_notifications h JOIN due USING (ledger_id)
  WHERE h.organisation_id = $1 AND h.kind = $2 AND due.fate IS NOT NULL
    AND h.received_at = due.received_at AND h.changed_at IS NOT DISTINCT FROM due.changed_at
  ORDER BY h.ledger_id FOR UPDATE OF h
), later AS (
  UPDATE ledger_notifications h SET ${later} FROM locked
  WHERE h.organisation_id = $1 AND h.kind = $2 AND h.ledger_id = locked.ledger_id
    AND locked.fate = 'later'
)
DELETE FROM ledger_notifications h USING locked
WHERE h.organisation_id = $1 AND h.kind = $2 AND h.ledger_id = locked.ledger_id
  AND locked.fate = 'drop'`;

/**
 * Deletes a kind's notifications that need no read: objects that are not ours, and objects written
 * here since their change. One that may be of an object which is being posted is rescheduled: its
 * outcome comes within seconds, or its own job finds it.
 */
export const dropNotifications: Command<[organisationId: string, kind: SyncKind]> = command({
  name: "drop_notifications",
  planned: "once",
  text: dropText(sql`true`),
});

/** Does the same with those of these objects only. */
export const dropNotificationsOf: Command<
  [organisationId: string, kind: SyncKind, ledgerIds: readonly string[]]
> = command({
  name: "drop_notifications_of",
  planned: "once",
  text: dropText(sql`h.ledger_id = ANY ($3)`),
});

// Claims known objects and reschedules the others.
const claim = query({
  name: "claim_notifications",
  planned: "once",
  text: sql`
WITH due AS (
  SELECT h.ledger_id, h.received_at, h.try_at, CASE $2
    WHEN 'invoices' THEN EXISTS (SELECT FROM invoices d
      WHERE d.organisation_id = $1 AND d.ledger_invoice_id = h.ledger_id
        AND NOT ${isBusy.invoices})
    WHEN 'credit_notes' THEN EXISTS (SELECT FROM credit_notes d
      WHERE d.organisation_id = $1 AND d.ledger_credit_note_id = h.ledger_id
        AND NOT ${isBusy.credit_notes})
    ELSE EXISTS (SELECT FROM customers d
      WHERE d.organisation_id = $1 AND d.ledger_contact_id = h.ledger_id) END AS is_free
  FROM ledger_notifications h WHERE h.organisation_id = $1 AND h.kind = $2
    AND h.try_at <= now() AND (h.failures >= ${maxBatchFailures}) = $3
  ORDER BY CASE WHEN $3 THEN h.try_at ELSE h.received_at END LIMIT ${notificationsAtOnce}
), busy AS (
  SELECT h.ledger_id FROM ledger_notifications h JOIN due USING (ledger_id)
  WHERE h.organisation_id = $1 AND h.kind = $2 AND NOT due.is_free
  ORDER BY h.ledger_id FOR UPDATE OF h
), later AS (
  UPDATE ledger_notifications h SET ${later} FROM busy
  WHERE h.organisation_id = $1 AND h.kind = $2 AND h.ledger_id = busy.ledger_id
)
SELECT ledger_id, received_at::text AS received_at, ${takenAt} AS taken_at
FROM due WHERE is_free ORDER BY CASE WHEN $3 THEN due.try_at ELSE due.received_at END`,
  row: { ...claimedNotification, takenAt: text },
});

// Objects with failed calls come last, the longest waiting first. They delay no other object of any
// kind.
const findDue = query({
  name: "due_notifications",
  planned: "once",
  text: sql`
    SELECT kind, failures >= ${maxBatchFailures} AS is_alone
    FROM ledger_notifications
    WHERE organisation_id = $1 AND try_at <= now()
    GROUP BY kind, failures >= ${maxBatchFailures}
    ORDER BY
      failures >= ${maxBatchFailures},
      CASE WHEN min(failures) >= ${maxBatchFailures} THEN min(try_at) END,
      min(failures),
      kind
  `,
  row: { kind: columns.ledgerNotification.kind.as<SyncKind>(), isAlone: bool },
});

/**
 * Claims notifications of the first kind that has any due, as many as one call reads. Objects with
 * failed calls come after all others, one at a time. Null if there are none.
 */
export async function claimNotifications(
  pool: Pool,
  organisationId: string,
): Promise<ClaimedNotifications | null> {
  for (const { kind, isAlone } of await findDue(pool, organisationId)) {
    await dropNotifications(pool, organisationId, kind);
    const rows = await claim(pool, organisationId, kind, isAlone);
    const [first] = rows;
    if (first === undefined) continue;
    const notifications = (isAlone ? [first] : rows).map(({ ledgerId, receivedAt }) => ({
      ledgerId,
      receivedAt,
    }));
    return { kind, notifications, isAlone, takenAt: first.takenAt };
  }
  return null;
}
