/**
 * Opens an organisation's allocations: claims a subscription's planned allocation under a lease,
 * with everything that the ledger must get, and records its outcome with the observed state of its
 * credit note and invoice. SQL, because a claim and an outcome change the row by its state, its
 * attempt and the database's clock.
 */
import { columns } from "../../gen/columns.ts";
import { binding } from "../database/bind.ts";
import { msUntil } from "../database/clock.ts";
import type { Encryption } from "../database/encryption.ts";
import { lockInOrder } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { bool, float, instant, numeric, pick, type RowOf } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { first, query } from "../database/sql/statement.ts";
import {
  type ObservedInvoiceState,
  type ObservedNoteState,
  saveObservedInvoice,
  saveObservedNote,
} from "../documents/credit-note-state.ts";
import { bindConnection } from "../ledger-connection/connections.ts";
import { planAllocations } from "./credit-allocations.ts";
import {
  doneRecord,
  isUnwritable,
  type JobAttempt,
  jobRecordType,
  leasedJob,
  recordedJob,
  type UndoneOutcome,
  undoneRecord,
  unwritableAnswer,
} from "./document-outcomes.ts";
import { dueAt, jobClaim, rescheduleAllocation } from "./job-lease.ts";
import { saveAttempts } from "./ledger-attempts.ts";

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

/** Both sides of an allocation as observed in the ledger. Null for a side that was not read. */
export interface ObservedCreditState {
  readonly note: ObservedNoteState | null;
  readonly invoice: ObservedInvoiceState | null;
}

/**
 * The outcome of an allocation. `amount` is what to send next time, null if it stays. `observed`
 * is saved with it.
 */
export interface AllocationResult {
  readonly outcome: UndoneOutcome | (JobAttempt & { readonly kind: "done" });
  readonly amount: string | null;
  readonly observed: ObservedCreditState | null;
}

const recordJob = query({
  name: "record_allocation",
  text: sql`UPDATE ledger_jobs o SET ${recordedJob}, amount = coalesce($3::numeric, o.amount)
    FROM jsonb_to_record($2) AS r(${jobRecordType})
    WHERE o.organisation_id = $1 AND ${leasedJob} AND o.kind = 'allocate_credit'
    RETURNING o.credit_note_id, o.invoice_id`,
  row: {
    creditNoteId: columns.ledgerJob.creditNoteId.present(),
    invoiceId: columns.ledgerJob.invoiceId.present(),
  },
});

/**
 * Records the outcome, the observed note and invoice, and plans the subscription's next step. An
 * allocation that another attempt has taken is left alone. If the observed state does not fit the
 * columns here, the allocation is refused, so that an operator sees it.
 */
export async function recordAllocation(
  pool: Pool,
  organisationId: string,
  subscriptionId: string,
  result: AllocationResult,
): Promise<void> {
  try {
    await inTransaction(pool, (client) => record(client, organisationId, subscriptionId, result));
  } catch (error) {
    if (!isUnwritable(error) || result.observed === null) throw error;
    const { jobId, attempt } = result.outcome;
    const refused = { kind: "refused", jobId, attempt, ...unwritableAnswer } as const;
    const outcome = result.outcome.kind === "done" ? refused : result.outcome;
    const unobserved = { ...result, outcome, observed: null };
    await recordAllocation(pool, organisationId, subscriptionId, unobserved);
  }
}

async function record(
  client: Transaction,
  organisationId: string,
  subscriptionId: string,
  { outcome, amount, observed }: AllocationResult,
): Promise<void> {
  // Also if a person applied the note's credit to invoices of other subscriptions.
  await lockInOrder(client, organisationId, {
    subscriptionIds: [subscriptionId],
    jobIds: [outcome.jobId],
    ledgerInvoiceIds: (observed?.note?.allocations ?? []).map(({ invoiceId }) => invoiceId),
  });
  const job = outcome.kind === "done" ? doneRecord(outcome) : undoneRecord(outcome);
  const [leased] = await recordJob(client, organisationId, JSON.stringify(job), amount);
  if (leased === undefined) return;
  await saveAttempts(client, organisationId, [outcome]);
  if (observed?.note)
    await saveObservedNote(client, organisationId, leased.creditNoteId, observed.note, "own");
  if (observed?.invoice)
    await saveObservedInvoice(client, organisationId, leased.invoiceId, observed.invoice);
  const isOver = outcome.kind === "done" || outcome.kind === "refused";
  if (isOver) await planAllocations(client, organisationId, [subscriptionId]);
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
