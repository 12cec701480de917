/**
 * Imports customers and changes their status for the admin API. An import is SQL: one statement
 * writes a page of contacts. CUSTOMER-1, ADMIN-6.
 */
import type { Customer } from "../../domain/customers/customer.ts";
import { Refusal } from "../../domain/refusal.ts";
import { columns } from "../../gen/columns.ts";
import { type CustomerFilters, customerFilters, customerListing } from "../customers/customers.ts";
import { isId } from "../database/ids.ts";
import { lockOrganisation, lockRow } from "../database/lock-order.ts";
import { collection, declarePage, type Filter, filter } from "../database/page.ts";
import type { Pool, Transaction } from "../database/pool.ts";
import { db } from "../database/prisma/client.ts";
import { pick } from "../database/sql/columns.ts";
import { type Sql, sql } from "../database/sql/sql.ts";
import { command, query } from "../database/sql/statement.ts";
import { type Actor, type Changed, type Changes, changed, changeOf } from "./changes.ts";
import { eraseCustomer } from "./erase-customer.ts";

/** A customer to import. Its contact exists in the ledger. */
export type CustomerToImport = Customer & { readonly ledgerContactId: string };

/** The search of a list. `search` is a part of name, company, code or e-mail address. */
interface CustomerSearch extends CustomerFilters {
  readonly search: string | null;
}

/** SQL: whether a text contains the value, in any case. The value is no pattern. */
const contains = (text: Sql) => sql`strpos(lower(${text}), lower(?)) > 0`;

const isFound = sql`(${contains(sql`t.name`)} OR ${contains(sql`t.company_name`)}
  OR ${contains(sql`t.code`)} OR ${contains(sql`t.email`)})`;

function searchFilters({ search, ...filters }: CustomerSearch): readonly Filter[] {
  return [...customerFilters(filters), ...filter(isFound, search)];
}

declarePage(
  "search_customers",
  customerListing,
  searchFilters({ code: "", email: "", status: "active", search: "" }),
);

/** Creates the customer store over changes. Null stands for one that does not exist. */
export function createCustomerStore(pool: Pool, { run }: Changes) {
  const reads = collection(pool, customerListing, searchFilters);
  return {
    ...reads,
    /** Returns the customers of these ledger contacts, by the contact's id. */
    findByContacts: async (organisationId: string, contactIds: readonly string[]) => {
      const records = await db(pool).customer.findMany({
        where: { organisationId, ledgerContactId: { in: [...contactIds] } },
      });
      return new Map(records.map((record) => [record.ledgerContactId ?? "", readRecord(record)]));
    },
    /**
     * Imports in one transaction and returns the customers that were imported. Contacts that are
     * customers already, and taken codes, are left out.
     */
    importMany: async (
      actor: Actor,
      organisationId: string,
      customers: readonly CustomerToImport[],
    ) => {
      const imported = await run(actor, (tx) => importMany(tx, organisationId, customers));
      return new Set(customers.filter(({ id }) => imported.has(id)));
    },
    /**
     * An activated customer is synced with its contact within the minute. It becomes inactive again
     * if the contact cannot carry a document. Refuses `invalid_state` to activate an erased one.
     */
    setStatus: async (
      actor: Actor,
      organisationId: string,
      id: string,
      status: Customer["status"],
    ) => {
      if (!isId(id)) return null;
      await run(actor, (tx) => setStatus(tx, organisationId, id, status));
      return reads.get(organisationId, id);
    },
    /** Erases the customer's personal data. Refuses as `eraseCustomer` does. */
    erase: async (actor: Actor, organisationId: string, id: string) => {
      if (!isId(id)) return null;
      await run(actor, (tx) => eraseCustomer(tx, organisationId, id));
      return reads.get(organisationId, id);
    },
  };
}

const saveImported = query({
  name: "import_customers",
  text: sql`
    INSERT INTO customers
      (
        id, organisation_id, code, name, company_name, first_name, last_name, email, status,
        ledger_contact_id, created_at
      )
    SELECT
      r.id, $1, r.code, r.name, r."companyName", r."firstName", r."lastName", r.email, r.status,
      r."ledgerContactId", r."createdAt"
    FROM
      jsonb_to_recordset($2) AS r (
        position int, id uuid, code text, name text, "companyName" text, "firstName" text,
        "lastName" text, email text, status text, "ledgerContactId" text, "createdAt" timestamptz
      )
    ORDER BY r.position
    ON CONFLICT DO NOTHING
    RETURNING id
  `,
  row: pick(columns.customer, "id"),
});

/** Returns the ids of the customers that were imported. */
async function importMany(
  tx: Transaction,
  organisationId: string,
  customers: readonly CustomerToImport[],
): Promise<Changed<ReadonlySet<string>>> {
  // Allows one import at a time, and none while contacts that the ledger created are recorded. Both
  // lock unique values that the other may write.
  await lockOrganisation(tx, organisationId);
  const records = customers.map((customer, position) => ({ ...customer, position }));
  const rows = await saveImported(tx, organisationId, JSON.stringify(records));
  const ids = rows.map(({ id }) => id);
  const imported = await db(tx).customer.findMany({
    where: { organisationId, id: { in: ids } },
    orderBy: { seq: "asc" },
  });
  return changed(new Set(ids), ...imported.map((after) => changeOf("customer", null, after)));
}

async function setStatus(
  tx: Transaction,
  organisationId: string,
  id: string,
  status: Customer["status"],
): Promise<Changed<null>> {
  await lockRow(tx, "customers", organisationId, id);
  // A customer whose contact is not created yet does not count.
  const where = { organisationId, id, ledgerContactId: { not: null } };
  const before = await db(tx).customer.findFirst({ where });
  // An operator can also deactivate a customer that is inactive because of its contact. The
  // customer then stays inactive.
  const isSame = status === "active" || before?.deactivatedAt !== null;
  if (before === null || (before.status === status && isSame)) return changed(null);
  if (status === "active" && before.erasedAt !== null)
    throw new Refusal("invalid_state", "The customer's personal data were erased.");
  const data = { status, deactivatedAt: status === "active" ? null : new Date() };
  await db(tx).customer.updateMany({
    where,
    data: status === "active" ? { ...data, ledgerUpdatedAt: null } : data,
  });
  if (status === "active") await syncAgain(tx, organisationId, before.ledgerContactId);
  return changed(null, changeOf("customer", before, { ...before, ...data }));
}

// Has the contact read again: its last sync did not evaluate whether the customer can be active.
const syncAgain = command({
  name: "sync_customer_again",
  text: sql`
    INSERT INTO ledger_notifications (organisation_id, kind, ledger_id)
    SELECT organisation_id, 'contacts', $2 FROM ledger_connections WHERE organisation_id = $1
    ON CONFLICT (organisation_id, kind, ledger_id) DO UPDATE
      SET
        changed_at = NULL,
        received_at = clock_timestamp(),
        try_at = now()
  `,
});

function readRecord(record: Omit<Customer, "status"> & { readonly status: string }): Customer {
  return { ...record, status: record.status === "active" ? "active" : "inactive" };
}
