/** Contacts in Xero: list by change, get, find by our code, create. Facts: facts-ledger section 1.2. */
import { type ExactObject, filledTextOf, objectsOf } from "../exact-json.ts";
import type {
  LedgerAnswer,
  LedgerContact,
  LedgerContactDraft,
  LedgerContactPage,
  LedgerContactQuery,
} from "../port.ts";
import { createEach } from "./create-each.ts";
import { refusedId, unreadable } from "./failure.ts";
import { readContact } from "./read-shapes.ts";
import { shortGroups, whereAny } from "./where.ts";
import type { XeroCall, XeroWire } from "./wire.ts";

// Xero's largest page.
const pageSize = 1_000;

// If-Modified-Since counts in seconds: going back one makes sure that no change within the same second is passed over.
const overlapMs = 1_000;

/** Where a listing stands: the instant that pages start from, and the page within it. */
interface Position {
  readonly since: string | null;
  readonly page: number;
}

/**
 * A page of contacts, oldest change first. The next page starts from the newest change seen, not from a page number,
 * because contacts that change while we read move to the end. Facts: facts-ledger section 1.9.
 */
export async function listContacts(
  wire: XeroWire,
  call: XeroCall,
  query: LedgerContactQuery,
): Promise<LedgerAnswer<LedgerContactPage>> {
  const position = query.cursor === undefined ? firstPosition(query.since) : positionOf(query.cursor);
  const answer = await askContacts(
    wire,
    call,
    { includeArchived: "true", order: "UpdatedDateUTC ASC", page: String(position.page), pageSize: String(pageSize) },
    position.since,
  );
  if (answer.kind !== "ok") return answer;
  const contacts = answer.value;
  return { kind: "ok", value: { contacts, cursor: cursorAfter(position, contacts) } };
}

/** One contact; `not_found` where there is none. */
export async function getContact(wire: XeroWire, call: XeroCall, id: string): Promise<LedgerAnswer<LedgerContact>> {
  const refused = refusedId(id);
  if (refused !== null) return refused;
  const answer = await wire.ask(call, { method: "GET", path: `/Contacts/${id}` });
  if (answer.kind !== "ok") return answer;
  const [element] = objectsOf(answer.value.Contacts);
  const contact = element && readContact(element);
  return contact ? { kind: "ok", value: contact } : unreadable("the contact cannot be read", false);
}

/** The contacts with these codes, archived ones too. */
export async function findContacts(
  wire: XeroWire,
  call: XeroCall,
  codes: readonly string[],
): Promise<LedgerAnswer<readonly LedgerContact[]>> {
  const found: LedgerContact[] = [];
  const wanted = new Set(codes);
  for (const group of shortGroups("ContactNumber", codes)) {
    const where = whereAny("ContactNumber", group);
    const query = { includeArchived: "true", where, page: "1", pageSize: String(pageSize) };
    const answer = await askContacts(wire, call, query, null);
    if (answer.kind !== "ok") return answer;
    // A filter may compare more loosely than we do.
    found.push(...answer.value.filter((contact) => contact.code !== null && wanted.has(contact.code)));
  }
  return { kind: "ok", value: found };
}

/** Makes contacts, each under our code as its ContactNumber. */
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
  query: Readonly<Record<string, string>>,
  since: string | null,
): Promise<LedgerAnswer<readonly LedgerContact[]>> {
  const headers = since === null ? {} : { "if-modified-since": since };
  const answer = await wire.ask(call, { method: "GET", path: "/Contacts", query, headers });
  if (answer.kind !== "ok") return answer;
  const elements: readonly ExactObject[] = objectsOf(answer.value.Contacts);
  const contacts = elements.map(readContact).filter((contact) => contact !== undefined);
  if (contacts.length < elements.length) return unreadable("a contact of the list cannot be read", false);
  return { kind: "ok", value: contacts };
}

function cursorAfter(position: Position, contacts: readonly LedgerContact[]): string | null {
  const last = contacts.at(-1);
  if (!last || contacts.length < pageSize) return null;
  const since = headerTimeOf(last.updatedAt);
  // A whole page within one second: only then is the page number what leads on.
  const isStuck = position.since !== null && since <= position.since;
  return isStuck ? `${position.since}|${position.page + 1}` : `${since}|1`;
}

function firstPosition(since: string | undefined): Position {
  return { since: since === undefined ? null : headerTimeOf(since), page: 1 };
}

// `yyyy-mm-ddThh:mm:ss` in UTC, the form that Xero reads.
function headerTimeOf(instant: string): string {
  return new Date(Date.parse(instant) - overlapMs).toISOString().slice(0, 19);
}

function positionOf(cursor: string): Position {
  const [since = "", page = "1"] = cursor.split("|");
  return { since, page: Number(page) };
}
