/**
 * Claims a subscription's planned allocation under a lease, with everything that the ledger must
 * get. SQL, because a claim changes the row by its state and by the database's clock, and reads the
 * credit applied so far in the same statement.
 */

import type { LedgerJob, Subscription } from "../../../gen/prisma/client.ts";
import type { Pool } from "../../database/pool.ts";
import { claimJob, readOpenJobs } from "../job-lease.ts";

/**
 * A leased allocation. Decimal text: `amount` is to be allocated, and `applied` is already on the
 * invoice as far as we know. The ids are the ledger's. `keyVariant` counts how often the ledger
 * failed on it: the next call has another idempotency key.
 */
export interface AllocationToSend
  extends Pick<LedgerJob, "id" | "attempts" | "keyVariant">,
    Pick<Subscription, "timezone"> {
  /** The answer of an earlier attempt was lost. */
  readonly isUncertain: boolean;
  readonly amount: string;
  readonly applied: string;
  readonly noteNumber: string;
  readonly noteLedgerId: string;
  readonly invoiceNumber: string;
  readonly invoiceLedgerId: string;
  readonly currency: string;
  /** The customer's contact. */
  readonly contactId: string;
  /** The organisation's now. The allocation's day is its date in the subscription's zone. */
  readonly now: Date;
}

/** SQL: the subscription's open allocation. */
const condition = `t.subscription_id = $2 AND t.kind = 'allocate_credit'
  AND t.state IN ('ready', 'sending', 'uncertain')`;

const claim = {
  condition,
  columns: `taken.id, taken.attempts, taken.key_variant AS "keyVariant",
    taken.state = 'uncertain' AS "isUncertain", taken.amount,
    n.number AS "noteNumber", n.ledger_credit_note_id AS "noteLedgerId",
    i.number AS "invoiceNumber", i.ledger_invoice_id AS "invoiceLedgerId", i.currency,
    c.ledger_contact_id AS "contactId", s.timezone,
    coalesce(g.test_clock, now()) AS now,
    (SELECT coalesce(sum(a.amount), 0) FROM allocations a
      WHERE a.organisation_id = $1 AND a.credit_note_id = n.id AND a.invoice_id = i.id
        AND a.status = 'active') AS applied`,
  joins: `JOIN credit_notes n ON n.organisation_id = $1 AND n.id = taken.credit_note_id
    JOIN invoices i ON i.organisation_id = $1 AND i.id = taken.invoice_id
    JOIN customers c ON c.organisation_id = $1 AND c.id = i.customer_id
    JOIN subscriptions s ON s.organisation_id = $1 AND s.id = taken.subscription_id
    JOIN organisations g ON g.id = $1`,
};

/** Takes the subscription's allocation under a lease. Null if none can be tried now. */
export async function claimAllocation(
  pool: Pool,
  organisationId: string,
  subscriptionId: string,
  leaseMs: number,
): Promise<AllocationToSend | null> {
  return claimJob(pool, organisationId, { ...claim, value: subscriptionId, leaseMs });
}

/** Milliseconds until the subscription's allocation can be tried. Null if there is none. */
export async function readAllocationWait(
  pool: Pool,
  organisationId: string,
  subscriptionId: string,
): Promise<number | null> {
  const { nextInMs } = await readOpenJobs(pool, organisationId, condition, subscriptionId);
  return nextInMs;
}
