/** Customers: contacts of the ledger that the service bills. */

/**
 * A customer of an organisation. `ledgerContactId` is null until the ledger has told the contact's id. Spec: Customer.
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
