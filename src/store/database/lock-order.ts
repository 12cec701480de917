/**
 * The one order in which every writer takes its locks, so that no two transactions deadlock
 * (INVARIANT-5):
 *
 * 1. The organisation. Writers that decide by its settings or its clock share it. Writers that
 *    change these, its catalogue, its mappings or its connection lock it exclusively.
 * 2. Subscriptions, by id.
 * 3. The documents of these subscriptions, invoices before credit notes, by id.
 * 4. Ledger jobs, by id.
 *
 * A document is written under the lock of its subscription. No other writer holds the document
 * then, so the order within one subscription's documents does not matter. Credit on an invoice of
 * another subscription locks both subscriptions. A writer of several jobs that does not lock their
 * subscriptions skips the jobs that are locked. Customers come after the organisation. The buckets
 * of usage (`usage-locks.ts`) come after the subscriptions, and the number counters come after the
 * buckets. A writer that takes its rows with SKIP LOCKED waits for none of them and may take them
 * in any order.
 */
import type { Transaction } from "./pool.ts";

/**
 * Locks subscriptions by rising id. A later read in the transaction sees what the last change
 * committed.
 */
export async function lockSubscriptions(
  client: Transaction,
  organisationId: string,
  ids: readonly string[],
): Promise<void> {
  await lockInOrder(client, organisationId, { subscriptionIds: ids });
}

/** The rows that a transaction is about to write. An absent member means none. */
interface ToLock {
  /** Whether the organisation must not change meanwhile. */
  readonly organisation?: boolean;
  readonly subscriptionIds?: readonly string[];
  /**
   * Ledger jobs: locks their subscriptions, and those with invoices that have credit of the job's
   * note.
   */
  readonly jobIds?: readonly string[];
  /** Invoices by their ids in the ledger: locks their subscriptions. */
  readonly ledgerInvoiceIds?: readonly string[];
  /**
   * Credit notes by their ids in the ledger: locks their subscriptions, and those of their
   * invoices.
   */
  readonly ledgerNoteIds?: readonly string[];
}

// A document and a job never change their subscription. The ids are an array, so that the
// subscriptions are looked up by their key.
const concernedText = `SELECT id FROM subscriptions WHERE organisation_id = $1 AND id = ANY (ARRAY(
    SELECT o.subscription_id FROM ledger_jobs o
    WHERE o.organisation_id = $1 AND o.id = ANY ($3::uuid[])
    UNION SELECT i.subscription_id FROM invoices i
    WHERE i.organisation_id = $1 AND i.ledger_invoice_id = ANY ($4::text[])
    UNION SELECT n.subscription_id FROM credit_notes n
    WHERE n.organisation_id = $1 AND n.ledger_credit_note_id = ANY ($5::text[])
    UNION SELECT i.subscription_id FROM allocations a
      JOIN invoices i ON i.organisation_id = $1 AND i.id = a.invoice_id
    WHERE a.organisation_id = $1 AND a.credit_note_id = ANY (ARRAY(
      SELECT o.credit_note_id FROM ledger_jobs o
      WHERE o.organisation_id = $1 AND o.id = ANY ($3::uuid[])
      UNION SELECT n.id FROM credit_notes n
      WHERE n.organisation_id = $1 AND n.ledger_credit_note_id = ANY ($5::text[])))
    UNION SELECT unnest($2::uuid[])))
  ORDER BY id FOR NO KEY UPDATE`;

/** Takes the locks of all rows to write, in the common order, before any of them is written. */
export async function lockInOrder(
  client: Transaction,
  organisationId: string,
  toLock: ToLock,
): Promise<void> {
  const {
    organisation,
    subscriptionIds = [],
    jobIds = [],
    ledgerInvoiceIds = [],
    ledgerNoteIds = [],
  } = toLock;
  if (organisation) {
    await client.query({
      name: "share_organisation",
      text: "SELECT 1 FROM organisations WHERE id = $1 FOR SHARE",
      values: [organisationId],
    });
  }
  const isPlain = jobIds.length + ledgerInvoiceIds.length + ledgerNoteIds.length === 0;
  if (isPlain) {
    if (subscriptionIds.length === 0) return;
    await client.query({
      name: "lock_subscriptions",
      text: `SELECT id FROM subscriptions WHERE organisation_id = $1 AND id = ANY ($2::uuid[])
        ORDER BY id FOR NO KEY UPDATE`,
      values: [organisationId, subscriptionIds],
    });
    return;
  }
  await client.query({
    name: "lock_concerned_subscriptions",
    text: concernedText,
    values: [organisationId, subscriptionIds, jobIds, ledgerInvoiceIds, ledgerNoteIds],
  });
  if (jobIds.length === 0) return;
  await client.query({
    name: "lock_operations",
    text: `SELECT id FROM ledger_jobs WHERE organisation_id = $1 AND id = ANY ($2::uuid[])
      ORDER BY id FOR NO KEY UPDATE`,
    values: [organisationId, jobIds],
  });
}
