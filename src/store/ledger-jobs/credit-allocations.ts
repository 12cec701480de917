/**
 * Plans the jobs that allocate held credit to invoices, when a note or an invoice becomes approved,
 * one at a time for each subscription. Order: oldest note, then oldest invoice (DOCUMENT-4). SQL,
 * because one statement finds the next pair of each of many subscriptions.
 */

import { columns } from "../../gen/columns.ts";
import { newId } from "../database/ids.ts";
import { lockSubscriptions } from "../database/lock-order.ts";
import type { Transaction } from "../database/pool.ts";
import { pick } from "../database/sql/columns.ts";
import { type Sql, sql } from "../database/sql/sql.ts";
import { query } from "../database/sql/statement.ts";
import { isAltered } from "../documents/ledger-drift.ts";

/**
 * After this many refusals of a pair an operator must request a retry. A ledger that refuses every
 * amount has a reason that a person must check. A lower number would not allow for payments that
 * arrive in between.
 */
const maxRefusals = 5;

/**
 * SQL condition: refusals keep note and invoice from being planned as a pair. They do so until the
 * amount changes, because then one of the two has changed. After `maxRefusals` they do so for
 * every amount. An operator's retry abandons the refusals. `n` and `i` are the names of
 * their rows in the statement.
 */
export function isRefusedPair(n: Sql, i: Sql): Sql {
  return sql`EXISTS (SELECT FROM ledger_jobs f
    WHERE f.organisation_id = ${n}.organisation_id AND f.credit_note_id = ${n}.id
      AND f.invoice_id = ${i}.id AND f.kind = 'allocate_credit' AND f.state = 'refused'
    HAVING count(*) >= ${maxRefusals}
      OR bool_or(f.amount = least(${n}.remaining_credit, ${i}.amount_due)))`;
}

/** SQL condition: the note holds credit that can be allocated. */
export const holdsCredit = (note: Sql): Sql =>
  sql`${note}.status = 'approved' AND ${note}.remaining_credit > 0`;

// Only a person removes an allocation in the ledger, never this service. The note shows the
// removal. Before the note is read again the invoice shows it: less of it is paid than the note's
// credit there.
const isTakenOff = sql`(EXISTS (SELECT FROM allocations t
    WHERE t.organisation_id = $1 AND t.credit_note_id = n.id AND t.invoice_id = i.id
      AND t.status = 'removed')
  OR i.total - i.amount_due < (SELECT coalesce(sum(t.amount), 0) FROM allocations t
    WHERE t.organisation_id = $1 AND t.credit_note_id = n.id AND t.invoice_id = i.id
      AND t.status = 'active'))`;

// An invoice with an open amendment is skipped, because the ledger would refuse to amend one with
// credit. The amendment's outcome plans again.
const isFree = sql`(NOT EXISTS (SELECT 1 FROM removals r
    WHERE r.organisation_id = $1 AND r.invoice_id = i.id AND r.state = 'waiting')
  AND NOT EXISTS (SELECT 1 FROM ledger_jobs a
    WHERE a.organisation_id = $1 AND a.invoice_id = i.id AND a.kind = 'amend_invoice'
      AND a.state IN ('ready', 'sending', 'uncertain')))`;

// Invoices and notes share one number sequence: a greater number is later. Of the earlier invoices,
// those that the note reverses accept credit. Credit of one currency or contact is none of another.
// In Setup Mode nothing is allocated (SETUP-1).
const plan = query({
  name: "plan_allocations",
  text: sql`
    INSERT INTO ledger_jobs
      (id, organisation_id, kind, state, subscription_id, credit_note_id, invoice_id, amount)
    SELECT
      party.job_id, $1,
      'allocate_credit',
      'ready',
      party.subscription_id, pair.credit_note_id, pair.invoice_id, pair.amount
    FROM
      organisations o
      CROSS JOIN unnest($2::uuid[], $3::uuid[]) AS party (subscription_id, job_id)
      CROSS JOIN LATERAL (
        SELECT
          n.id AS credit_note_id, i.id AS invoice_id,
          least(n.remaining_credit, i.amount_due) AS amount
        FROM
          credit_notes n
          JOIN invoices i
            ON i.organisation_id = n.organisation_id
            AND i.subscription_id = n.subscription_id
            AND (
              i.seq > n.seq
              OR EXISTS (
                SELECT 1
                FROM credit_note_lines l
                WHERE
                  l.organisation_id = $1
                  AND l.credit_note_id = n.id
                  AND l.reversed_invoice_id = i.id
              )
            )
        WHERE
          n.organisation_id = $1
          AND n.subscription_id = party.subscription_id
          AND ${holdsCredit(sql`n`)}
          AND i.status = 'approved'
          AND i.amount_due > 0
          AND ${isFree}
          AND NOT ${isAltered(sql`n`)}
          AND NOT ${isAltered(sql`i`)}
          AND NOT ${isRefusedPair(sql`n`, sql`i`)}
          AND ((n.id, i.id) = ($4::uuid, $5::uuid) OR NOT ${isTakenOff})
        ORDER BY n.seq, i.seq
        LIMIT 1
      ) AS pair
    WHERE o.id = $1 AND NOT o.setup_mode
    ON CONFLICT DO NOTHING
    RETURNING subscription_id
  `,
  row: { subscriptionId: columns.ledgerJob.subscriptionId.present() },
});

/** A note and an invoice that an operator wants to be tried again together. */
export interface PairToRetry {
  readonly creditNoteId: string;
  readonly invoiceId: string | null;
}

/**
 * Plans the next allocation of each subscription that holds credit for a later or a reversed
 * invoice. Returns the subscriptions with a new allocation, whose workflows must be started. If one
 * is planned already, that one continues. Credit that a person removed from an invoice stays
 * removed, unless an operator retries that pair. In Setup Mode nothing is planned. Call it in the
 * transaction that may make a step possible. It locks the subscriptions, so that the later of two
 * transactions sees both.
 */
export async function planAllocations(
  client: Transaction,
  organisationId: string,
  subscriptionIds: readonly string[],
  retried: PairToRetry | null = null,
): Promise<readonly string[]> {
  if (subscriptionIds.length === 0) return [];
  const ids = [...new Set(subscriptionIds)];
  await lockSubscriptions(client, organisationId, ids);
  const jobIds = ids.map(() => newId());
  const pair = [retried?.creditNoteId ?? null, retried?.invoiceId ?? null];
  const rows = await plan(client, organisationId, ids, jobIds, ...pair);
  return rows.map(({ subscriptionId }) => subscriptionId);
}

const findHeldCredit = query({
  name: "find_held_credit",
  text: sql`
    SELECT DISTINCT n.subscription_id
    FROM credit_notes n
    WHERE n.organisation_id = $1 AND ${holdsCredit(sql`n`)}
  `,
  row: pick(columns.creditNote, "subscriptionId"),
});

/**
 * Plans the next allocation of each subscription that holds credit, once Setup Mode is off. The
 * dispatcher starts their workflows. The caller has locked these subscriptions (SETUP-1).
 */
export async function planHeldCredit(client: Transaction, organisationId: string): Promise<void> {
  const rows = await findHeldCredit(client, organisationId);
  const ids = rows.map(({ subscriptionId }) => subscriptionId);
  await planAllocations(client, organisationId, ids);
}
