/**
 * Carries out ends for their workflow. One job is leased for each removal in order, and at last to
 * write the end. Its states are those in `ledger-jobs/jobs.ts`. A removal reads the ledger first,
 * so one whose answer was lost is simply tried again (LEDGER-3).
 */

import type { EndWhen } from "../../domain/subscriptions/end.ts";
import type { Encryption } from "../database/encryption.ts";
import type { Pool } from "../database/pool.ts";
import {
  type ConnectionState,
  pauseConnection,
  readConnection,
} from "../ledger-connection/connections.ts";
import { outcomesChannel } from "../ledger-jobs/job-notifications.ts";
import type { HeldRemoval, HeldTermination } from "./end-lease.ts";
import { createRecordTermination, type RecordTermination } from "./end-outcomes.ts";

/**
 * A termination's next step. `remove`: the ledger has the invoice as `ledgerId`. `drop`: it does
 * not, and sending has not begun. `wait`: the invoice is being posted, or another job works on it.
 * `finish`: all are removed.
 */
export type TerminationTask =
  | (HeldRemoval & { readonly kind: "remove"; readonly ledgerId: string })
  | (HeldRemoval & { readonly kind: "drop" | "wait" })
  | (HeldTermination & { readonly kind: "finish"; readonly when: EndWhen });

/**
 * A termination's state. `outcome` is `ended` or `refused`, null while it is open. Then it can be
 * taken in `nextInMs`, and `reason` is its last failure. `current` is the invoice to remove next,
 * or the refused one. Of `removals`, so many are `removed` and so many `left`.
 */
export interface TerminationState {
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly nextInMs: number | null;
  readonly current: string | null;
  readonly removals: number;
  readonly removed: number;
  readonly left: number;
}

/** Store of one organisation's terminations. */
export interface TerminationStore extends RecordTermination {
  /** The connection with its secret decrypted, or null if there is none. */
  connection(): Promise<ConnectionState | null>;
  /** Pauses every call of the connection. */
  pause(pauseMs: number, reason: string): Promise<void>;
  /** Loads the termination's state. Null if there is none. */
  read(terminationId: string): Promise<TerminationState | null>;
  /**
   * Takes the next step under a lease. Null if the termination is decided, rescheduled or leased
   * elsewhere.
   */
  take(terminationId: string, leaseMs: number): Promise<TerminationTask | null>;
  /** Releases the lease for a retry after `delayMs` and notifies waiting callers. */
  release(held: HeldTermination, delayMs: number, reason: string): Promise<void>;
}

/** Opens an organisation's terminations. */
export type OpenTerminations = (organisationId: string) => TerminationStore;

/** Binds terminations to a pool. `encryption` decrypts the connections' secrets. */
export function createTerminations(pool: Pool, encryption: Encryption): OpenTerminations {
  return (organisationId) => ({
    ...createRecordTermination(pool, organisationId),
    connection: () => readConnection(pool, encryption, organisationId),
    pause: (pauseMs, reason) => pauseConnection(pool, organisationId, pauseMs, reason),
    read: (terminationId) => readTermination(pool, organisationId, terminationId),
    take: (terminationId, leaseMs) => take(pool, organisationId, terminationId, leaseMs),
    release: (held, delayMs, reason) => release(pool, organisationId, held, delayMs, reason),
  });
}

interface StateRow {
  state: string;
  ended: boolean;
  reason: string | null;
  next_in_ms: number | null;
  current: string | null;
  removals: number;
  removed: number;
  left: number;
}

async function readTermination(
  pool: Pool,
  organisationId: string,
  terminationId: string,
): Promise<TerminationState | null> {
  const { rows } = await pool.query<StateRow>({
    name: "read_termination",
    text: `SELECT o.state, e.ended, o.reason, r.current, r.removals, r.removed, r.left, CASE
      WHEN o.finished_at IS NULL THEN
        greatest(0, ceil(1000 * extract(epoch FROM CASE WHEN o.state = 'ready' THEN o.not_before
          ELSE o.lease_until END - now())))
        END::float8 AS next_in_ms
      FROM terminations e JOIN ledger_jobs o ON o.organisation_id = $1 AND o.id = e.id 
        CROSS JOIN LATERAL (
        SELECT count(*)::int AS removals, count(*)
          FILTER (WHERE m.state = 'removed')::int AS removed,
          count(*) FILTER (WHERE m.state = 'left')::int AS left,
          min(i.number) FILTER (WHERE m.step = (SELECT min(n.step) FROM removals n
            WHERE n.organisation_id = $1 AND n.termination_id = e.id
              AND n.state IN ('waiting', 'refused'))) AS current
        FROM removals m JOIN invoices i ON i.organisation_id = $1 AND i.id = m.invoice_id
        WHERE m.organisation_id = $1 AND m.termination_id = e.id
      ) r WHERE e.organisation_id = $1 AND e.id = $2`,
    values: [organisationId, terminationId],
  });
  const row = rows[0];
  if (row === undefined) return null;
  const { state, ended, reason, current, removals, removed, left, next_in_ms: nextInMs } = row;
  const outcome = nextInMs !== null ? null : ended ? "ended" : state;
  return { outcome, reason, nextInMs, current, removals, removed, left };
}

interface TaskRow {
  id: string;
  subscription_id: string;
  attempts: number;
  end_when: EndWhen;
  tried_ms: number;
  is_awaited: boolean;
  step: number | null;
  invoice_id: string;
  number: string;
  ledger_id: string | null;
  is_busy: boolean;
  is_ahead: boolean;
  is_only_unsent: boolean;
}

// An invoice whose sending has not begun is abandoned. If another job works on it, its removal
// waits.
const takeText = `
WITH taken AS (
  UPDATE ledger_jobs o SET state = CASE WHEN o.state = 'ready' THEN 'sending' ELSE 'uncertain' END,
    first_sent_at = coalesce(o.first_sent_at, now()),
      lease_until = now() + $3 * interval '1 millisecond', attempts = o.attempts + 1
  WHERE o.organisation_id = $1 AND o.id = $2 AND o.kind = 'end_subscription'
    AND (o.state = 'ready' AND o.not_before <= now() OR o.state IN ('sending', 'uncertain')
      AND o.lease_until < now())
  RETURNING o.id, o.subscription_id, o.attempts, o.first_sent_at, o.awaited_until
)
SELECT taken.id, taken.subscription_id, taken.attempts, e.end_when, next.step, next.invoice_id,
  next.number, next.ledger_id,
  (1000 * extract(epoch FROM now() - taken.first_sent_at))::float8 AS tried_ms,
    taken.awaited_until > now() AS is_awaited,
  coalesce(next.is_busy, false) AS is_busy, coalesce(next.is_ahead, false) AS is_ahead,
  coalesce(next.is_only_unsent, false) AS is_only_unsent
FROM taken JOIN terminations e ON e.organisation_id = $1 AND e.id = taken.id LEFT JOIN LATERAL (
  SELECT r.step, i.id AS invoice_id, i.number, i.ledger_invoice_id AS ledger_id,
    EXISTS (SELECT 1 FROM ledger_jobs b
      WHERE b.organisation_id = $1 AND b.invoice_id = i.id
        AND b.state IN ('ready', 'sending', 'uncertain')
        AND NOT (b.kind = 'create_invoice' AND b.state = 'ready')) AS is_busy,
    (i.type = 'renewal' AND i.period_index > s.current_period OR i.type = 'first'
      AND s.status = 'pending') AS is_ahead,
    r.only_unsent AS is_only_unsent
  FROM removals r JOIN invoices i ON i.organisation_id = $1 AND i.id = r.invoice_id
    JOIN subscriptions s ON s.organisation_id = $1 AND s.id = i.subscription_id
  WHERE r.organisation_id = $1 AND r.termination_id = taken.id AND r.state = 'waiting'
    ORDER BY r.step LIMIT 1
) next ON true`;

async function take(
  pool: Pool,
  organisationId: string,
  terminationId: string,
  leaseMs: number,
): Promise<TerminationTask | null> {
  const { rows } = await pool.query<TaskRow>({
    name: "take_termination",
    text: takeText,
    values: [organisationId, terminationId, leaseMs],
  });
  const row = rows[0];
  if (row === undefined) return null;
  const held: HeldTermination = {
    terminationId,
    subscriptionId: row.subscription_id,
    attempt: row.attempts,
  };
  const { step, number } = row;
  if (step === null) return { ...held, kind: "finish", when: row.end_when };
  const {
    invoice_id: invoiceId,
    tried_ms: triedMs,
    is_awaited: isAwaited,
    is_ahead: isAhead,
  } = row;
  const { is_only_unsent: isOnlyUnsent } = row;
  const removal: HeldRemoval = {
    ...held,
    step,
    invoiceId,
    number,
    triedMs,
    isAwaited,
    isAhead,
    isOnlyUnsent,
  };
  if (row.is_busy) return { ...removal, kind: "wait" };
  return row.ledger_id === null
    ? { ...removal, kind: "drop" }
    : { ...removal, kind: "remove", ledgerId: row.ledger_id };
}

async function release(
  pool: Pool,
  organisationId: string,
  { terminationId, attempt }: HeldTermination,
  delayMs: number,
  reason: string,
): Promise<void> {
  await pool.query({
    name: "release_termination",
    text: `WITH op AS (
        UPDATE ledger_jobs o SET state = 'ready',
          not_before = now() + $4 * interval '1 millisecond', lease_until = NULL, reason = $5
        WHERE o.organisation_id = $1 AND o.id = $2 AND o.attempts = $3
          AND o.kind = 'end_subscription'
          AND o.state IN ('sending', 'uncertain') RETURNING o.id
      ) SELECT pg_notify('${outcomesChannel}', op.id::text) FROM op`,
    values: [organisationId, terminationId, attempt, delayMs, reason],
  });
}
