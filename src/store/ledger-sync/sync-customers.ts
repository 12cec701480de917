/**
 * Syncs customers with their contacts that people changed in the ledger (CUSTOMER-5). SQL where it
 * locks, or compares the ledger's change times, which the typed client would cut to milliseconds.
 */
import {
  type ObservedContactState,
  type SyncedCustomer,
  syncContact,
} from "../../domain/customers/sync-contact.ts";
import { columns } from "../../gen/columns.ts";
import { isDatabaseError, uniqueViolation } from "../database/errors.ts";
import { lockInOrder } from "../database/lock-order.ts";
import { inTransaction, type Pool, type Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { bool, pick } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";
import { isUnwritable, plain } from "../ledger-jobs/document-outcomes.ts";
import { joinSyncResults, nothingSynced, type SyncResult, writeBatch } from "./observed-state.ts";
import { saveNotifications } from "./pending-notifications.ts";

/** A contact as observed, with its id in the ledger and the ledger's change time (ISO 8601). */
export interface ObservedContact extends ObservedContactState {
  readonly id: string;
  readonly updatedAt: string;
}

const findSynced = query({
  name: "find_synced_customers",
  text: sql`
    SELECT c.ledger_contact_id
    FROM
      customers c
      JOIN unnest($2::text[], $3::timestamptz[]) AS r (id, updated_at) ON r.id = c.ledger_contact_id
    WHERE c.organisation_id = $1 AND c.ledger_updated_at IS DISTINCT FROM r.updated_at
  `,
  row: { ledgerContactId: columns.customer.ledgerContactId.present() },
});

const holdSynced = query({
  name: "hold_synced_customer",
  text: sql`
    SELECT
      id, name, first_name, last_name, email, status, ledger_contact_id,
      deactivated_at IS NOT NULL AS is_deactivated
    FROM customers
    WHERE
      organisation_id = $1
      AND ledger_contact_id = $2
      AND erased_at IS NULL
      AND coalesce(ledger_updated_at <= $3, true)
    FOR NO KEY UPDATE
  `,
  row: {
    ...pick(columns.customer, "id", "name", "firstName", "lastName", "email", "ledgerContactId"),
    status: columns.customer.status.as<SyncedCustomer["status"]>(),
    isDeactivated: bool,
  },
});

const updateCustomer = command({
  name: "sync_customer",
  text: sql`
    UPDATE customers
    SET
      name = $3,
      first_name = $4,
      last_name = $5,
      email = $6,
      status = $7,
      ledger_contact_id = $8,
      ledger_updated_at = $9
    WHERE organisation_id = $1 AND id = $2
  `,
});

/**
 * Writes the observed contacts to their customers, each separately. Contacts without a customer are
 * skipped.
 */
export async function syncContacts(
  pool: Pool,
  organisationId: string,
  contacts: readonly ObservedContact[],
): Promise<SyncResult> {
  return writeBatch(
    contacts,
    (some) => syncEach(pool, organisationId, some),
    ({ id }) => ({ ...nothingSynced, unfit: [id] }),
  );
}

async function syncEach(
  pool: Pool,
  organisationId: string,
  contacts: readonly ObservedContact[],
): Promise<SyncResult> {
  const ids = contacts.map(({ id }) => id);
  const changes = contacts.map(({ updatedAt }) => updatedAt);
  const rows = await findSynced(pool, organisationId, ids, changes);
  const ours = new Set(rows.map(({ ledgerContactId }) => ledgerContactId));
  const each: SyncResult[] = [];
  for (const contact of contacts)
    if (ours.has(contact.id)) each.push(await syncOne(pool, organisationId, contact));
  return joinSyncResults(each);
}

async function syncOne(
  pool: Pool,
  organisationId: string,
  contact: ObservedContact,
): Promise<SyncResult> {
  try {
    const isChanged = await inTransaction(pool, (client) => write(client, organisationId, contact));
    return { ...nothingSynced, changed: isChanged ? 1 : 0 };
  } catch (error) {
    // Another customer got the contact at this moment. A second read finds that customer.
    if (isDatabaseError(error, uniqueViolation)) return { ...nothingSynced, again: [contact.id] };
    if (!isUnwritable(error)) throw error;
    return { ...nothingSynced, unfit: [contact.id] };
  }
}

async function write(
  client: Transaction,
  organisationId: string,
  contact: ObservedContact,
): Promise<boolean> {
  // After a merge the surviving contact gets this customer. An import may create one from it at the
  // same time.
  await lockInOrder(client, organisationId, { organisation: true });
  const [row] = await holdSynced(client, organisationId, contact.id, contact.updatedAt);
  if (row === undefined) return false;
  const { id, ...before } = row;
  const where = { organisationId, ledgerContactId: contact.mergedInto };
  const isSurvivorOurs =
    contact.mergedInto !== null && (await db(client).customer.count({ where })) > 0;
  const after = syncContact(before, plainContact(contact), isSurvivorOurs);
  const isMoved = after.ledgerContactId !== contact.id;
  const { name, firstName, lastName, email, status, ledgerContactId } = after;
  const person = [name, firstName, lastName, email];
  const updatedAt = isMoved ? null : contact.updatedAt;
  await updateCustomer(client, organisationId, id, ...person, status, ledgerContactId, updatedAt);
  // From now on the surviving contact defines the customer.
  if (isMoved && ledgerContactId !== null) {
    const moved = { ledgerId: ledgerContactId, changedAt: null };
    await saveNotifications(client, organisationId, "contacts", [moved]);
  }
  return isMoved || keysOf(before).some((key) => before[key] !== after[key]);
}

/**
 * Records that the ledger no longer has these contacts. Their customers cannot be billed until a
 * contact is observed again. Returns how many changed.
 */
export async function loseContacts(
  pool: Pool,
  organisationId: string,
  contactIds: readonly string[],
): Promise<number> {
  const { count } = await db(pool).customer.updateMany({
    where: { organisationId, ledgerContactId: { in: [...contactIds] }, status: "active" },
    data: { status: "inactive", ledgerUpdatedAt: null },
  });
  return count;
}

function plainContact(contact: ObservedContact): ObservedContactState {
  const text = (value: string | null) => (value === null ? null : plain(value));
  const { name, firstName, lastName, email } = contact;
  return {
    ...contact,
    name: plain(name),
    firstName: text(firstName),
    lastName: text(lastName),
    email: text(email),
  };
}

function keysOf(customer: SyncedCustomer): readonly (keyof SyncedCustomer)[] {
  return Object.keys(customer) as (keyof SyncedCustomer)[];
}
