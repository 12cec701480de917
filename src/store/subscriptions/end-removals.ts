/**
 * Carries out ends for their workflow. One job is leased for each removal in order, and at last to
 * write the end. Its states are those in `ledger-jobs/jobs.ts`. A removal reads the ledger first,
 * so one whose answer was lost is simply tried again (LEDGER-3). SQL, because it claims, and reads
 * with counts by the database's clock.
 */

import { strict as assert } from "node:assert";
import type { EndWhen } from "../../domain/subscriptions/end.ts";
import { columns } from "../../gen/columns.ts";
import { binding } from "../database/bind.ts";
import { msUntil } from "../database/clock.ts";
import type { Encryption } from "../database/encryption.ts";
import type { Pool } from "../database/pool.ts";
import { bool, float, int, pick, type RowOf, text } from "../database/sql/columns.ts";
import { literal, sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";
import { bindConnection } from "../ledger-connection/connections.ts";
import { dueAt, jobClaim } from "../ledger-jobs/job-lease.ts";
import { outcomesChannel } from "../ledger-jobs/job-notifications.ts";
import { isAhead, isHeld, type LeasedRemoval, type LeasedTermination } from "./end-lease.ts";
import { finishTermination, saveRefused } from "./end-outcomes.ts";
import { dropInvoice, saveLeft, saveRemoved } from "./removal-outcomes.ts";

/**
 * A termination's next step. `remove`: the ledger has the invoice as `ledgerId`. `drop`: it does
 * not, and sending has not begun. `wait`: the invoice is being posted, or another job works on it.
 * `finish`: all are removed.
 */
export type TerminationTask =
  | (LeasedRemoval & { readonly kind: "remove"; readonly ledgerId: string })
  | (LeasedRemoval & { readonly kind: "drop" | "wait" })
  | (LeasedTermination & { readonly kind: "finish"; readonly when: EndWhen });

/** A termination as it is stored, with its job's state. */
const storedRow = {
  ...pick(columns.ledgerJob, "state", "reason"),
  ...pick(columns.termination, "ended"),
  /** The invoice to remove next, or the refused one. */
  current: text.orNull(),
  removals: int,
  /** Of `removals`. */
  removed: int,
  /** Of `removals`. */
  left: int,
  nextInMs: float.orNull(),
};

/**
 * A termination's state. `outcome` is `ended` or `refused`, null while it is open. Then it can be
 * taken in `nextInMs`, and `reason` is its last failure.
 */
type TerminationState = Omit<RowOf<typeof storedRow>, "state" | "ended"> & {
  readonly outcome: string | null;
};

/** Store of one organisation's terminations. */
export type TerminationStore = ReturnType<OpenTerminations>;

/** Opens an organisation's terminations. */
export type OpenTerminations = ReturnType<typeof createTerminations>;

/** Binds terminations to a pool. `encryption` decrypts the connections' secrets. */
export function createTerminations(pool: Pool, encryption: Encryption) {
  return (organisationId: string) => {
    const bound = binding(pool, organisationId);
    return {
      ...bindConnection(pool, encryption, organisationId),
      read: bound(readTermination),
      take: bound(take),
      release: bound(release),
      removed: bound(saveRemoved),
      drop: bound(dropInvoice),
      leave: bound(saveLeft),
      refuse: bound(saveRefused),
      finish: bound(finishTermination),
    };
  };
}

const readStored = query({
  name: "read_termination",
  text: sql`
    SELECT
      t.state, e.ended, t.reason, r.current, r.removals, r.removed, r.left,
      CASE WHEN t.finished_at IS NULL THEN ${msUntil(dueAt)} END AS next_in_ms
    FROM
      terminations e
      JOIN ledger_jobs t ON t.organisation_id = $1 AND t.id = e.id
      CROSS JOIN LATERAL (
        SELECT
          count(*)::int AS removals,
          count(*) FILTER (WHERE m.state = 'removed')::int AS removed,
          count(*) FILTER (WHERE m.state = 'left')::int AS left,
          min(i.number) FILTER (
            WHERE
              m.step = (
                SELECT min(n.step)
                FROM removals n
                WHERE
                  n.organisation_id = $1
                  AND n.termination_id = e.id
                  AND n.state IN ('waiting', 'refused')
              )
          ) AS current
        FROM
          removals m
          JOIN invoices i ON i.organisation_id = $1 AND i.id = m.invoice_id
        WHERE m.organisation_id = $1 AND m.termination_id = e.id
      ) r
    WHERE e.organisation_id = $1 AND e.id = $2
  `,
  row: storedRow,
});

/** Loads the termination's state. Null if there is none. */
async function readTermination(
  pool: Pool,
  organisationId: string,
  terminationId: string,
): Promise<TerminationState | null> {
  const [row] = await readStored(pool, organisationId, terminationId);
  if (row === undefined) return null;
  const { state, ended, ...rest } = row;
  return { ...rest, outcome: rest.nextInMs !== null ? null : ended ? "ended" : state };
}

// An invoice whose sending has not begun is abandoned. If another job works on it, its removal
// waits.
const claim = jobClaim({
  name: "claim_termination",
  condition: sql`t.id = $2 AND t.kind = 'end_subscription'`,
  columns: sql`taken.id AS termination_id, taken.subscription_id, taken.attempts AS attempt,
    e.end_when AS when, next.step, next.invoice_id, next.number, next.ledger_id,
    (1000 * extract(epoch FROM now() - taken.first_sent_at))::float8 AS tried_ms,
    coalesce(taken.awaited_until > now(), false) AS is_awaited,
    coalesce(next.is_busy, false) AS is_busy, coalesce(next.is_ahead, false) AS is_ahead,
    coalesce(next.only_unsent, false) AS is_only_unsent`,
  joins: sql`JOIN terminations e ON e.organisation_id = $1 AND e.id = taken.id LEFT JOIN LATERAL (
      SELECT r.step, i.id AS invoice_id, i.number, i.ledger_invoice_id AS ledger_id, r.only_unsent,
        EXISTS (SELECT 1 FROM ledger_jobs b
          WHERE b.organisation_id = $1 AND b.invoice_id = i.id
            AND b.state IN ('ready', 'sending', 'uncertain')
            AND NOT (b.kind = 'create_invoice' AND b.state = 'ready')) AS is_busy,
        ${isAhead} AS is_ahead
      FROM removals r JOIN invoices i ON i.organisation_id = $1 AND i.id = r.invoice_id
        JOIN subscriptions s ON s.organisation_id = $1 AND s.id = i.subscription_id
      WHERE r.organisation_id = $1 AND r.termination_id = taken.id AND r.state = 'waiting'
      ORDER BY r.step LIMIT 1
    ) next ON true`,
  row: {
    terminationId: columns.termination.id,
    subscriptionId: columns.ledgerJob.subscriptionId.present(),
    attempt: columns.ledgerJob.attempts,
    when: columns.termination.endWhen.as<EndWhen>(),
    /** Null if no removal is left. */
    step: columns.removal.step.orNull(),
    invoiceId: columns.invoice.id.orNull(),
    number: columns.invoice.number.orNull(),
    ledgerId: columns.invoice.ledgerInvoiceId,
    triedMs: float,
    isAwaited: bool,
    isBusy: bool,
    isAhead: bool,
    isOnlyUnsent: bool,
  },
});

/**
 * Takes the next step under a lease. Null if the termination is decided, rescheduled or leased
 * elsewhere.
 */
async function take(
  pool: Pool,
  organisationId: string,
  terminationId: string,
  leaseMs: number,
): Promise<TerminationTask | null> {
  const [next] = await claim(pool, organisationId, terminationId, leaseMs);
  if (next === undefined) return null;
  const { step, when, invoiceId, number, ledgerId, isBusy, ...leased } = next;
  if (step === null) {
    const { subscriptionId, attempt } = leased;
    return { kind: "finish", terminationId, subscriptionId, attempt, when };
  }
  assert(invoiceId !== null && number !== null, "a removal has an invoice");
  const removal: LeasedRemoval = { ...leased, step, invoiceId, number };
  if (isBusy) return { ...removal, kind: "wait" };
  return ledgerId === null
    ? { ...removal, kind: "drop" }
    : { ...removal, kind: "remove", ledgerId };
}

const releaseHeld = command({
  name: "release_termination",
  text: sql`
    WITH
      op AS (
        UPDATE ledger_jobs o
        SET
          state = 'ready',
          not_before = now() + $4 * interval '1 millisecond',
          lease_until = NULL,
          reason = $5,
          first_sent_at = CASE WHEN NOT $6 THEN o.first_sent_at END
        WHERE o.organisation_id = $1 AND ${isHeld}
        RETURNING o.id
      )
    SELECT
    FROM
      op,
      pg_notify(${literal(outcomesChannel)}, op.id::text)
  `,
});

/**
 * Releases the lease for a retry after `delayMs` and notifies waiting callers. `isUnsent`: the
 * ledger has never been called for this step, so no answer of it can be lost.
 */
async function release(
  pool: Pool,
  organisationId: string,
  { terminationId, attempt }: LeasedTermination,
  delayMs: number,
  reason: string,
  isUnsent = false,
): Promise<void> {
  await releaseHeld(pool, organisationId, terminationId, attempt, delayMs, reason, isUnsent);
}
