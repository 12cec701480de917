/** Create customer: what a new customer is made of, and the code it gets where the client gives none. */
import { strict as assert } from "node:assert";
import type { Customer } from "./customer.ts";

/** The request, its shapes already checked; null is a member left out. decisions §3 "Customer, create". */
export interface CustomerCreationRequest {
  readonly code: string | null;
  readonly name: string;
  readonly companyName: string | null;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly email: string;
  /** An existing contact of the ledger to import; null where one is to be created there. */
  readonly ledgerContactId: string | null;
}

/**
 * The new customer, active, with its ledger contact's id where that is imported. Whether its code is taken, the store
 * knows.
 */
export function decideCustomer(id: string, request: CustomerCreationRequest, now: Date): Customer {
  return { ...request, id, code: request.code ?? customerCodeOf(id), status: "active", createdAt: now };
}

/**
 * The code of a customer that was given none: `CUS-` and the last twelve hex digits of its id, in capitals. Made of the
 * id so that a retry makes the same one; those 48 bits are random in every kind of UUID that we make.
 */
export function customerCodeOf(id: string): string {
  const tail = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}([0-9a-f]{12})$/i.exec(id)?.[1];
  assert(tail, `not a UUID: ${id}`);
  return `CUS-${tail.toUpperCase()}`;
}
