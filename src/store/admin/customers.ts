/** Imports customers and changes their status for the admin API. CUSTOMER-1, ADMIN-6. */

import type { Customer } from "../../domain/customers/customer.ts";
import { type CustomerFilters, customerFilters, customerListing } from "../customers/customers.ts";
import { isId } from "../database/ids.ts";
import { getOne, listPage, type Page, type PageRequest } from "../database/page.ts";
import type { Pool } from "../database/pool.ts";
import { type Actor, type Changes, isTaken, type PrismaTransaction } from "./changes.ts";

/** A customer to import. Its contact exists in the ledger. */
export type CustomerToImport = Customer & { readonly ledgerContactId: string };

/** An organisation's customers. Null stands for a customer that does not exist. */
export interface CustomerStore {
  get(organisationId: string, id: string): Promise<Customer | null>;
  list(
    organisationId: string,
    filters: CustomerFilters,
    page: PageRequest,
  ): Promise<Page<Customer>>;
  /** Returns the customers of these ledger contacts, by the contact's id. */
  findByContacts(
    organisationId: string,
    contactIds: readonly string[],
  ): Promise<ReadonlyMap<string, Customer>>;
  /** `exists`: the contact is a customer already. `code_taken`: another customer has the code. */
  importOne(
    actor: Actor,
    organisationId: string,
    customer: CustomerToImport,
  ): Promise<"imported" | "exists" | "code_taken">;
  /**
   * Imports in one transaction and returns the customers that were imported. Contacts that are
   * customers already, and taken codes, are left out.
   */
  importMany(
    actor: Actor,
    organisationId: string,
    customers: readonly CustomerToImport[],
  ): Promise<ReadonlySet<CustomerToImport>>;
  /**
   * An activated customer is synced with its contact within the minute. It becomes inactive again
   * if the contact cannot carry a document.
   */
  setStatus(
    actor: Actor,
    organisationId: string,
    id: string,
    status: Customer["status"],
  ): Promise<Customer | null>;
}

/** Creates the customer store over changes. */
export function createCustomerStore(pool: Pool, { prisma, run }: Changes): CustomerStore {
  const get = async (organisationId: string, id: string) =>
    isId(id) ? getOne(pool, organisationId, customerListing, id) : null;
  const findByContacts: CustomerStore["findByContacts"] = async (organisationId, contactIds) => {
    const records = await prisma.customer.findMany({
      where: { organisationId, ledgerContactId: { in: [...contactIds] } },
    });
    const entries = records.map(
      (record) => [record.ledgerContactId ?? "", readRecord(record)] as const,
    );
    return new Map(entries);
  };
  return {
    get,
    findByContacts,
    list: (organisationId, filters, page) =>
      listPage(pool, organisationId, customerListing, customerFilters(filters), page),
    importOne: async (actor, organisationId, customer) => {
      try {
        await run(actor, async (transaction) => {
          const after = await transaction.customer.create({
            data: { ...customer, organisationId },
          });
          const target = { targetKind: "customer", targetId: customer.id, organisationId } as const;
          return { result: null, changes: [{ ...target, before: null, after }] };
        });
        return "imported";
      } catch (error) {
        if (!isTaken(error)) throw error;
        const found = await findByContacts(organisationId, [customer.ledgerContactId]);
        return found.size > 0 ? "exists" : "code_taken";
      }
    },
    importMany: async (actor, organisationId, customers) => {
      const data = customers.map((customer) => ({ ...customer, organisationId }));
      const imported = await run(actor, async (transaction) => {
        // Allows one import at a time, and none while contacts that the ledger created are
        // recorded. Both lock unique values that the other may write.
        await transaction.$executeRaw`SELECT 1 FROM organisations WHERE id = ${organisationId}::uuid FOR NO KEY UPDATE`;
        const made = await transaction.customer.createManyAndReturn({ data, skipDuplicates: true });
        const target = { targetKind: "customer", organisationId, before: null } as const;
        const changes = made.map((after) => ({ ...target, targetId: after.id, after }));
        return { result: new Set(made.map(({ id }) => id)), changes };
      });
      return new Set(customers.filter(({ id }) => imported.has(id)));
    },
    setStatus: async (actor, organisationId, id, status) => {
      if (!isId(id)) return null;
      await run(actor, async (transaction) => {
        await transaction.$executeRaw`SELECT 1 FROM customers
          WHERE organisation_id = ${organisationId}::uuid AND id = ${id}::uuid FOR NO KEY UPDATE`;
        // A customer whose contact is not created yet does not count.
        const where = { organisationId, id, ledgerContactId: { not: null } };
        const before = await transaction.customer.findFirst({ where });
        // An operator can also deactivate a customer that is inactive because of its contact. The
        // customer then stays inactive.
        const isSame = status === "active" || before?.deactivatedAt !== null;
        if (before === null || (before.status === status && isSame))
          return { result: null, changes: [] };
        const data = { status, deactivatedAt: status === "active" ? null : new Date() };
        await transaction.customer.updateMany({
          where,
          data: status === "active" ? { ...data, ledgerUpdatedAt: null } : data,
        });
        if (status === "active")
          await lookAgain(transaction, organisationId, before.ledgerContactId);
        const after = { ...before, ...data };
        const change = {
          targetKind: "customer",
          targetId: before.id,
          organisationId,
          before,
          after,
        } as const;
        return { result: null, changes: [change] };
      });
      return get(organisationId, id);
    },
  };
}

// Has the contact read again: its last sync did not evaluate whether the customer can be active.
async function lookAgain(
  transaction: PrismaTransaction,
  organisationId: string,
  contactId: string | null,
): Promise<void> {
  await transaction.$executeRaw`INSERT INTO ledger_notifications (organisation_id, kind, ledger_id)
    SELECT organisation_id, 'contacts', ${contactId} FROM ledger_connections WHERE organisation_id = ${organisationId}::uuid
    ON CONFLICT (organisation_id, kind, ledger_id) DO UPDATE SET changed_at = NULL, received_at = clock_timestamp(), try_at = now()`;
}

function readRecord(record: Omit<Customer, "status"> & { readonly status: string }): Customer {
  return { ...record, status: record.status === "active" ? "active" : "inactive" };
}
