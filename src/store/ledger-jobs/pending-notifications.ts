/**
 * Change notifications of an organisation's ledger, from webhooks or because our state may be
 * stale. A notification says which object to read and never its content. One more or a repeated one
 * does no harm (LEDGER-4).
 */
import type { Pool } from "../database/pool.ts";

/**
 * The synced kinds in the order of an incremental sync. A note's allocations come before their
 * invoices.
 */
export const syncKinds = ["contacts", "credit_notes", "invoices"] as const;

/** A kind of synced object. */
export type SyncKind = (typeof syncKinds)[number];

/**
 * How many notifications are claimed at once: as many as one call reads, and few if each needs its
 * own address.
 */
const notificationsAtOnce = "CASE WHEN $2 = 'credit_notes' THEN 8 ELSE 40 END";

/**
 * After this many failed calls an object is requested alone. Otherwise one that always fails would
 * block the others in its call.
 */
const togetherFailures = 2;

/**
 * The longest pause between two reads of an object that cannot be read (LEDGER-5). A person must
 * act, in the ledger or here.
 */
const longestPause = "interval '6 hours'";

/** A claimed notification. A later one for the same object stays. */
export interface ClaimedNotification {
  readonly ledgerId: string;
  readonly receivedAt: string;
}

/** An object that was requested and cannot be synced, and why. The reason names no person. */
export interface SkippedNotification {
  readonly ledgerId: string;
  readonly reason: string;
}

/**
 * Claimed notifications of one kind. `takenAt` is the database's clock at the claim, so the data
 * read is at least as new. `isAlone`: calls failed for its single object.
 */
export interface ClaimedNotifications {
  readonly kind: SyncKind;
  readonly hints: readonly ClaimedNotification[];
  readonly isAlone: boolean;
  readonly takenAt: string;
}

/** SQL: the database's clock as text, which keeps its microseconds on the way back. */
export const takenAt =
  "to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')";

/** SQL: one of our own jobs works on row `d`, an invoice. Its answer reports more than a read. */
export const isBusyInvoice = `(EXISTS (SELECT FROM ledger_jobs o WHERE o.organisation_id = d.organisation_id AND o.invoice_id = d.id
    AND o.state IN ('sending', 'uncertain'))
  OR EXISTS (SELECT FROM removals r JOIN ledger_jobs o ON o.organisation_id = r.organisation_id AND o.id = r.termination_id
    WHERE r.organisation_id = d.organisation_id AND r.invoice_id = d.id AND r.state = 'waiting' AND o.state IN ('sending', 'uncertain')))`;

/** SQL: one of our own jobs works on row `d`, a credit note. */
export const isBusyNote = `EXISTS (SELECT FROM ledger_jobs o WHERE o.organisation_id = d.organisation_id AND o.credit_note_id = d.id
    AND o.state IN ('sending', 'uncertain'))`;

// An object that is not ours, and is not becoming ours, needs no read. Neither does one that was
// written here since its change. Statements that write several notifications lock them in this
// order, by kind and id, so that two never deadlock.
const dropText = `
WITH needless AS (SELECT h.ledger_id FROM ledger_notifications h WHERE h.organisation_id = $1 AND h.kind = $2 AND h.try_at <= now() AND CASE $2
  WHEN 'invoices' THEN EXISTS (SELECT FROM invoices d WHERE d.organisation_id = $1 AND d.ledger_invoice_id = h.ledger_id
      AND d.ledger_updated_at >= h.changed_at)
    OR NOT EXISTS (SELECT FROM invoices d WHERE d.organisation_id = $1 AND d.ledger_invoice_id = h.ledger_id)
      AND NOT EXISTS (SELECT FROM ledger_jobs o WHERE o.organisation_id = $1 AND o.kind = 'create_invoice' AND o.state IN ('sending', 'uncertain'))
  WHEN 'credit_notes' THEN EXISTS (SELECT FROM credit_notes d WHERE d.organisation_id = $1 AND d.ledger_credit_note_id = h.ledger_id
      AND d.ledger_updated_at >= h.changed_at)
    OR NOT EXISTS (SELECT FROM credit_notes d WHERE d.organisation_id = $1 AND d.ledger_credit_note_id = h.ledger_id)
      AND NOT EXISTS (SELECT FROM ledger_jobs o WHERE o.organisation_id = $1 AND o.kind = 'create_credit_note' AND o.state IN ('sending', 'uncertain'))
  ELSE EXISTS (SELECT FROM customers d WHERE d.organisation_id = $1 AND d.ledger_contact_id = h.ledger_id
      AND d.ledger_updated_at >= h.changed_at)
    OR NOT EXISTS (SELECT FROM customers d WHERE d.organisation_id = $1 AND d.ledger_contact_id = h.ledger_id)
      AND NOT EXISTS (SELECT FROM ledger_jobs o WHERE o.organisation_id = $1 AND o.kind IN ('create_contact', 'import_contact')
        AND o.state IN ('sending', 'uncertain')) END
  ORDER BY h.ledger_id FOR UPDATE OF h)
DELETE FROM ledger_notifications h USING needless WHERE h.organisation_id = $1 AND h.kind = $2 AND h.ledger_id = needless.ledger_id`;

// Claims known objects and reschedules the others, later each time. An object that is being posted
// has its outcome within seconds, or its own job looks it up.
const takeText = `
WITH due AS (
  SELECT h.ledger_id, h.received_at, h.try_at, CASE $2
    WHEN 'invoices' THEN EXISTS (SELECT FROM invoices d WHERE d.organisation_id = $1 AND d.ledger_invoice_id = h.ledger_id AND NOT ${isBusyInvoice})
    WHEN 'credit_notes' THEN EXISTS (SELECT FROM credit_notes d WHERE d.organisation_id = $1 AND d.ledger_credit_note_id = h.ledger_id
      AND NOT ${isBusyNote})
    ELSE EXISTS (SELECT FROM customers d WHERE d.organisation_id = $1 AND d.ledger_contact_id = h.ledger_id) END AS is_free
  FROM ledger_notifications h WHERE h.organisation_id = $1 AND h.kind = $2 AND h.try_at <= now() AND (h.failures >= ${togetherFailures}) = $3
  ORDER BY CASE WHEN $3 THEN h.try_at ELSE h.received_at END LIMIT ${notificationsAtOnce}
), busy AS (
  SELECT h.ledger_id FROM ledger_notifications h JOIN due USING (ledger_id) WHERE h.organisation_id = $1 AND h.kind = $2 AND NOT due.is_free
  ORDER BY h.ledger_id FOR UPDATE OF h
), later AS (
  UPDATE ledger_notifications h SET try_at = now() + greatest(interval '2 seconds', (now() - h.received_at) / 2) FROM busy
  WHERE h.organisation_id = $1 AND h.kind = $2 AND h.ledger_id = busy.ledger_id
)
SELECT ledger_id, received_at::text AS received_at, ${takenAt} AS taken_at FROM due WHERE is_free
ORDER BY CASE WHEN $3 THEN due.try_at ELSE due.received_at END`;

// Objects with failed calls come last, the longest waiting first. They delay no other object of any
// kind.
const dueText = `
SELECT kind, failures >= ${togetherFailures} AS is_alone FROM ledger_notifications WHERE organisation_id = $1 AND try_at <= now()
GROUP BY kind, failures >= ${togetherFailures}
ORDER BY is_alone, CASE WHEN min(failures) >= ${togetherFailures} THEN min(try_at) END, min(failures), kind`;

interface TakenRow {
  ledger_id: string;
  received_at: string;
  taken_at: string;
}

/**
 * Deletes a kind's notifications that need no read: objects that are not ours, and objects written
 * here since their change.
 */
export async function dropNotifications(
  pool: Pool,
  organisationId: string,
  kind: SyncKind,
): Promise<void> {
  await pool.query({ name: "drop_notifications", text: dropText, values: [organisationId, kind] });
}

/**
 * Claims notifications of the first kind that has any due, as many as one call reads. Objects with
 * failed calls come after all others, one at a time. Null if there are none.
 */
export async function claimNotifications(
  pool: Pool,
  organisationId: string,
): Promise<ClaimedNotifications | null> {
  const { rows: due } = await pool.query<{ kind: SyncKind; is_alone: boolean }>({
    name: "due_notifications",
    text: dueText,
    values: [organisationId],
  });
  for (const { kind, is_alone: isAlone } of due) {
    await dropNotifications(pool, organisationId, kind);
    const values = [organisationId, kind, isAlone];
    const { rows } = await pool.query<TakenRow>({
      name: "claim_notifications",
      text: takeText,
      values,
    });
    const [first] = rows;
    if (first === undefined) continue;
    const hints = (isAlone ? [first] : rows).map((row) => ({
      ledgerId: row.ledger_id,
      receivedAt: row.received_at,
    }));
    return { kind, hints, isAlone, takenAt: first.taken_at };
  }
  return null;
}

/**
 * Deletes notifications that were read. Those in `again` are read once more soon. Those in
 * `unfollowed` stay with their reason and are read ever more rarely. If the claim was for one
 * alone, the ledger answers again, so the others of its kind are read together.
 */
export async function finishNotifications(
  pool: Pool,
  organisationId: string,
  { kind, hints, isAlone }: ClaimedNotifications,
  again: readonly string[],
  unfollowed: readonly SkippedNotification[],
): Promise<void> {
  const reasons = new Map([
    ...again.map((id) => [id, null] as const),
    ...unfollowed.map(({ ledgerId, reason }) => [ledgerId, reason] as const),
  ]);
  await pool.query({
    name: "finish_notifications",
    text: `WITH taken AS (SELECT * FROM unnest($3::text[], $4::timestamptz[]) AS t(ledger_id, received_at)),
        kept AS (SELECT * FROM unnest($5::text[], $6::text[]) AS k(ledger_id, reason)), locked AS (
        SELECT h.ledger_id FROM ledger_notifications h JOIN taken USING (ledger_id) WHERE h.organisation_id = $1 AND h.kind = $2
        ORDER BY h.ledger_id FOR UPDATE OF h
      ), later AS (
        UPDATE ledger_notifications h SET changed_at = CASE WHEN kept.reason IS NOT NULL THEN h.changed_at END, failures = 0, reason = kept.reason,
          try_at = now() + CASE WHEN kept.reason IS NULL THEN greatest(interval '1 second', (now() - h.received_at) / 2)
            ELSE least(${longestPause}, greatest(interval '1 minute', now() - h.received_at)) END
        FROM locked JOIN kept USING (ledger_id) WHERE h.organisation_id = $1 AND h.kind = $2 AND h.ledger_id = locked.ledger_id
      )
      DELETE FROM ledger_notifications h USING locked JOIN taken USING (ledger_id)
      WHERE h.organisation_id = $1 AND h.kind = $2 AND h.ledger_id = taken.ledger_id
        AND h.received_at = taken.received_at AND NOT EXISTS (SELECT FROM kept WHERE kept.ledger_id = h.ledger_id)`,
    values: [
      organisationId,
      kind,
      hints.map(({ ledgerId }) => ledgerId),
      hints.map(({ receivedAt }) => receivedAt),
      [...reasons.keys()],
      [...reasons.values()],
    ],
  });
  if (isAlone && hints.length > 0) await rejoinNotifications(pool, organisationId, kind);
}

// An object that always fails is alone again after one more failure.
async function rejoinNotifications(
  pool: Pool,
  organisationId: string,
  kind: SyncKind,
): Promise<void> {
  await pool.query({
    name: "rejoin_notifications",
    text: `UPDATE ledger_notifications h SET failures = ${togetherFailures - 1} FROM (
        SELECT ledger_id FROM ledger_notifications WHERE organisation_id = $1 AND kind = $2 AND failures >= ${togetherFailures}
        ORDER BY ledger_id FOR UPDATE) AS alone
      WHERE h.organisation_id = $1 AND h.kind = $2 AND h.ledger_id = alone.ledger_id`,
    values: [organisationId, kind],
  });
}

/**
 * Records that the call for these objects failed. Each is requested again later, and later each
 * time.
 */
export async function failNotifications(
  pool: Pool,
  organisationId: string,
  { kind, hints }: Pick<ClaimedNotifications, "kind" | "hints">,
  reason: string,
): Promise<void> {
  await pool.query({
    name: "fail_notifications",
    text: `UPDATE ledger_notifications h SET failures = h.failures + 1, reason = $4,
        try_at = now() + least(${longestPause}, greatest(interval '2 seconds', now() - h.received_at))
      FROM (SELECT ledger_id FROM ledger_notifications WHERE organisation_id = $1 AND kind = $2 AND ledger_id = ANY ($3)
        ORDER BY ledger_id FOR UPDATE) AS failed
      WHERE h.organisation_id = $1 AND h.kind = $2 AND h.ledger_id = failed.ledger_id`,
    values: [organisationId, kind, hints.map(({ ledgerId }) => ledgerId), reason],
  });
}

/**
 * Stores notifications of objects that are ours or may become ours. A new notification shortens the
 * pause of an unreadable object to one minute, because its cause may be repaired. With
 * `keepsPauses` the pause stays, because nothing new was reported.
 */
export async function leaveNotifications(
  pool: Pick<Pool, "query">,
  organisationId: string,
  kind: SyncKind,
  hints: readonly { readonly ledgerId: string; readonly changedAt: string | null }[],
  keepsPauses = false,
): Promise<void> {
  if (hints.length === 0) return;
  await pool.query({
    name: "leave_notifications",
    text: `INSERT INTO ledger_notifications (organisation_id, kind, ledger_id, changed_at)
      SELECT $1, $2, ledger_id, CASE WHEN bool_and(changed_at IS NOT NULL) THEN max(changed_at) END
      FROM unnest($3::text[], $4::timestamptz[]) AS h(ledger_id, changed_at) GROUP BY ledger_id ORDER BY ledger_id
      ON CONFLICT (organisation_id, kind, ledger_id) DO UPDATE SET
        received_at = CASE WHEN $5 AND ledger_notifications.reason IS NOT NULL THEN ledger_notifications.received_at ELSE clock_timestamp() END,
        try_at = CASE WHEN $5 OR ledger_notifications.reason IS NULL THEN ledger_notifications.try_at ELSE least(ledger_notifications.try_at, now() + interval '1 minute') END,
        changed_at = CASE WHEN ledger_notifications.changed_at IS NOT NULL AND excluded.changed_at IS NOT NULL
          THEN greatest(ledger_notifications.changed_at, excluded.changed_at) END`,
    values: [
      organisationId,
      kind,
      hints.map((one) => one.ledgerId),
      hints.map((one) => one.changedAt),
      keepsPauses,
    ],
  });
}
