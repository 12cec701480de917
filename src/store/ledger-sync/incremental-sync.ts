/**
 * The incremental sync of an organisation's ledger. At intervals it reads all changes since its
 * cursors, kind by kind, so that a lost webhook loses nothing (LEDGER-4). It also stores until when
 * the ledger must not be called. SQL, because every instant is compared and written by the
 * database's clock, and cursors keep their microseconds.
 */
import { columns } from "../../gen/columns.ts";
import { msUntil } from "../database/clock.ts";
import type { Pool } from "../database/pool.ts";
import { float, instant, type RowOf, text } from "../database/sql/columns.ts";
import { identifier, joinSql, literal, type Sql, sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";
import { notifyDrafts, notifyPartPaid } from "./notify-unreported.ts";
import { type SyncKind, syncKinds, takenAt } from "./pending-notifications.ts";
import { firstSyncAt } from "./sync-cursors.ts";

/**
 * How far before its cursor each sync begins, to read what was still being written there. The
 * cursor itself lies as far before the start of its sync, because the ledger's clock may be behind
 * ours.
 */
const overlapMs = 5 * 60_000;

/**
 * While less than a fifth of the ledger's daily calls is left, the interval is this many times
 * longer.
 */
const scarceFactor = 4;

/** The fewest daily calls that a ledger allows. */
const leastDay = 1_000;

/**
 * The next page of the running sync: changes of `kind` after `since` (ISO 8601), from the previous
 * page's `cursor`.
 */
export interface SyncPage {
  readonly kind: SyncKind;
  readonly since: string;
  readonly cursor: string | null;
  readonly takenAt: string;
}

/** The result of a page. */
export interface SyncedPage {
  readonly cursor: string | null;
  readonly highWater: string | null;
  readonly changed: number;
}

const syncState = {
  /** Why the last one failed, or why the sync waits. */
  reason: columns.ledgerSyncCursor.reason,
  /** Consecutive failures. */
  failures: columns.ledgerSyncCursor.failures,
  /** Until the ledger may be called. */
  waitMs: float,
  /** Until something is due. Null if nothing is. */
  nextInMs: float.orNull(),
};

/** The state of the sync. */
export type SyncState = RowOf<typeof syncState>;

const readState = query({
  name: "read_sync_state",
  planned: "once",
  text: sql`
    WITH
      created AS (
        INSERT INTO ledger_sync_cursors AS s (organisation_id, tenant_id, next_sync_at)
        SELECT c.organisation_id, c.tenant_id, ${firstSyncAt(sql`$2::float8`)}
        FROM ledger_connections c
        WHERE c.organisation_id = $1
        ON CONFLICT (organisation_id) DO UPDATE
          SET
            tenant_id = excluded.tenant_id,
            sync_kind = NULL,
            sync_cursor = NULL,
            contacts_since = NULL,
            credit_notes_since = NULL,
            invoices_since = NULL,
            not_before = NULL,
            reason = NULL,
            failures = 0
          WHERE s.tenant_id <> excluded.tenant_id
        RETURNING *
      ),
      cursors AS (
        SELECT * FROM created
        UNION ALL
        SELECT *
        FROM ledger_sync_cursors
        WHERE organisation_id = $1 AND NOT EXISTS (SELECT FROM created)
      )
    SELECT
      reason, failures, ${msUntil(sql`not_before`)} AS wait_ms,
      (
        SELECT ${msUntil(sql`min(due.at)`)}
        FROM
          (
            SELECT next_sync_at AS at WHERE sync_kind IS NOT NULL OR next_sync_at <= now()
            UNION ALL
            SELECT min(h.try_at) FROM ledger_notifications h WHERE h.organisation_id = $1
          ) AS due
        WHERE due.at IS NOT NULL
        HAVING count(*) > 0
      ) AS next_in_ms
    FROM cursors
  `,
  row: syncState,
});

/**
 * Reads the state of an organisation's sync and creates its cursors if needed. The first sync is
 * due at a random time within one interval, and not before the connection is one interval old. If
 * the connection leads to another tenant by now, everything is read again.
 */
export async function readSyncState(
  pool: Pool,
  organisationId: string,
  syncIntervalMs: number,
): Promise<SyncState> {
  const [state] = await readState(pool, organisationId, syncIntervalMs);
  return state ?? { waitMs: 0, reason: null, failures: 0, nextInMs: null };
}

const beginSync = command({
  name: "begin_sync",
  planned: "once",
  text: sql`
    UPDATE ledger_sync_cursors
    SET
      sync_kind = ${literal(syncKinds[0])},
      sync_cursor = NULL,
      began_at = clock_timestamp(),
      contacts_changed = 0,
      credit_notes_changed = 0,
      invoices_changed = 0
    WHERE organisation_id = $1 AND sync_kind IS NULL AND next_sync_at <= now()
  `,
});

const claimPage = query({
  name: "claim_sync_page",
  planned: "once",
  text: sql`
    SELECT
      s.sync_kind AS kind, s.sync_cursor AS cursor, ${takenAt} AS taken_at,
      coalesce(
        CASE s.sync_kind
          WHEN 'contacts' THEN s.contacts_since
          WHEN 'credit_notes' THEN s.credit_notes_since
          ELSE s.invoices_since
        END,
        c.created_at
      ) - $2 * interval '1 millisecond' AS since
    FROM
      ledger_sync_cursors s
      JOIN ledger_connections c ON c.organisation_id = s.organisation_id
    WHERE s.organisation_id = $1 AND s.sync_kind IS NOT NULL AND s.next_sync_at <= now()
  `,
  row: {
    kind: columns.ledgerSyncCursor.syncKind.present().as<SyncKind>(),
    cursor: columns.ledgerSyncCursor.syncCursor,
    takenAt: text,
    since: instant,
  },
});

/**
 * The next page of the running sync, or the first page of one that is due. Null if neither exists,
 * or if its page has just failed. `forgetsDrafts`: the ledger does not report that a draft was
 * deleted, so that the drafts are looked up too.
 */
export async function claimSyncPage(
  pool: Pool,
  organisationId: string,
  forgetsDrafts = false,
): Promise<SyncPage | null> {
  const begun = await beginSync(pool, organisationId);
  if (begun === 1) await notifyPartPaid(pool, organisationId);
  if (begun === 1 && forgetsDrafts) await notifyDrafts(pool, organisationId);
  const [row] = await claimPage(pool, organisationId, overlapMs);
  return row === undefined ? null : { ...row, since: row.since.toISOString() };
}

// Another process may have ended this page first: then nothing moves. If an operator requested a
// sync while this one ran, one more follows. A change time in the future counts as now, as in
// objects that cannot be parsed: otherwise changes until then would be missed. A cursor moves when
// all pages of its kind are read, because the newest come first. It moves with time, also if
// nothing changed.
const sinceOf = (kind: SyncKind): Sql => {
  const since = identifier(`${kind}_since`);
  return sql`${since} = CASE WHEN page.ends = ${literal(kind)}
    THEN greatest(s.${since}, page.high_water, s.began_at - page.overlap) ELSE s.${since} END`;
};

const changedOf = (kind: SyncKind): Sql => {
  const changed = identifier(`${kind}_changed`);
  return sql`${changed} = s.${changed} + CASE WHEN $2 = ${literal(kind)} THEN $6::int ELSE 0 END`;
};

const endSyncPage = command({
  name: "end_sync_page",
  text: sql`
UPDATE ledger_sync_cursors s SET ${joinSql(syncKinds.map(sinceOf), ", ")},
  ${joinSql(syncKinds.map(changedOf), ", ")},
  failures = 0, not_before = NULL, reason = NULL, sync_cursor = $4,
  sync_kind = CASE WHEN $4::text IS NOT NULL THEN $2 ELSE $7 END,
  synced_at = CASE WHEN page.is_last THEN clock_timestamp() ELSE s.synced_at END,
  day_most = greatest(s.day_most, page.day_remaining),
  next_sync_at = CASE WHEN NOT page.is_last THEN s.next_sync_at
    WHEN s.requested_at > s.began_at THEN now()
    ELSE now() + $8 * interval '1 millisecond'
      * CASE WHEN page.day_remaining < greatest(s.day_most, ${leastDay}) / 5
        THEN ${scarceFactor} ELSE 1 END END
FROM (SELECT CASE WHEN $4::text IS NULL THEN $2 END AS ends,
    $4::text IS NULL AND $7::text IS NULL AS is_last,
    CASE WHEN $5::timestamptz IS NOT NULL THEN least($5::timestamptz, now()) END AS high_water,
    ${overlapMs} * interval '1 millisecond' AS overlap,
    (SELECT day_remaining FROM ledger_budgets WHERE organisation_id = $1) AS day_remaining
  ) AS page
WHERE s.organisation_id = $1 AND s.sync_kind = $2 AND s.sync_cursor IS NOT DISTINCT FROM $3`,
});

/**
 * Moves the sync past a saved page. After the last kind it is over, and the next one is due after
 * `intervalMs`.
 */
export async function endPage(
  pool: Pool,
  organisationId: string,
  page: SyncPage,
  { cursor, highWater, changed }: SyncedPage,
  intervalMs: number,
): Promise<void> {
  const next = syncKinds[syncKinds.indexOf(page.kind) + 1] ?? null;
  const moved = [cursor, highWater, changed, next, intervalMs];
  await endSyncPage(pool, organisationId, page.kind, page.cursor, ...moved);
}

/**
 * For how long the ledger cannot be called, why, and whether a call failed. `pageMs`: how long the
 * running sync waits, because its page failed.
 */
export interface SyncDelay {
  readonly delayMs: number;
  readonly reason: string;
  readonly isFailure: boolean;
  readonly pageMs?: number | undefined;
}

const reschedule = command({
  name: "reschedule_sync",
  text: sql`
    UPDATE ledger_sync_cursors
    SET
      not_before = now() + $2 * interval '1 millisecond',
      reason = coalesce(
        $3,
        CASE WHEN sync_kind IS NOT NULL THEN reason END
      ),
      failures = CASE
        WHEN $3::text IS NULL
        AND sync_kind IS NULL THEN 0
        ELSE failures + $4::int
      END,
      next_sync_at = CASE
        WHEN sync_kind IS NULL THEN next_sync_at
        ELSE coalesce(now() + $5::float8 * interval '1 millisecond', next_sync_at)
      END
    WHERE organisation_id = $1
  `,
});

/**
 * Records that the ledger cannot be called for `delayMs`, or with null that it can again. A failed
 * sync keeps its reason and its number of failures until it continues.
 */
export async function rescheduleSync(
  pool: Pool,
  organisationId: string,
  delay: SyncDelay | null,
): Promise<void> {
  const { delayMs = null, reason = null, isFailure = false, pageMs = null } = delay ?? {};
  await reschedule(pool, organisationId, delayMs, reason, isFailure ? 1 : 0, pageMs);
}
