/** Contacts of the demo ledger as they are stored, and as Xero shows them. */
import { xeroInstant } from "./answers.ts";

/** A contact as it is stored. */
export interface ContactRow {
  readonly contact_id: string;
  readonly name: string;
  readonly contact_number: string | null;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly email: string | null;
  readonly status: "ACTIVE" | "ARCHIVED" | "GDPRREQUEST";
  readonly merged_to: string | null;
  readonly is_supplier: boolean;
  /**
   * Whether the contact has had an invoice. Not loaded for the contact of a document, which has
   * one.
   */
  readonly is_customer?: boolean;
  readonly updated_at: Date;
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Returns true if the text is a UUID. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

/** Returns a contact in Xero's names. */
export function presentContact(row: ContactRow): object {
  return {
    ContactID: row.contact_id,
    ...(row.contact_number === null ? {} : { ContactNumber: row.contact_number }),
    ContactStatus: row.status,
    ...(row.merged_to === null ? {} : { MergedToContactID: row.merged_to }),
    Name: row.name,
    ...(row.first_name === null ? {} : { FirstName: row.first_name }),
    ...(row.last_name === null ? {} : { LastName: row.last_name }),
    EmailAddress: row.email ?? "",
    BankAccountDetails: "",
    Addresses: [],
    Phones: [],
    UpdatedDateUTC: xeroInstant(row.updated_at),
    ContactGroups: [],
    IsSupplier: row.is_supplier,
    IsCustomer: row.is_customer ?? true,
    ContactPersons: [],
    HasAttachments: false,
    HasValidationErrors: false,
  };
}
