/**
 * Applies changes of a contact in the ledger to its customer. Names and e-mail address follow the
 * contact. A customer is inactive if its contact can carry no new document (CUSTOMER-5).
 */
import type { Customer } from "./customer.ts";

/** The synced members of a customer. `isDeactivated`: an operator made it inactive. */
export interface SyncedCustomer
  extends Pick<
    Customer,
    "name" | "firstName" | "lastName" | "email" | "status" | "ledgerContactId"
  > {
  readonly isDeactivated: boolean;
}

/** A contact as observed in the ledger. `mergedInto` is the contact that replaced it. */
export interface ObservedContactState {
  readonly name: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly email: string | null;
  readonly status: "active" | "archived" | "erased";
  readonly mergedInto: string | null;
}

/**
 * Returns the customer after a sync with its contact. A merge archives the contact: the customer
 * then moves to the other contact, which is to be synced next. If that contact is already a
 * customer (`isCustomer`), this customer becomes inactive. A contact without an e-mail address
 * leaves the customer's. Only an operator reactivates a customer that an operator made inactive
 * (CUSTOMER-5).
 */
export function syncContact(
  customer: SyncedCustomer,
  contact: ObservedContactState,
  isCustomer: boolean,
): SyncedCustomer {
  if (isMerged(contact) && !isCustomer) return { ...customer, ledgerContactId: contact.mergedInto };
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

/**
 * Whether another contact replaced this one. An active contact carries documents itself, whatever
 * its `mergedInto` says.
 */
export function isMerged({
  status,
  mergedInto,
}: Pick<ObservedContactState, "status" | "mergedInto">): boolean {
  return status === "archived" && mergedInto !== null;
}

/**
 * The most merges that are followed from one contact. People merge duplicates, and seldom merge the
 * result again.
 */
export const maxMerges = 5;

/**
 * Follows the merges of a contact through the observed contacts, by their ids. Returns the last
 * contact (`end`), a contact that was not observed yet (`unseen`), or `nowhere` if the chain is a
 * cycle or longer than `maxMerges`.
 */
export function resolveMerges(
  contactId: string,
  observed: ReadonlyMap<string, Pick<ObservedContactState, "status" | "mergedInto">>,
): { readonly kind: "end" | "unseen"; readonly contactId: string } | { readonly kind: "nowhere" } {
  const passed = new Set<string>();
  let id = contactId;
  while (passed.size <= maxMerges && !passed.has(id)) {
    const contact = observed.get(id);
    if (contact === undefined) return { kind: "unseen", contactId: id };
    if (!isMerged(contact) || contact.mergedInto === null) return { kind: "end", contactId: id };
    passed.add(id);
    id = contact.mergedInto;
  }
  return { kind: "nowhere" };
}
