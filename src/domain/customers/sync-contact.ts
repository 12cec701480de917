/**
 * What a customer becomes when its contact in the ledger was changed: names and address follow, one whose contact can
 * carry no new document is inactive. Issue 8 "Customers"; facts-ledger section 1.2.
 */
import type { Customer } from "./customer.ts";

/** What is followed of a customer; `isDeactivated` where an operator made it inactive. */
export interface SyncedCustomer
  extends Pick<Customer, "name" | "firstName" | "lastName" | "email" | "status" | "ledgerContactId"> {
  readonly isDeactivated: boolean;
}

/** A contact as the ledger has it; `mergedInto` is the contact that took its place. */
export interface ObservedContactState {
  readonly name: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly email: string | null;
  readonly status: "active" | "archived" | "erased";
  readonly mergedInto: string | null;
}

/**
 * The customer as it is by its contact. One whose contact was merged, which archives it, goes over to the other contact, which is to be
 * followed then, unless that is a customer already (`isCustomer`): then it is inactive. A contact without an address leaves the
 * customer's. Only an operator makes a customer active again that an operator made inactive.
 */
export function syncContact(customer: SyncedCustomer, contact: ObservedContactState, isCustomer: boolean): SyncedCustomer {
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

/** Whether another contact took this one's place. One that is active carries documents itself, wherever it says that it went. */
export function isMerged({ status, mergedInto }: Pick<ObservedContactState, "status" | "mergedInto">): boolean {
  return status === "archived" && mergedInto !== null;
}

/** How many merges are followed from one contact on: people merge what they find twice, and seldom again. */
export const mostMerges = 5;

/**
 * Where the merges of a contact lead by the contacts that were seen, under their ids: to a contact (`end`), to one that was not seen yet
 * (`unseen`), or nowhere, where they lead back to where they were or go on for longer than `mostMerges`.
 */
export function resolveMerges(
  contactId: string,
  seen: ReadonlyMap<string, Pick<ObservedContactState, "status" | "mergedInto">>,
): { readonly kind: "end" | "unseen"; readonly contactId: string } | { readonly kind: "nowhere" } {
  const passed = new Set<string>();
  let id = contactId;
  while (passed.size <= mostMerges && !passed.has(id)) {
    const contact = seen.get(id);
    if (contact === undefined) return { kind: "unseen", contactId: id };
    if (!isMerged(contact) || contact.mergedInto === null) return { kind: "end", contactId: id };
    passed.add(id);
    id = contact.mergedInto;
  }
  return { kind: "nowhere" };
}
