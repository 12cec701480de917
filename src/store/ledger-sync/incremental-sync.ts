/**
 * The sweep over an organisation's ledger: from time to time all changes are read again, kind after kind, from the last sweep
 * on, so that a webhook that never came loses nothing; and until when the ledger is not asked. Facts: facts-ledger section 1.9.
 */
import type pg from "pg";
import { type SyncKind, syncKinds, takenAt } from "../ledger-jobs/pending-notifications.ts";

/**
 * How far back each sweep begins before its mark: what was still being written there then is read now. The mark itself
 * is as far before the sweep that set it, so that the ledger's clock may be behind ours.
 */
const overlapMs = 5 * 60_000;

/** While less than a fifth of the ledger's day is left, sweeps are so much rarer. */
const scarceFactor = 4;

/** The fewest calls of a day that a ledger allows. Facts: facts-ledger section 1.7. */
const leastDay = 1_000;

/** How often invoices that are partly paid are looked at: the ledger tells of no e-mail of theirs. */
const partPaidEvery = "interval '1 day'";

/** How many of them at most, which takes five calls; more than that take turns by chance. */
const mostPartPaid = 200;

/** The next page of the sweep under way: changes of `kind` since then (ISO 8601), from `cursor` of the page before. */
export interface SyncPage {
  readonly kind: SyncKind;
  readonly since: string;
  readonly cursor: string | null;
  readonly takenAt: string;
}

/** What a page came to. */
export interface SweptPage {
  readonly cursor: string | null;
  readonly highWater: string | null;
  readonly changed: number;
}

/**
 * How the mirror stands: `waitMs` until the ledger may be asked, `nextInMs` until something is to be done (null: nothing is), `failures`
 * how often looks have failed one after the other, and why the last one did, or something waits.
 */
export interface SyncState {
  readonly waitMs: number;
  readonly reason: string | null;
  readonly failures: number;
  readonly nextInMs: number | null;
}

// Where many are followed from the same moment on, as after an upgrade, their first sweeps are spread over the time between two.
const firstSyncAt = (syncIntervalMs: string): string =>
  `greatest(c.created_at + ${syncIntervalMs} * interval '1 millisecond', now() + random() * ${syncIntervalMs} * interval '1 millisecond')`;

/**
 * How the mirror of an organisation stands. Its first sweep is due once the connection is as old as the time between two, and somewhere
 * within that time from now on; where it leads to another tenant by now, all is read anew.
 */
export async function readSyncState(pool: pg.Pool, organisationId: string, syncIntervalMs: number): Promise<SyncState> {
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
  return { waitMs: row.wait_ms, reason: row.reason, failures: row.failures, nextInMs: row.next_in_ms };
}

interface SyncPageRow {
  sync_kind: SyncKind;
  sync_cursor: string | null;
  since: Date;
  taken_at: string;
}

/** The next page of the sweep under way, or of the one that is due, which begins with it; null where neither is, or it has just failed. */
export async function claimSyncPage(pool: pg.Pool, organisationId: string): Promise<SyncPage | null> {
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

// In Xero the time of a change does not move when an invoice with money on it is sent: lists and webhooks say nothing of it.
async function hintPartPaid(pool: pg.Pool, organisationId: string): Promise<void> {
  await pool.query({
    name: "hint_part_paid",
    text: `WITH due AS (
        UPDATE ledger_sync_cursors SET part_paid_looked_at = now() WHERE organisation_id = $1
          AND (part_paid_looked_at IS NULL OR part_paid_looked_at < now() - ${partPaidEvery}) RETURNING organisation_id
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

// Another round may have been faster: then nothing is moved. An operator who asked while it was under way gets one more. No change is of
// a time that is to come, as what cannot be read may say: nothing that is changed until then would be read. A kind's mark
// moves once all its pages are read, because the newest come first; and it moves with time, also where nothing was changed.
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
  next_sync_at = CASE WHEN NOT over.is_over THEN s.next_sync_at WHEN s.asked_at > s.began_at THEN now()
    ELSE now() + $8 * CASE WHEN over.day_remaining < greatest(s.day_most, ${leastDay}) / 5 THEN ${scarceFactor} ELSE 1 END
      * interval '1 millisecond' END
FROM (SELECT CASE WHEN $5::timestamptz IS NOT NULL THEN least($5::timestamptz, now()) END AS high_water,
    ${overlapMs} * interval '1 millisecond' AS overlap) AS seen,
  (SELECT $4::text IS NULL AND $7::text IS NULL AS is_over,
    (SELECT day_remaining FROM ledger_budgets WHERE organisation_id = $1) AS day_remaining) AS over
WHERE s.organisation_id = $1 AND s.sync_kind = $2 AND s.sync_cursor IS NOT DISTINCT FROM $3`;

/** Moves the sweep on by a page that was saved; after the last kind it is over, and the next one due after `syncIntervalMs`. */
export async function endPage(
  pool: pg.Pool,
  organisationId: string,
  page: SyncPage,
  { cursor, highWater, changed }: SweptPage,
  syncIntervalMs: number,
): Promise<void> {
  const next = syncKinds[syncKinds.indexOf(page.kind) + 1] ?? null;
  await pool.query({
    name: "end_sync_page",
    text: endPageText,
    values: [organisationId, page.kind, page.cursor, cursor, highWater, changed, next, syncIntervalMs],
  });
}

/** Has the sweep under way go on after `delayMs` only, because its page failed. */
export async function failSyncPage(pool: pg.Pool, organisationId: string, delayMs: number): Promise<void> {
  await pool.query({
    name: "fail_sync_page",
    text: `UPDATE ledger_sync_cursors SET next_sync_at = now() + $2 * interval '1 millisecond'
      WHERE organisation_id = $1 AND sync_kind IS NOT NULL`,
    values: [organisationId, delayMs],
  });
}

/**
 * Writes that the ledger could not be asked, so that all looks wait for `delayMs`; null: it could be again. A sweep that failed says why,
 * and how often, until it has gone on.
 */
export async function rescheduleSync(
  pool: pg.Pool,
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
 * The organisations whose ledger is to be looked at now, by rising id after `after`. One query over all: it carries ids
 * only.
 */
export async function findMirrors(
  pool: pg.Pool,
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

/** Of these organisations those with a hint that is due, in whose ledgers it can be looked now. */
export async function findWithNotifications(pool: pg.Pool, organisationIds: readonly string[]): Promise<readonly string[]> {
  const { rows } = await pool.query<{ organisation_id: string }>({
    name: "find_with_notifications",
    text: `SELECT c.organisation_id FROM ledger_connections c LEFT JOIN ledger_sync_cursors s ON s.organisation_id = c.organisation_id
      WHERE c.organisation_id = ANY ($1::uuid[]) AND ${isAskable}
        AND EXISTS (SELECT FROM ledger_notifications h WHERE h.organisation_id = c.organisation_id AND h.try_at <= now())`,
    values: [organisationIds],
  });
  return rows.map((row) => row.organisation_id);
}

// Connected, and nothing says that it has to wait.
const isAskable = "c.disconnected_at IS NULL AND coalesce(greatest(c.paused_until, s.not_before) <= now(), true)";

async function beginMirrors(pool: pg.Pool, syncIntervalMs: number): Promise<void> {
  await pool.query({
    name: "begin_mirrors",
    text: `INSERT INTO ledger_sync_cursors (organisation_id, tenant_id, next_sync_at)
      SELECT c.organisation_id, c.tenant_id, ${firstSyncAt("$1::float8")} FROM ledger_connections c WHERE c.disconnected_at IS NULL
        AND NOT EXISTS (SELECT FROM ledger_sync_cursors s WHERE s.organisation_id = c.organisation_id)
      ON CONFLICT DO NOTHING`,
    values: [syncIntervalMs],
  });
}
