/**
 * Customers: contacts of the ledger that the service bills, and their creation (CUSTOMER-1,
 * CUSTOMER-2).
 */
import { assert } from "../assert.ts";

/**
 * A customer of an organisation. `ledgerContactId` is null until the ledger has reported the
 * contact's id.
 */
export interface Customer {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly companyName: string | null;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly email: string;
  readonly status: "active" | "inactive";
  readonly ledgerContactId: string | null;
  readonly createdAt: Date;
}

/**
 * The request after its shapes were checked. An absent member is null. `ledgerContactId`: an
 * existing contact of the ledger to import; null if a contact is to be created there (CUSTOMER-3).
 */
export interface CustomerCreationRequest
  extends Omit<Customer, "id" | "code" | "status" | "createdAt"> {
  readonly code: string | null;
}

/**
 * Returns the new customer, active, with its ledger contact's id if that is imported. The store
 * decides whether the code is taken.
 */
export function decideCustomer(id: string, request: CustomerCreationRequest, now: Date): Customer {
  return {
    ...request,
    id,
    code: request.code ?? customerCodeOf(id),
    status: "active",
    createdAt: now,
  };
}

/**
 * Returns the code of a customer without one: `CUS-` and the last twelve hex digits of its id, in
 * capitals. It is derived from the id so that a retry has the same code. Those 48 bits are random
 * in every kind of UUID that the service creates.
 */
export function customerCodeOf(id: string): string {
  const tail = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}([0-9a-f]{12})$/i.exec(id)?.[1];
  assert(tail, `not a UUID: ${id}`);
  return `CUS-${tail.toUpperCase()}`;
}
