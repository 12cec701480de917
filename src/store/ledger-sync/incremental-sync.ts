/**
 * The incremental sync of an organisation's ledger. At intervals it reads all changes since its
 * cursors, kind by kind, so that a lost webhook loses nothing (LEDGER-4). It also stores until when
 * the ledger must not be called.
 */
import type { Pool } from "../database/pool.ts";
import { type SyncKind, syncKinds, takenAt } from "../ledger-jobs/pending-notifications.ts";

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

/** How often partly paid invoices are read: the ledger does not report that one was e-mailed. */
const partPaidEvery = "interval '1 day'";

/** The most of them at once, which takes five calls. If there are more, they are random. */
const mostPartPaid = 200;

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
export interface SweptPage {
  readonly cursor: string | null;
  readonly highWater: string | null;
  readonly changed: number;
}

/**
 * The state of the sync. `waitMs`: until the ledger may be called. `nextInMs`: until something is
 * due, null if nothing is. `failures`: consecutive failures. `reason`: why the last one failed, or
 * why the sync waits.
 */
export interface SyncState {
  readonly waitMs: number;
  readonly reason: string | null;
  readonly failures: number;
  readonly nextInMs: number | null;
}

// If many syncs start at the same moment, as after an upgrade, their first runs are spread over one
// interval.
const firstSyncAt = (syncIntervalMs: string): string =>
  `greatest(c.created_at + ${syncIntervalMs} * interval '1 millisecond', now() + random() * ${syncIntervalMs} * interval '1 millisecond')`;

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
  const { rows } = await pool.query<{
    wait_ms: number;
    reason: string | null;
    failures: number;
    next_in_ms: number | null;
  }>({
    name: "read_sync_state",
    text: `WITH made AS (
        INSERT INTO ledger_sync_cursors AS s (organisation_id, tenant_id, next_sync_at)
        SELECT c.organisation_id, c.tenant_id, ${firstSyncAt("$2::float8")} FROM ledger_connections c WHERE c.organisation_id = $1
        ON CONFLICT (organisation_id) DO UPDATE SET tenant_id = excluded.tenant_id, sync_kind = NULL, sync_cursor = NULL,
          contacts_since = NULL, credit_notes_since = NULL, invoices_since = NULL, not_before = NULL, reason = NULL, failures = 0
        WHERE s.tenant_id <> excluded.tenant_id RETURNING *
      ), sweep AS (
        SELECT * FROM made UNION ALL SELECT * FROM ledger_sync_cursors WHERE organisation_id = $1 AND NOT EXISTS (SELECT FROM made)
      )
      SELECT greatest(0, coalesce(ceil(1000 * extract(epoch FROM not_before - now())), 0))::float8 AS wait_ms, reason, failures,
        (SELECT greatest(0, ceil(1000 * extract(epoch FROM min(due.at) - now()))) FROM (
          SELECT next_sync_at AS at WHERE sync_kind IS NOT NULL OR next_sync_at <= now()
          UNION ALL SELECT min(h.try_at) FROM ledger_notifications h WHERE h.organisation_id = $1) AS due
          WHERE due.at IS NOT NULL HAVING count(*) > 0)::float8 AS next_in_ms
      FROM sweep`,
    values: [organisationId, syncIntervalMs],
  });
  const [row] = rows;
  if (row === undefined) return { waitMs: 0, reason: null, failures: 0, nextInMs: null };
  return {
    waitMs: row.wait_ms,
    reason: row.reason,
    failures: row.failures,
    nextInMs: row.next_in_ms,
  };
}

interface SyncPageRow {
  sync_kind: SyncKind;
  sync_cursor: string | null;
  since: Date;
  taken_at: string;
}

/**
 * The next page of the running sync, or the first page of one that is due. Null if neither exists,
 * or if its page has just failed.
 */
export async function claimSyncPage(pool: Pool, organisationId: string): Promise<SyncPage | null> {
  const begun = await pool.query({
    name: "begin_sync",
    text: `UPDATE ledger_sync_cursors SET sync_kind = '${syncKinds[0]}', sync_cursor = NULL, began_at = clock_timestamp(),
        contacts_changed = 0, credit_notes_changed = 0, invoices_changed = 0
      WHERE organisation_id = $1 AND sync_kind IS NULL AND next_sync_at <= now()`,
    values: [organisationId],
  });
  if (begun.rowCount === 1) await hintPartPaid(pool, organisationId);
  const { rows } = await pool.query<SyncPageRow>({
    name: "claim_sync_page",
    text: `SELECT s.sync_kind, s.sync_cursor, ${takenAt} AS taken_at,
        coalesce(CASE s.sync_kind WHEN 'contacts' THEN s.contacts_since WHEN 'credit_notes' THEN s.credit_notes_since
          ELSE s.invoices_since END, c.created_at) - $2 * interval '1 millisecond' AS since
      FROM ledger_sync_cursors s JOIN ledger_connections c ON c.organisation_id = s.organisation_id
      WHERE s.organisation_id = $1 AND s.sync_kind IS NOT NULL AND s.next_sync_at <= now()`,
    values: [organisationId, overlapMs],
  });
  const [row] = rows;
  if (row === undefined) return null;
  const { sync_kind: kind, sync_cursor: cursor, since, taken_at: takenAtText } = row;
  return { kind, cursor, since: since.toISOString(), takenAt: takenAtText };
}

// In some ledgers an invoice's change time does not move if it is sent when partly paid. Lists and
// webhooks do not report it (LEDGER-18).
async function hintPartPaid(pool: Pool, organisationId: string): Promise<void> {
  await pool.query({
    name: "hint_part_paid",
    text: `WITH due AS (
        UPDATE ledger_sync_cursors SET part_paid_checked_at = now() WHERE organisation_id = $1
          AND (part_paid_checked_at IS NULL OR part_paid_checked_at < now() - ${partPaidEvery}) RETURNING organisation_id
      ), picked AS (
        SELECT i.ledger_invoice_id AS ledger_id FROM invoices i JOIN due ON due.organisation_id = i.organisation_id
        WHERE i.organisation_id = $1 AND i.status = 'approved' AND NOT i.sent AND i.amount_due > 0 AND i.amount_due < i.total
          AND i.ledger_invoice_id IS NOT NULL ORDER BY random() LIMIT ${mostPartPaid}
      )
      INSERT INTO ledger_notifications (organisation_id, kind, ledger_id) SELECT $1, 'invoices', ledger_id FROM picked ORDER BY ledger_id
      ON CONFLICT DO NOTHING`,
    values: [organisationId],
  });
}

// Another process may have ended this page first: then nothing moves. If an operator requested a
// sync while this one ran, one more follows. A change time in the future counts as now, as in
// objects that cannot be parsed: otherwise changes until then would be missed. A cursor moves when
// all pages of its kind are read, because the newest come first. It moves with time, also if
// nothing changed.
const endPageText = `
UPDATE ledger_sync_cursors s SET
  contacts_since = CASE WHEN $2 = 'contacts' AND $4::text IS NULL
    THEN greatest(s.contacts_since, seen.high_water, s.began_at - seen.overlap) ELSE s.contacts_since END,
  credit_notes_since = CASE WHEN $2 = 'credit_notes' AND $4::text IS NULL
    THEN greatest(s.credit_notes_since, seen.high_water, s.began_at - seen.overlap) ELSE s.credit_notes_since END,
  invoices_since = CASE WHEN $2 = 'invoices' AND $4::text IS NULL
    THEN greatest(s.invoices_since, seen.high_water, s.began_at - seen.overlap) ELSE s.invoices_since END,
  contacts_changed = s.contacts_changed + CASE WHEN $2 = 'contacts' THEN $6::int ELSE 0 END,
  credit_notes_changed = s.credit_notes_changed + CASE WHEN $2 = 'credit_notes' THEN $6::int ELSE 0 END,
  invoices_changed = s.invoices_changed + CASE WHEN $2 = 'invoices' THEN $6::int ELSE 0 END,
  failures = 0, not_before = NULL, reason = NULL, sync_cursor = $4, sync_kind = CASE WHEN $4::text IS NOT NULL THEN $2 ELSE $7 END,
  swept_at = CASE WHEN over.is_over THEN clock_timestamp() ELSE s.swept_at END,
  day_most = greatest(s.day_most, over.day_remaining),
  next_sync_at = CASE WHEN NOT over.is_over THEN s.next_sync_at WHEN s.requested_at > s.began_at THEN now()
    ELSE now() + $8 * CASE WHEN over.day_remaining < greatest(s.day_most, ${leastDay}) / 5 THEN ${scarceFactor} ELSE 1 END
      * interval '1 millisecond' END
FROM (SELECT CASE WHEN $5::timestamptz IS NOT NULL THEN least($5::timestamptz, now()) END AS high_water,
    ${overlapMs} * interval '1 millisecond' AS overlap) AS seen,
  (SELECT $4::text IS NULL AND $7::text IS NULL AS is_over,
    (SELECT day_remaining FROM ledger_budgets WHERE organisation_id = $1) AS day_remaining) AS over
WHERE s.organisation_id = $1 AND s.sync_kind = $2 AND s.sync_cursor IS NOT DISTINCT FROM $3`;

/**
 * Moves the sync past a saved page. After the last kind it is over, and the next one is due after
 * `syncIntervalMs`.
 */
export async function endPage(
  pool: Pool,
  organisationId: string,
  page: SyncPage,
  { cursor, highWater, changed }: SweptPage,
  syncIntervalMs: number,
): Promise<void> {
  const next = syncKinds[syncKinds.indexOf(page.kind) + 1] ?? null;
  await pool.query({
    name: "end_sync_page",
    text: endPageText,
    values: [
      organisationId,
      page.kind,
      page.cursor,
      cursor,
      highWater,
      changed,
      next,
      syncIntervalMs,
    ],
  });
}

/** Pauses the running sync for `delayMs`, because its page failed. */
export async function failSyncPage(
  pool: Pool,
  organisationId: string,
  delayMs: number,
): Promise<void> {
  await pool.query({
    name: "fail_sync_page",
    text: `UPDATE ledger_sync_cursors SET next_sync_at = now() + $2 * interval '1 millisecond'
      WHERE organisation_id = $1 AND sync_kind IS NOT NULL`,
    values: [organisationId, delayMs],
  });
}

/**
 * Records that the ledger cannot be called for `delayMs`, or with null that it can again. A failed
 * sync keeps its reason and its number of failures until it continues.
 */
export async function rescheduleSync(
  pool: Pool,
  organisationId: string,
  put: { readonly delayMs: number; readonly reason: string; readonly isFailure: boolean } | null,
): Promise<void> {
  await pool.query({
    name: "reschedule_sync",
    text: `UPDATE ledger_sync_cursors SET not_before = now() + $2 * interval '1 millisecond',
        reason = coalesce($3, CASE WHEN sync_kind IS NOT NULL THEN reason END),
        failures = CASE WHEN $3::text IS NULL AND sync_kind IS NULL THEN 0 ELSE failures + $4::int END
      WHERE organisation_id = $1`,
    values: [organisationId, put?.delayMs ?? null, put?.reason ?? null, put?.isFailure ? 1 : 0],
  });
}

/**
 * The organisations whose ledger is to be read now, by rising id after `after`. It reads across
 * organisations and returns ids only.
 */
export async function findMirrors(
  pool: Pool,
  after: string | null,
  limit: number,
  syncIntervalMs: number,
): Promise<readonly string[]> {
  if (after === null) await beginMirrors(pool, syncIntervalMs);
  const { rows } = await pool.query<{ organisation_id: string }>({
    name: "find_mirrors",
    text: `SELECT c.organisation_id FROM ledger_connections c LEFT JOIN ledger_sync_cursors s ON s.organisation_id = c.organisation_id
      WHERE ($1::uuid IS NULL OR c.organisation_id > $1) AND ${isAskable} AND (s.next_sync_at <= now()
        OR EXISTS (SELECT FROM ledger_notifications h WHERE h.organisation_id = c.organisation_id AND h.try_at <= now()))
      ORDER BY c.organisation_id LIMIT $2`,
    values: [after, limit],
  });
  return rows.map((row) => row.organisation_id);
}

/** Of these organisations, those with a due notification whose ledger may be called now. */
export async function findWithNotifications(
  pool: Pool,
  organisationIds: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await pool.query<{ organisation_id: string }>({
    name: "find_with_notifications",
    text: `SELECT c.organisation_id FROM ledger_connections c LEFT JOIN ledger_sync_cursors s ON s.organisation_id = c.organisation_id
      WHERE c.organisation_id = ANY ($1::uuid[]) AND ${isAskable}
        AND EXISTS (SELECT FROM ledger_notifications h WHERE h.organisation_id = c.organisation_id AND h.try_at <= now())`,
    values: [organisationIds],
  });
  return rows.map((row) => row.organisation_id);
}

// Connected, and not paused.
const isAskable =
  "c.disconnected_at IS NULL AND coalesce(greatest(c.paused_until, s.not_before) <= now(), true)";

async function beginMirrors(pool: Pool, syncIntervalMs: number): Promise<void> {
  await pool.query({
    name: "begin_mirrors",
    text: `INSERT INTO ledger_sync_cursors (organisation_id, tenant_id, next_sync_at)
      SELECT c.organisation_id, c.tenant_id, ${firstSyncAt("$1::float8")} FROM ledger_connections c WHERE c.disconnected_at IS NULL
        AND NOT EXISTS (SELECT FROM ledger_sync_cursors s WHERE s.organisation_id = c.organisation_id)
      ON CONFLICT DO NOTHING`,
    values: [syncIntervalMs],
  });
}
