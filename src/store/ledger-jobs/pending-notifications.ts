/**
 * What is to be looked at in an organisation's ledger because a webhook said so, or because what we know may lag behind. A hint says
 * where to look and never what is there, so that one more or one twice does no harm. Facts: facts-ledger section 1.9.
 */
import type pg from "pg";

/** The kinds of things that are followed, in the order of a sweep: a note's allocations come before the invoices that they are on. */
export const syncKinds = ["contacts", "credit_notes", "invoices"] as const;

/** One of them. */
export type SyncKind = (typeof syncKinds)[number];

/** How many hints are taken at once: as many as one call looks up, and few where each has an address of its own. */
const notificationsAtOnce = "CASE WHEN $2 = 'credit_notes' THEN 8 ELSE 40 END";

/** After so many calls that failed a thing is asked for alone: one that the ledger always fails on must not keep others in its call. */
const togetherFailures = 2;

/** The longest pause between two looks at what cannot be looked at: a person must act, in the ledger or here. */
const longestPause = "interval '6 hours'";

/** A hint as it was taken: what comes later for the same thing stays. */
export interface ClaimedNotification {
  readonly ledgerId: string;
  readonly receivedAt: string;
}

/** Something that was asked for and cannot be followed, and why not, in words that name nobody. */
export interface SkippedNotification {
  readonly ledgerId: string;
  readonly reason: string;
}

/**
 * Hints of one kind, and when they were taken by the database's clock: what is read for them is as new as that. `isAlone`: calls failed
 * for the one that it is.
 */
export interface ClaimedNotifications {
  readonly kind: SyncKind;
  readonly hints: readonly ClaimedNotification[];
  readonly isAlone: boolean;
  readonly takenAt: string;
}

/** The database's clock as text, which loses nothing of its microseconds on the way back. */
export const takenAt = "to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')";

/** Whether one of our own operations is on its way with row `d`, an invoice: then its answer tells more than a look. */
export const isBusyInvoice = `(EXISTS (SELECT FROM ledger_jobs o WHERE o.organisation_id = d.organisation_id AND o.invoice_id = d.id
    AND o.state IN ('sending', 'uncertain'))
  OR EXISTS (SELECT FROM removals r JOIN ledger_jobs o ON o.organisation_id = r.organisation_id AND o.id = r.termination_id
    WHERE r.organisation_id = d.organisation_id AND r.invoice_id = d.id AND r.state = 'waiting' AND o.state IN ('sending', 'uncertain')))`;

/** The same of a credit note. */
export const isBusyNote = `EXISTS (SELECT FROM ledger_jobs o WHERE o.organisation_id = d.organisation_id AND o.credit_note_id = d.id
    AND o.state IN ('sending', 'uncertain'))`;

// What is not ours, and cannot be on its way to become it, needs no look; nor does what was written here since it was changed.
// Whoever writes several hints locks them in this order, by kind and id: two at once would else wait for each other.
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

// Known by now, or left for later, and later each time: what is on its way is settled within seconds, or is looked up by its own operation.
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

// Those that calls failed for come last, the one that has waited longest first: they keep no others waiting, of whatever kind.
const dueText = `
SELECT kind, failures >= ${togetherFailures} AS is_alone FROM ledger_notifications WHERE organisation_id = $1 AND try_at <= now()
GROUP BY kind, failures >= ${togetherFailures}
ORDER BY is_alone, CASE WHEN min(failures) >= ${togetherFailures} THEN min(try_at) END, min(failures), kind`;

interface TakenRow {
  ledger_id: string;
  received_at: string;
  taken_at: string;
}

/** Drops the hints of a kind that need no look: of what is not ours, and of what was written here since it was changed. */
export async function dropNotifications(pool: pg.Pool, organisationId: string, kind: SyncKind): Promise<void> {
  await pool.query({ name: "drop_notifications", text: dropText, values: [organisationId, kind] });
}

/**
 * The hints of the first kind that has some to be looked at, as many as one call is to ask for: those that calls failed for come after
 * all the others, one at a time. Null where there are none.
 */
export async function claimNotifications(pool: pg.Pool, organisationId: string): Promise<ClaimedNotifications | null> {
  const { rows: due } = await pool.query<{ kind: SyncKind; is_alone: boolean }>({
    name: "due_notifications",
    text: dueText,
    values: [organisationId],
  });
  for (const { kind, is_alone: isAlone } of due) {
    await dropNotifications(pool, organisationId, kind);
    const values = [organisationId, kind, isAlone];
    const { rows } = await pool.query<TakenRow>({ name: "claim_notifications", text: takeText, values });
    const [first] = rows;
    if (first === undefined) continue;
    const hints = (isAlone ? [first] : rows).map((row) => ({ ledgerId: row.ledger_id, receivedAt: row.received_at }));
    return { kind, hints, isAlone, takenAt: first.taken_at };
  }
  return null;
}

/**
 * Ends hints that were looked at. Those `again` are looked at once more in a moment; those `unfollowed` stay, are looked at ever more
 * rarely and say why. One that was alone says that the ledger answers again: from then on the others of its kind are asked for together.
 */
export async function finishNotifications(
  pool: pg.Pool,
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

// One that the ledger always fails on is alone again after one more failure.
async function rejoinNotifications(pool: pg.Pool, organisationId: string, kind: SyncKind): Promise<void> {
  await pool.query({
    name: "rejoin_notifications",
    text: `UPDATE ledger_notifications h SET failures = ${togetherFailures - 1} FROM (
        SELECT ledger_id FROM ledger_notifications WHERE organisation_id = $1 AND kind = $2 AND failures >= ${togetherFailures}
        ORDER BY ledger_id FOR UPDATE) AS alone
      WHERE h.organisation_id = $1 AND h.kind = $2 AND h.ledger_id = alone.ledger_id`,
    values: [organisationId, kind],
  });
}

/** Writes that the call for these things failed: each is asked for again later, and later each time. */
export async function failNotifications(
  pool: pg.Pool,
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
 * Leaves hints, of things that are ours or may be on their way to become so. One that could not be looked at, and is told of anew, waits
 * for a minute at most, because what kept it may be mended; with `keepsPauses` it waits as it did, because nothing new was told.
 */
export async function leaveNotifications(
  pool: Pick<pg.Pool, "query">,
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
    values: [organisationId, kind, hints.map((one) => one.ledgerId), hints.map((one) => one.changedAt), keepsPauses],
  });
}
