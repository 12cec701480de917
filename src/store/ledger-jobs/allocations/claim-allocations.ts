/**
 * Opens an organisation's allocations, and claims a subscription's planned allocation under a
 * lease, with everything that the ledger must get. SQL, because a claim changes the row by its
 * state and by the database's clock, and reads the credit applied so far in the same statement.
 */
import { columns } from "../../../gen/columns.ts";
import { binding } from "../../database/bind.ts";
import { msUntil } from "../../database/clock.ts";
import type { Encryption } from "../../database/encryption.ts";
import { inTransaction, type Pool } from "../../database/pool.ts";
import { bool, float, instant, numeric, pick, type RowOf } from "../../database/sql/columns.ts";
import { sql } from "../../database/sql/sql.ts";
import { first, query } from "../../database/sql/statement.ts";
import { bindConnection } from "../../ledger-connection/connections.ts";
import { planAllocations } from "../credit-allocations.ts";
import { dueAt, jobClaim, rescheduleAllocation } from "../job-lease.ts";
import { recordAllocation } from "./allocation-outcomes.ts";

const allocationToSend = {
  ...pick(columns.ledgerJob, "id", "attempts"),
  /** How often the ledger failed on it: the next call has another idempotency key. */
  keyVariant: columns.ledgerJob.keyVariant,
  /** The answer of an earlier attempt was lost. */
  isUncertain: bool,
  /** What is to be allocated. */
  amount: columns.ledgerJob.amount.present(),
  /** What is already on the invoice as far as we know. */
  applied: numeric,
  noteNumber: columns.creditNote.number,
  noteLedgerId: columns.creditNote.ledgerCreditNoteId.present(),
  invoiceNumber: columns.invoice.number,
  invoiceLedgerId: columns.invoice.ledgerInvoiceId.present(),
  currency: columns.invoice.currency,
  /** The customer's contact. */
  contactId: columns.customer.ledgerContactId.present(),
  timezone: columns.subscription.timezone,
  /** The organisation's now. The allocation's day is its date in the subscription's zone. */
  now: instant,
};

/** A leased allocation. */
export type AllocationToSend = RowOf<typeof allocationToSend>;

/** SQL: the subscription's open allocation. */
const condition = sql`t.subscription_id = $2 AND t.kind = 'allocate_credit'
  AND t.state IN ('ready', 'sending', 'uncertain')`;

/** Takes the subscription's allocation under a lease. Null if none can be tried now. */
export const claimAllocation = first<
  AllocationToSend,
  [organisationId: string, subscriptionId: string, leaseMs: number]
>(
  jobClaim({
    name: "claim_allocation",
    condition,
    columns: sql`taken.id, taken.attempts, taken.key_variant,
    taken.state = 'uncertain' AS is_uncertain, taken.amount,
    n.number AS note_number, n.ledger_credit_note_id AS note_ledger_id,
    i.number AS invoice_number, i.ledger_invoice_id AS invoice_ledger_id, i.currency,
    c.ledger_contact_id AS contact_id, s.timezone,
    coalesce(g.test_clock, now()) AS now,
    (SELECT coalesce(sum(a.amount), 0) FROM allocations a
      WHERE a.organisation_id = $1 AND a.credit_note_id = n.id AND a.invoice_id = i.id
        AND a.status = 'active') AS applied`,
    joins: sql`JOIN credit_notes n ON n.organisation_id = $1 AND n.id = taken.credit_note_id
    JOIN invoices i ON i.organisation_id = $1 AND i.id = taken.invoice_id
    JOIN customers c ON c.organisation_id = $1 AND c.id = i.customer_id
    JOIN subscriptions s ON s.organisation_id = $1 AND s.id = taken.subscription_id
    JOIN organisations g ON g.id = $1`,
    row: allocationToSend,
  }),
);

const readWait = query({
  name: "read_allocation_wait",
  planned: "once",
  text: sql`
    SELECT ${msUntil(dueAt)} AS next_in_ms
    FROM ledger_jobs t
    WHERE t.organisation_id = $1 AND ${condition}
  `,
  row: { nextInMs: float },
});

/** Milliseconds until the subscription's allocation can be tried. Null if there is none. */
export async function readAllocationWait(
  pool: Pool,
  organisationId: string,
  subscriptionId: string,
): Promise<number | null> {
  const [open] = await readWait(pool, organisationId, subscriptionId);
  return open?.nextInMs ?? null;
}

/** Store of one organisation's allocations. */
export type AllocationStore = ReturnType<OpenAllocations>;

/** Opens an organisation's allocations. */
export type OpenAllocations = ReturnType<typeof createAllocations>;

/** Binds allocations to a pool. `encryption` decrypts the connections' secrets. */
export function createAllocations(pool: Pool, encryption: Encryption) {
  return (organisationId: string) => {
    const bound = binding(pool, organisationId);
    return {
      ...bindConnection(pool, encryption, organisationId),
      reschedule: bound(rescheduleAllocation),
      /** True if a step was planned. */
      plan: async (subscriptionId: string) => {
        const planned = await inTransaction(pool, (client) =>
          planAllocations(client, organisationId, [subscriptionId]),
        );
        return planned.length > 0;
      },
      take: bound(claimAllocation),
      record: bound(recordAllocation),
      /** Milliseconds until the subscription's allocation can be tried. Null if there is none. */
      nextInMs: bound(readAllocationWait),
    };
  };
}
