/** Contacts in Xero: get, find by our code, create (XERO-10). */
import { type ExactObject, filledTextOf, objectsOf } from "../port/exact-json.ts";
import { isMissing, unreadable } from "../port/failures.ts";
import type { LedgerAnswer, LedgerContact, LedgerContactDraft } from "../port/ledger.ts";
import { createEach } from "./documents/create-each.ts";
import { refusedId } from "./wire/failure.ts";
import { readContact } from "./wire/read-shapes.ts";
import { fitsPath } from "./wire/where.ts";
import type { XeroCall, XeroWire } from "./wire/wire.ts";

// Xero's largest page (XERO-6).
const pageSize = 1_000;

/** Returns one contact, or `not_found`. */
export async function getContact(
  wire: XeroWire,
  call: XeroCall,
  id: string,
): Promise<LedgerAnswer<LedgerContact>> {
  const refused = refusedId(id);
  if (refused !== null) return refused;
  const answer = await wire.ask(call, { method: "GET", path: `/Contacts/${id}` });
  if (answer.kind !== "ok") return answer;
  const [element] = objectsOf(answer.value.Contacts);
  const contact = element && readContact(element);
  return contact ? { kind: "ok", value: contact } : unreadable("the contact cannot be read", false);
}

/** Returns the contacts with these codes, also archived ones, one code after the other. */
export async function findContacts(
  wire: XeroWire,
  call: XeroCall,
  codes: readonly string[],
): Promise<LedgerAnswer<readonly LedgerContact[]>> {
  const found: LedgerContact[] = [];
  for (const code of new Set(codes)) {
    // Xero's filter finds contact numbers only in small organisations. In the path, a code that
    // resembles an id would be read as one.
    const isAddress = fitsPath(code) && refusedId(code) !== null;
    const answer = isAddress
      ? await askByNumber(wire, call, code)
      : await searchNumber(wire, call, code);
    if (answer.kind !== "ok") return answer;
    // A ledger may compare more loosely than we do.
    found.push(...answer.value.filter((contact) => contact.code === code));
  }
  return { kind: "ok", value: found };
}

async function askByNumber(
  wire: XeroWire,
  call: XeroCall,
  code: string,
): Promise<LedgerAnswer<readonly LedgerContact[]>> {
  const answer = await askContacts(wire, call, `/Contacts/${encodeURIComponent(code)}`, {});
  return isMissing(answer) ? { kind: "ok", value: [] } : answer;
}

// The search also covers names and e-mail addresses. It reads page by page until the code is found
// or the list ends.
async function searchNumber(
  wire: XeroWire,
  call: XeroCall,
  code: string,
): Promise<LedgerAnswer<readonly LedgerContact[]>> {
  for (let page = 1; ; page += 1) {
    const query = {
      searchTerm: code,
      includeArchived: "true",
      page: String(page),
      pageSize: String(pageSize),
    };
    const answer = await askContacts(wire, call, "/Contacts", query);
    if (answer.kind !== "ok") return answer;
    const isOver = answer.value.length < pageSize;
    if (isOver || answer.value.some((contact) => contact.code === code)) return answer;
  }
}

/** Creates contacts, each with our code as its ContactNumber. */
export function createContacts(
  wire: XeroWire,
  call: XeroCall,
  drafts: readonly LedgerContactDraft[],
): Promise<LedgerAnswer<readonly LedgerAnswer<LedgerContact>[]>> {
  return createEach(wire, call, {
    member: "Contacts",
    drafts,
    keyOf: (draft) => draft.code,
    write: writeContact,
    elementKeyOf: (element) => filledTextOf(element.ContactNumber),
    read: readContact,
  });
}

function writeContact(draft: LedgerContactDraft): object {
  return {
    Name: draft.name,
    ContactNumber: draft.code,
    ...(draft.firstName === null ? {} : { FirstName: draft.firstName }),
    ...(draft.lastName === null ? {} : { LastName: draft.lastName }),
    ...(draft.email === null ? {} : { EmailAddress: draft.email }),
  };
}

async function askContacts(
  wire: XeroWire,
  call: XeroCall,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<LedgerAnswer<readonly LedgerContact[]>> {
  const answer = await wire.ask(call, { method: "GET", path, query });
  if (answer.kind !== "ok") return answer;
  const elements: readonly ExactObject[] = objectsOf(answer.value.Contacts);
  const contacts = elements.map(readContact).filter((contact) => contact !== undefined);
  if (contacts.length < elements.length)
    return unreadable("a contact of the list cannot be read", false);
  return { kind: "ok", value: contacts };
}
