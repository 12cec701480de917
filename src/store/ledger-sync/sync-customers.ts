/** Syncs customers with their contacts that people changed in the ledger (CUSTOMER-5). */
import type { Customer } from "../../domain/customers/customer.ts";
import {
  type ObservedContactState,
  type SyncedCustomer,
  syncContact,
} from "../../domain/customers/sync-contact.ts";
import { lockInOrder } from "../database/lock-order.ts";
import {
  inTransaction,
  isDatabaseError,
  type Pool,
  type Transaction,
  uniqueViolation,
} from "../database/pool.ts";
import { isUnwritable, plain } from "../ledger-jobs/document-outcomes.ts";
import { type Followed, joinSynced, nothingSynced } from "../ledger-jobs/observed-state.ts";
import { leaveNotifications } from "./pending-notifications.ts";

/** A contact as observed, with its id in the ledger and the ledger's change time (ISO 8601). */
export interface ObservedContact extends ObservedContactState {
  readonly id: string;
  readonly updatedAt: string;
}

interface SyncedRow {
  id: string;
  name: string;
  first_name: string | null;
  last_name: string | null;
  email: string;
  status: Customer["status"];
  ledger_contact_id: string;
  is_deactivated: boolean;
}

/**
 * Writes the observed contacts to their customers, each separately. Contacts without a customer are
 * skipped.
 */
export async function syncContacts(
  pool: Pool,
  organisationId: string,
  looked: readonly ObservedContact[],
): Promise<Followed> {
  if (looked.length === 0) return nothingSynced;
  const { rows } = await pool.query<{ ledger_contact_id: string }>({
    name: "find_synced_customers",
    text: `SELECT c.ledger_contact_id FROM customers c
        JOIN unnest($2::text[], $3::timestamptz[]) AS r(id, updated_at) ON r.id = c.ledger_contact_id
      WHERE c.organisation_id = $1 AND c.ledger_updated_at IS DISTINCT FROM r.updated_at`,
    values: [organisationId, looked.map(({ id }) => id), looked.map(({ updatedAt }) => updatedAt)],
  });
  const ours = new Set(rows.map((row) => row.ledger_contact_id));
  const each: Followed[] = [];
  for (const contact of looked)
    if (ours.has(contact.id)) each.push(await follow(pool, organisationId, contact));
  return joinSynced(each);
}

async function follow(
  pool: Pool,
  organisationId: string,
  contact: ObservedContact,
): Promise<Followed> {
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
  const { rows } = await client.query<SyncedRow>({
    name: "hold_synced_customer",
    text: `SELECT id, name, first_name, last_name, email, status, ledger_contact_id, deactivated_at IS NOT NULL AS is_deactivated
      FROM customers WHERE organisation_id = $1 AND ledger_contact_id = $2 AND coalesce(ledger_updated_at <= $3, true) FOR NO KEY UPDATE`,
    values: [organisationId, contact.id, contact.updatedAt],
  });
  const [row] = rows;
  if (row === undefined) return false;
  const before = readSynced(row);
  const after = syncContact(
    before,
    plainContact(contact),
    await isCustomer(client, organisationId, contact.mergedInto),
  );
  const isMoved = after.ledgerContactId !== contact.id;
  await client.query({
    name: "sync_customer",
    text: `UPDATE customers SET name = $3, first_name = $4, last_name = $5, email = $6, status = $7, ledger_contact_id = $8,
        ledger_updated_at = $9 WHERE organisation_id = $1 AND id = $2`,
    values: [
      organisationId,
      row.id,
      after.name,
      after.firstName,
      after.lastName,
      after.email,
      after.status,
      after.ledgerContactId,
      isMoved ? null : contact.updatedAt,
    ],
  });
  // From now on the surviving contact defines the customer.
  if (isMoved && after.ledgerContactId !== null) {
    await leaveNotifications(client, organisationId, "contacts", [
      { ledgerId: after.ledgerContactId, changedAt: null },
    ]);
  }
  return isMoved || keysOf(before).some((key) => before[key] !== after[key]);
}

async function isCustomer(
  client: Transaction,
  organisationId: string,
  contactId: string | null,
): Promise<boolean> {
  if (contactId === null) return false;
  const { rows } = await client.query({
    name: "is_customer",
    text: "SELECT 1 FROM customers WHERE organisation_id = $1 AND ledger_contact_id = $2",
    values: [organisationId, contactId],
  });
  return rows.length > 0;
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
  const { rowCount } = await pool.query({
    name: "lose_contacts",
    text: `UPDATE customers SET status = 'inactive', ledger_updated_at = NULL
      WHERE organisation_id = $1 AND ledger_contact_id = ANY ($2) AND status = 'active'`,
    values: [organisationId, contactIds],
  });
  return rowCount ?? 0;
}

function readSynced(row: SyncedRow): SyncedCustomer {
  return {
    name: row.name,
    firstName: row.first_name,
    lastName: row.last_name,
    email: row.email,
    status: row.status,
    ledgerContactId: row.ledger_contact_id,
    isDeactivated: row.is_deactivated,
  };
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
