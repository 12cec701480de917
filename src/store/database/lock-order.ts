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
 * of usage (`usage-locks.ts`) come after the subscriptions. After them come the price sheets, by
 * name: a transaction saves all of its sheets at once (`saveSheets`). Then come the number
 * counters, the invoices' before the notes'. A writer that takes its rows with SKIP LOCKED waits
 * for none of them and may take them in any order.
 *
 * A statement that stores usage holds its buckets shared. It takes the ids of its events in their
 * order, and at its end its sums in the order of their key, late usage too. So whoever waits for a
 * sum holds ids for which no holder of that sum waits. A close and a void hold the bucket
 * exclusively, when no sum of it is locked: a close only reads the sums, and a void writes one.
 *
 * SQL, because the typed client has no locks.
 */

import type { Transaction } from "./pool.ts";
import { instant } from "./sql/columns.ts";
import { joinSql, type Sql, sql } from "./sql/sql.ts";
import { type Command, command, query } from "./sql/statement.ts";

const ofOrganisation = (table: Sql) =>
  query({
    name: `lock_row_of_${table}`,
    planned: "once",
    text: sql`
      SELECT now() AS now
      FROM ${table}
      WHERE organisation_id = $1 AND id = $2
      FOR NO KEY UPDATE
    `,
    row: { now: instant },
  });

/** The tables of an organisation whose rows are locked one at a time. */
const rowLocks = {
  api_keys: ofOrganisation(sql`api_keys`),
  credit_notes: ofOrganisation(sql`credit_notes`),
  customers: ofOrganisation(sql`customers`),
  invoices: ofOrganisation(sql`invoices`),
  subscriptions: ofOrganisation(sql`subscriptions`),
  webhook_deliveries: ofOrganisation(sql`webhook_deliveries`),
  webhook_endpoints: ofOrganisation(sql`webhook_endpoints`),
};

/**
 * Locks a row of an organisation until the transaction ends, so that the value read next is the one
 * that is replaced. Returns the database's time in milliseconds, at the start of the transaction.
 * Null if the organisation has no such row.
 */
export async function lockRow(
  tx: Transaction,
  table: keyof typeof rowLocks,
  organisationId: string,
  id: string,
): Promise<Date | null> {
  const [row] = await rowLocks[table](tx, organisationId, id);
  return row?.now ?? null;
}

const lockOf = (name: string, locked: Sql): Command<[id: string]> =>
  command({ name, planned: "once", text: sql`SELECT FROM ${locked}` });

/** Locks the organisation. Writers that decide by its settings, catalogue or clock wait. */
export const lockOrganisation = lockOf(
  "lock_organisation",
  sql`organisations WHERE id = $1 FOR NO KEY UPDATE`,
);

const shareOrganisation = lockOf("share_organisation", sql`organisations WHERE id = $1 FOR SHARE`);

/** Locks the tokens of an organisation's ledger connection against a refresh. */
export const lockAuthorisation = lockOf(
  "lock_authorisation",
  sql`ledger_authorisations WHERE organisation_id = $1 FOR UPDATE`,
);

/** Locks a token of an operator. */
export const lockOperatorToken = lockOf(
  "lock_operator_token",
  sql`operator_tokens WHERE id = $1 FOR NO KEY UPDATE`,
);

/** Locks an operator, so that its sessions are begun and ended one after the other. */
export const lockOperator = lockOf("lock_operator", sql`operators WHERE id = $1 FOR NO KEY UPDATE`);

/**
 * Locks all owners and this operator, by id. Otherwise two owners who deactivate each other could
 * leave no active owner.
 */
export const lockOwnersAnd: Command<[operatorId: string]> = command({
  name: "lock_owners_and_operator",
  text: sql`
    SELECT
    FROM operators
    WHERE role = 'owner' OR id = $1
    ORDER BY id
    FOR NO KEY UPDATE
  `,
});

/**
 * Takes an advisory lock on a name until the transaction ends. `lockClass` is the number of its
 * use, which no other lock has.
 */
export const lockName: Command<[lockClass: number, name: string]> = command({
  name: "lock_name",
  text: sql`SELECT FROM pg_advisory_xact_lock($1, hashtext($2))`,
});

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
const lockConcerned = command({
  name: "lock_concerned_subscriptions",
  planned: "once",
  text: sql`
    SELECT
    FROM subscriptions
    WHERE
      organisation_id = $1
      AND id = ANY (
        ARRAY(
          SELECT o.subscription_id
          FROM ledger_jobs o
          WHERE o.organisation_id = $1 AND o.id = ANY ($3::uuid[])
          UNION
          SELECT i.subscription_id
          FROM invoices i
          WHERE i.organisation_id = $1 AND i.ledger_invoice_id = ANY ($4::text[])
          UNION
          SELECT n.subscription_id
          FROM credit_notes n
          WHERE n.organisation_id = $1 AND n.ledger_credit_note_id = ANY ($5::text[])
          UNION
          SELECT i.subscription_id
          FROM
            allocations a
            JOIN invoices i ON i.organisation_id = $1 AND i.id = a.invoice_id
          WHERE
            a.organisation_id = $1
            AND a.credit_note_id = ANY (
              ARRAY(
                SELECT o.credit_note_id
                FROM ledger_jobs o
                WHERE o.organisation_id = $1 AND o.id = ANY ($3::uuid[])
                UNION
                SELECT n.id
                FROM credit_notes n
                WHERE n.organisation_id = $1 AND n.ledger_credit_note_id = ANY ($5::text[])
              )
            )
          UNION
          SELECT unnest($2::uuid[])
        )
      )
    ORDER BY id
    FOR NO KEY UPDATE
  `,
});

const rowsOf = (table: Sql) =>
  command({
    name: `lock_rows_of_${table}`,
    planned: "once",
    text: sql`
      SELECT
      FROM ${table}
      WHERE organisation_id = $1 AND id = ANY ($2::uuid[])
      ORDER BY id
      FOR NO KEY UPDATE
    `,
  });

const lockSubscriptionRows = rowsOf(sql`subscriptions`);
const lockJobRows = rowsOf(sql`ledger_jobs`);

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
  if (organisation) await shareOrganisation(client, organisationId);
  const others = [jobIds, ledgerInvoiceIds, ledgerNoteIds] as const;
  if (others.some(({ length }) => length > 0)) {
    await lockConcerned(client, organisationId, subscriptionIds, ...others);
    if (jobIds.length > 0) await lockJobRows(client, organisationId, jobIds);
  } else if (subscriptionIds.length > 0) {
    await lockSubscriptionRows(client, organisationId, subscriptionIds);
  }
}

/**
 * An update of several rows of one organisation. `key` has the columns that identify a row, and
 * `where` and `set` are SQL over the row, in which `$1` is the organisation.
 */
interface OrderedUpdate {
  readonly name: string;
  readonly table: Sql;
  readonly key: readonly Sql[];
  readonly where: Sql;
  readonly set: Sql;
}

/**
 * Declares an update that locks the rows in the order of their key, and then updates them. Two such
 * updates never deadlock. Its values are the organisation and those from `$2` on.
 */
export function orderedUpdate({ name, table, key, where, set }: OrderedUpdate): Command {
  const columns = joinSql(key, ", ");
  const matches = key.map((column) => sql`t.${column} = locked.${column}`);
  const text = sql`UPDATE ${table} t SET ${set} FROM (
      SELECT ${columns} FROM ${table} WHERE organisation_id = $1 AND ${where}
      ORDER BY ${columns} FOR NO KEY UPDATE) AS locked
    WHERE t.organisation_id = $1 AND ${joinSql(matches, " AND ")}`;
  return command({ name, text });
}
