/** Customers: contacts of the ledger that the service bills (CUSTOMER-1). */

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
