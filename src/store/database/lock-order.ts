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
 * buckets, the invoices' before the notes'. A writer that takes its rows with SKIP LOCKED waits for
 * none of them and may take them in any order.
 *
 * SQL, because the typed client has no locks.
 */

import { plannedOnce } from "./planned-once.ts";
import type { Transaction } from "./pool.ts";
import type { Executor } from "./prisma/client.ts";
import { asSql, type Sql, sql } from "./sql/sql.ts";
import { type Command, command } from "./sql/statement.ts";

/** Tables of an organisation whose rows are locked one at a time. */
type OwnedTable =
  | "api_keys"
  | "credit_notes"
  | "customers"
  | "invoices"
  | "subscriptions"
  | "webhook_deliveries"
  | "webhook_endpoints";

/**
 * Locks a row of an organisation until the transaction ends, so that the value read next is the one
 * that is replaced. Returns the database's time in milliseconds, at the start of the transaction.
 * Null if the organisation has no such row.
 */
export async function lockRow(
  tx: Transaction,
  table: OwnedTable,
  organisationId: string,
  id: string,
): Promise<Date | null> {
  return lock(tx, table, { organisation_id: organisationId, id }, "NO KEY UPDATE");
}

/** Locks the organisation. Writers that decide by its settings, catalogue or clock wait. */
export async function lockOrganisation(tx: Transaction, id: string): Promise<void> {
  await lock(tx, "organisations", { id }, "NO KEY UPDATE");
}

/** Locks the tokens of a ledger connection against a refresh. */
export async function lockAuthorisation(tx: Transaction, organisationId: string): Promise<void> {
  await lock(tx, "ledger_authorisations", { organisation_id: organisationId }, "UPDATE");
}

/** Locks a token of an operator. */
export async function lockOperatorToken(tx: Transaction, id: string): Promise<void> {
  await lock(tx, "operator_tokens", { id }, "NO KEY UPDATE");
}

async function lock(
  tx: Transaction,
  table: string,
  key: Readonly<Record<string, string>>,
  strength: "SHARE" | "NO KEY UPDATE" | "UPDATE",
): Promise<Date | null> {
  const conditions = Object.keys(key).map((column, index) => `${column} = $${index + 1}`);
  const text = `SELECT now() AS now FROM ${table}
    WHERE ${conditions.join(" AND ")} FOR ${strength}`;
  const statement = plannedOnce({ text, values: Object.values(key) });
  const { rows } = await tx.query<{ readonly now: Date }>(statement);
  return rows[0]?.now ?? null;
}

/**
 * Locks all owners and this operator, by id. Otherwise two owners who deactivate each other could
 * leave no active owner.
 */
export async function lockOwnersAnd(tx: Transaction, operatorId: string): Promise<void> {
  await tx.query({
    name: "lock_owners_and_operator",
    text: `SELECT 1 FROM operators WHERE role = 'owner' OR id = $1
      ORDER BY id FOR NO KEY UPDATE`,
    values: [operatorId],
  });
}

/**
 * Takes an advisory lock on a name until the transaction ends. `lockClass` is the number of its
 * use, which no other lock has.
 */
export async function lockName(tx: Transaction, lockClass: number, name: string): Promise<void> {
  const text = "SELECT pg_advisory_xact_lock($1, hashtext($2))";
  await tx.query({ name: "lock_name", text, values: [lockClass, name] });
}

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
  if (organisation) await lock(client, "organisations", { id: organisationId }, "SHARE");
  const isPlain = jobIds.length + ledgerInvoiceIds.length + ledgerNoteIds.length === 0;
  if (isPlain) return lockRows(client, "subscriptions", organisationId, subscriptionIds);
  await client.query(
    plannedOnce({
      name: "lock_concerned_subscriptions",
      text: concernedText,
      values: [organisationId, subscriptionIds, jobIds, ledgerInvoiceIds, ledgerNoteIds],
    }),
  );
  await lockRows(client, "ledger_jobs", organisationId, jobIds);
}

async function lockRows(
  client: Transaction,
  table: "subscriptions" | "ledger_jobs",
  organisationId: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await client.query(
    plannedOnce({
      name: `lock_rows_of_${table}`,
      text: `SELECT id FROM ${table} WHERE organisation_id = $1 AND id = ANY ($2::uuid[])
        ORDER BY id FOR NO KEY UPDATE`,
      values: [organisationId, ids],
    }),
  );
}

/**
 * An update of several rows of one organisation. `key` has the columns that identify a row, and
 * `where` and `set` are SQL over the row, in which `$1` is the organisation.
 */
export interface OrderedUpdate {
  readonly name: string;
  readonly table: "ledger_jobs" | "ledger_notifications" | "ledger_reference_data";
  readonly key: readonly string[];
  readonly where: string;
  readonly set: string;
  /** The values from `$2` on. */
  readonly values?: readonly unknown[];
}

/**
 * Declares an update that locks the rows in the order of their key, and then updates them. Two such
 * updates never deadlock.
 */
export function orderedUpdate({ name, table, key, where, set }: DeclaredUpdate): Command {
  const columns = asSql(key.join(", "));
  const matches = asSql(key.map((column) => `t.${column} = locked.${column}`).join(" AND "));
  return command({
    name,
    text: sql`UPDATE ${asSql(table)} t SET ${set} FROM (
        SELECT ${columns} FROM ${asSql(table)} WHERE organisation_id = $1 AND ${where}
        ORDER BY ${columns} FOR NO KEY UPDATE) AS locked
      WHERE t.organisation_id = $1 AND ${matches}`,
  });
}

type DeclaredUpdate = Pick<OrderedUpdate, "name" | "table" | "key"> & {
  readonly where: Sql;
  readonly set: Sql;
};

/** The same for an update that is not declared yet. */
export async function updateInOrder(
  executor: Executor,
  organisationId: string,
  { name, table, key, where, set, values = [] }: OrderedUpdate,
): Promise<void> {
  const columns = key.join(", ");
  const matches = key.map((column) => `t.${column} = locked.${column}`);
  await executor.query({
    name,
    text: `UPDATE ${table} t SET ${set} FROM (
        SELECT ${columns} FROM ${table} WHERE organisation_id = $1 AND ${where}
        ORDER BY ${columns} FOR NO KEY UPDATE) AS locked
      WHERE t.organisation_id = $1 AND ${matches.join(" AND ")}`,
    values: [organisationId, ...values],
  });
}
