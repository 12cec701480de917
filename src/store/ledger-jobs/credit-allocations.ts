/**
 * Jobs that allocate held credit to invoices. They are planned when a note or an invoice becomes
 * approved, one at a time for each subscription, and taken under a lease. Order: oldest note, then
 * oldest invoice (DOCUMENT-4).
 */

import { newId } from "../database/ids.ts";
import { lockSubscriptions } from "../database/lock-order.ts";
import type { Pool, Transaction } from "../database/pool.ts";

/**
 * After this many refusals of a pair an operator must request a retry. A ledger that refuses every
 * amount has a reason that a person must check. A lower number would leave no room for payments
 * that arrive in between.
 */
const mostRefusals = 5;

/**
 * SQL condition: refusals keep note and invoice from being planned as a pair. They do so until the
 * amount changes, because then one of the two has changed. After `mostRefusals` they do so for
 * every amount. An operator's retry abandons the refusals. `note` and `invoice` are row names of
 * the statement.
 */
export const isRefusedPair = (note: string, invoice: string): string => `EXISTS (
  SELECT FROM ledger_jobs f
  WHERE f.organisation_id = ${note}.organisation_id AND f.credit_note_id = ${note}.id AND f.invoice_id = ${invoice}.id
    AND f.kind = 'allocate_credit' AND f.state = 'refused'
  HAVING count(*) >= ${mostRefusals} OR bool_or(f.amount = least(${note}.remaining_credit, ${invoice}.amount_due)))`;

// Only a person removes an allocation in the ledger, never this service. The note shows the
// removal. Before the note is read again the invoice shows it: less of it is paid than the note's
// credit there.
const isTakenOff = `(EXISTS (SELECT FROM allocations t
    WHERE t.organisation_id = $1 AND t.credit_note_id = n.id AND t.invoice_id = i.id AND t.status = 'removed')
  OR i.total - i.amount_due < (SELECT coalesce(sum(t.amount), 0) FROM allocations t
    WHERE t.organisation_id = $1 AND t.credit_note_id = n.id AND t.invoice_id = i.id AND t.status = 'active'))`;

// Invoices and notes share one number sequence: a greater number is later. Of the earlier invoices,
// those that the note reverses accept credit. An invoice with an open amendment is skipped, because
// the ledger would refuse to amend one with credit. The amendment's outcome plans again.
const planText = `
INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, credit_note_id, invoice_id, amount)
SELECT asked.job_id, $1, 'allocate_credit', 'ready', asked.subscription_id, pair.credit_note_id, pair.invoice_id, pair.amount
FROM unnest($2::uuid[], $3::uuid[]) AS asked(subscription_id, job_id) CROSS JOIN LATERAL (
  SELECT n.id AS credit_note_id, i.id AS invoice_id, least(n.remaining_credit, i.amount_due) AS amount
  FROM credit_notes n
    JOIN invoices i ON i.organisation_id = n.organisation_id AND i.subscription_id = n.subscription_id AND (i.seq > n.seq
      OR EXISTS (SELECT 1 FROM credit_note_lines l WHERE l.organisation_id = $1 AND l.credit_note_id = n.id
        AND l.reversed_invoice_id = i.id))
  WHERE n.organisation_id = $1 AND n.subscription_id = asked.subscription_id AND n.status = 'approved' AND n.remaining_credit > 0
    AND i.status = 'approved' AND i.amount_due > 0
    AND NOT EXISTS (SELECT 1 FROM removals r WHERE r.organisation_id = $1 AND r.invoice_id = i.id AND r.state = 'waiting')
    AND NOT EXISTS (SELECT 1 FROM ledger_jobs a WHERE a.organisation_id = $1 AND a.invoice_id = i.id AND a.kind = 'amend_invoice'
      AND a.state IN ('ready', 'sending', 'uncertain'))
    AND NOT ${isRefusedPair("n", "i")} AND ((n.id, i.id) = ($4::uuid, $5::uuid) OR NOT ${isTakenOff})
  ORDER BY n.seq, i.seq LIMIT 1
) AS pair
ON CONFLICT DO NOTHING RETURNING subscription_id`;

/** A note and an invoice that an operator wants to be tried again together. */
export interface PairToRetry {
  readonly creditNoteId: string;
  readonly invoiceId: string | null;
}

/**
 * Plans the next allocation of each subscription that holds credit for a later or a reversed
 * invoice. Returns the subscriptions with a new allocation, whose workflows must be started. If one
 * is planned already, that one continues. Credit that a person removed from an invoice stays
 * removed, unless an operator `asked` for that pair. Call it in the transaction that may make a
 * step possible. It locks the subscriptions, so that the later of two transactions sees both.
 */
export async function planAllocations(
  client: Transaction,
  organisationId: string,
  subscriptionIds: readonly string[],
  asked: PairToRetry | null = null,
): Promise<readonly string[]> {
  if (subscriptionIds.length === 0) return [];
  const ids = [...new Set(subscriptionIds)];
  await lockSubscriptions(client, organisationId, ids);
  const { rows } = await client.query<{ subscription_id: string }>({
    name: "plan_allocations",
    text: planText,
    values: [
      organisationId,
      ids,
      ids.map(() => newId()),
      asked?.creditNoteId ?? null,
      asked?.invoiceId ?? null,
    ],
  });
  return rows.map(({ subscription_id }) => subscription_id);
}

/**
 * A leased allocation. Decimal text: `amount` is to be allocated, and `applied` is already on the
 * invoice as far as we know. The ids are the ledger's.
 */
export interface AllocationToSend {
  readonly id: string;
  readonly attempts: number;
  /** How often the ledger failed on it. Each time the next call has another idempotency key. */
  readonly keyVariant: number;
  /** The answer of an earlier attempt was lost. */
  readonly isUncertain: boolean;
  readonly amount: string;
  readonly applied: string;
  readonly noteNumber: string;
  readonly noteLedgerId: string;
  readonly invoiceNumber: string;
  readonly invoiceLedgerId: string;
  /** The organisation's now. The allocation's day is its date in the subscription's zone. */
  readonly now: Date;
  readonly timezone: string;
}

interface TakenRow {
  id: string;
  attempts: number;
  key_variant: number;
  state: string;
  amount: string;
  applied: string;
  note_number: string;
  note_ledger_id: string;
  invoice_number: string;
  invoice_ledger_id: string;
  organisation_now: Date;
  timezone: string;
}

const takeText = `
WITH taken AS (
  UPDATE ledger_jobs o SET state = CASE WHEN o.state = 'ready' THEN 'sending' ELSE 'uncertain' END,
    first_sent_at = coalesce(o.first_sent_at, now()), lease_until = now() + $3 * interval '1 millisecond', attempts = o.attempts + 1
  WHERE o.organisation_id = $1 AND o.subscription_id = $2 AND o.kind = 'allocate_credit' AND o.state IN ('ready', 'sending', 'uncertain')
    AND CASE WHEN o.state = 'ready' THEN o.not_before <= now() ELSE o.lease_until < now() END
  RETURNING o.id, o.attempts, o.key_variant, o.state, o.amount, o.credit_note_id, o.invoice_id, o.subscription_id
)
SELECT taken.id, taken.attempts, taken.key_variant, taken.state, taken.amount, n.number AS note_number, n.ledger_credit_note_id AS note_ledger_id,
  i.number AS invoice_number, i.ledger_invoice_id AS invoice_ledger_id, s.timezone, coalesce(g.test_clock, now()) AS organisation_now,
  (SELECT coalesce(sum(a.amount), 0) FROM allocations a
    WHERE a.organisation_id = $1 AND a.credit_note_id = n.id AND a.invoice_id = i.id AND a.status = 'active') AS applied
FROM taken
  JOIN credit_notes n ON n.organisation_id = $1 AND n.id = taken.credit_note_id
  JOIN invoices i ON i.organisation_id = $1 AND i.id = taken.invoice_id
  JOIN subscriptions s ON s.organisation_id = $1 AND s.id = taken.subscription_id
  JOIN organisations g ON g.id = $1`;

/**
 * Takes the subscription's allocation under a lease of `leaseMs`. Null if none can be tried now.
 * One with an expired lease becomes uncertain: its last attempt may have got an answer.
 */
export async function takeAllocation(
  pool: Pool,
  organisationId: string,
  subscriptionId: string,
  leaseMs: number,
): Promise<AllocationToSend | null> {
  const { rows } = await pool.query<TakenRow>({
    name: "take_allocation",
    text: takeText,
    values: [organisationId, subscriptionId, leaseMs],
  });
  const row = rows[0];
  if (row === undefined) return null;
  return {
    id: row.id,
    attempts: row.attempts,
    keyVariant: row.key_variant,
    isUncertain: row.state === "uncertain",
    amount: row.amount,
    applied: row.applied,
    noteNumber: row.note_number,
    noteLedgerId: row.note_ledger_id,
    invoiceNumber: row.invoice_number,
    invoiceLedgerId: row.invoice_ledger_id,
    now: row.organisation_now,
    timezone: row.timezone,
  };
}

/** Milliseconds until the subscription's allocation can be tried. Null if there is none. */
export async function readAllocationWait(
  pool: Pool,
  organisationId: string,
  subscriptionId: string,
): Promise<number | null> {
  const { rows } = await pool.query<{ next_in_ms: number }>({
    name: "read_allocation_wait",
    text: `SELECT greatest(0, ceil(1000 * extract(epoch FROM
        CASE WHEN state = 'ready' THEN not_before ELSE lease_until END - now())))::float8 AS next_in_ms
      FROM ledger_jobs WHERE organisation_id = $1 AND subscription_id = $2 AND kind = 'allocate_credit'
        AND state IN ('ready', 'sending', 'uncertain')`,
    values: [organisationId, subscriptionId],
  });
  return rows[0]?.next_in_ms ?? null;
}

/**
 * Reschedules the subscription's allocation because the connection is paused. One with an expired
 * lease waits as long, because its lookup is a call as well. One under a lease is left alone.
 */
export async function rescheduleAllocation(
  pool: Pool,
  organisationId: string,
  subscriptionId: string,
  pauseMs: number,
  reason: string,
): Promise<void> {
  await pool.query({
    name: "reschedule_allocation",
    text: `UPDATE ledger_jobs o SET reason = $4, state = CASE WHEN o.state = 'ready' THEN 'ready' ELSE 'uncertain' END,
        not_before = CASE WHEN o.state = 'ready' THEN greatest(o.not_before, until.instant) ELSE o.not_before END,
        lease_until = CASE WHEN o.state = 'ready' THEN o.lease_until ELSE until.instant END
      FROM (SELECT now() + $3 * interval '1 millisecond' AS instant) AS until
      WHERE o.organisation_id = $1 AND o.subscription_id = $2 AND o.kind = 'allocate_credit'
        AND (o.state = 'ready' OR o.state IN ('sending', 'uncertain') AND o.lease_until < now())`,
    values: [organisationId, subscriptionId, pauseMs, reason],
  });
}
