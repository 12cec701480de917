/**
 * What a customer becomes when its contact in the ledger was changed: names and address follow, one whose contact can
 * carry no new document is inactive. Issue 8 "Customers"; facts-ledger section 1.2.
 */
import type { Customer } from "./customer.ts";

/** What is followed of a customer; `isDeactivated` where an operator made it inactive. */
export interface FollowedCustomer
  extends Pick<Customer, "name" | "firstName" | "lastName" | "email" | "status" | "ledgerContactId"> {
  readonly isDeactivated: boolean;
}

/** A contact as the ledger has it; `mergedInto` is the contact that took its place. */
export interface ContactSeen {
  readonly name: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly email: string | null;
  readonly status: "active" | "archived" | "erased";
  readonly mergedInto: string | null;
}

/**
 * The customer as it is by its contact. One whose contact was merged goes over to the other contact, which is to be
 * followed then, unless that is a customer already (`isCustomer`): then it is inactive. A contact without an address
 * leaves the customer's. Only an operator makes a customer active again that an operator made inactive.
 */
export function followContact(customer: FollowedCustomer, contact: ContactSeen, isCustomer: boolean): FollowedCustomer {
  const { mergedInto } = contact;
  if (mergedInto !== null && !isCustomer) return { ...customer, ledgerContactId: mergedInto };
  if (contact.status !== "active") return { ...customer, status: "inactive" };
  return {
    ...customer,
    name: contact.name,
    firstName: contact.firstName,
    lastName: contact.lastName,
    email: contact.email ?? customer.email,
    status: customer.isDeactivated ? "inactive" : "active",
  };
}
