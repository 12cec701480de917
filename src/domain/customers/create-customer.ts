/** Create customer: builds a new customer, and its code if the client sends none (CUSTOMER-2). */
import { assert } from "../assert.ts";
import type { Customer } from "./customer.ts";

/** The request after its shapes were checked. An absent member is null. */
export interface CustomerCreationRequest {
  readonly code: string | null;
  readonly name: string;
  readonly companyName: string | null;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly email: string;
  /**
   * An existing contact of the ledger to import; null if a contact is to be created there
   * (CUSTOMER-3).
   */
  readonly ledgerContactId: string | null;
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
