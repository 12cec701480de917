/** The contacts of documents: loaded in one statement, and validated for new documents. */
import { type ContactRow, isUuid, presentContact } from "../api/contact-rows.ts";
import type { Queryable } from "../database.ts";

const noContact = "A Contact must be specified for this type of transaction.";
const contactArchived =
  "The contact with the specified contact details has been archived. " +
  "The contact must be un-archived before creating new invoices or credit notes.";

/** Returns contacts by id. Text that is not a UUID is left out. */
export async function loadContacts(
  client: Queryable,
  tenantId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ContactRow>> {
  const { rows } = await client.query<ContactRow>({
    name: "demo-load-contacts",
    text: `select * from demo_ledger.contacts
      where tenant_id = $1 and contact_id = any($2::uuid[])`,
    values: [tenantId, [...new Set(ids.filter(isUuid))]],
  });
  return new Map(rows.map((row) => [row.contact_id, row]));
}

/** Returns the reasons why this contact takes no new document, or an empty list. */
export function contactFaults(
  contacts: ReadonlyMap<string, ContactRow>,
  contactId: string,
): readonly string[] {
  const contact = contacts.get(contactId.toLowerCase());
  if (!contact) return [noContact];
  return contact.status === "ACTIVE" ? [] : [contactArchived];
}

/** Returns the contact of a document in Xero's names. */
export function presentContactOf(
  contacts: ReadonlyMap<string, ContactRow>,
  row: { readonly contact_id: string },
): object {
  const contact = contacts.get(row.contact_id);
  return contact ? presentContact(contact) : {};
}
