/**
 * Contacts are parties. Tryton keeps one name of a party, so that a person's names are two of its
 * contact mechanisms beside the e-mail address.
 */

import type { BegunCall } from "../port/call.ts";
import { type ExactObject, filledTextOf, objectsOf } from "../port/exact-json.ts";
import { notFound, refused, unreadable } from "../port/failures.ts";
import type { LedgerAnswer, LedgerContact, LedgerContactDraft } from "../port/ledger.ts";
import { refusedId } from "./wire/failure.ts";
import { idOf, instantOf } from "./wire/values.ts";
import { idValue, type TrytonWire } from "./wire/wire.ts";

/** The model of contacts. */
export const partyModel = "party.party";

/** The fields that `readContact` needs. */
export const partyFields: readonly string[] = [
  "code",
  "name",
  "active",
  "replaced_by",
  "create_date",
  "write_date",
  "contact_mechanisms.type",
  "contact_mechanisms.name",
  "contact_mechanisms.value",
];

/** The condition under which archived parties are found too. */
export const everyParty = ["active", "in", [true, false]] as const;

/**
 * A condition that no party meets. Tryton adds to each list of conditions, also to an inner one,
 * that archived parties are not found, unless the list itself names `active`.
 */
export const noParty = ["active", "in", []] as const;

const firstNameLabel = "First name";
const lastNameLabel = "Last name";

/** Reads a contact, or undefined if a member is missing. */
export function readContact(party: ExactObject): LedgerContact | undefined {
  const id = idOf(party);
  const updatedAt = instantOf(party.write_date) ?? instantOf(party.create_date);
  if (id === undefined || updatedAt === undefined) return undefined;
  const mechanisms = objectsOf(party.contact_mechanisms);
  const mechanismOf = (type: string, name?: string) => {
    const found = mechanisms.find(
      (one) => one.type === type && (name === undefined || one.name === name),
    );
    return filledTextOf(found?.value) ?? null;
  };
  return {
    id,
    code: filledTextOf(party.code) ?? null,
    name: filledTextOf(party.name) ?? "",
    firstName: mechanismOf("other", firstNameLabel),
    lastName: mechanismOf("other", lastNameLabel),
    email: mechanismOf("email"),
    status: party.active === true ? "active" : "archived",
    mergedInto: idOf(party.replaced_by) ?? null,
    // Tryton does not say it of a party.
    isCustomer: false,
    isSupplier: false,
    updatedAt,
  };
}

/** Returns one contact, also an archived one, or `not_found`. */
export async function getContact(
  wire: TrytonWire,
  call: BegunCall,
  id: string,
): Promise<LedgerAnswer<LedgerContact>> {
  const no = refusedId(id);
  if (no !== null) return no;
  const answer = await searchContacts(wire, call, [["id", "=", idValue(id)]]);
  if (answer.kind !== "ok") return answer;
  const [contact] = answer.value;
  return contact === undefined ? notFound : { kind: "ok", value: contact };
}

/** Returns the contacts with these codes, also archived ones. */
export function findContacts(
  wire: TrytonWire,
  call: BegunCall,
  codes: readonly string[],
): Promise<LedgerAnswer<readonly LedgerContact[]>> {
  return searchContacts(wire, call, [["code", "in", codes]]);
}

async function searchContacts(
  wire: TrytonWire,
  call: BegunCall,
  conditions: readonly unknown[],
): Promise<LedgerAnswer<readonly LedgerContact[]>> {
  const domain = [everyParty, ...conditions];
  const answer = await wire.search(call, partyModel, { domain, fields: partyFields });
  if (answer.kind !== "ok") return answer;
  const contacts = answer.value.map(readContact).filter((one) => one !== undefined);
  return contacts.length < answer.value.length
    ? unreadable("a contact cannot be read", false)
    : { kind: "ok", value: contacts };
}

/**
 * Creates contacts, one a request. A code is unique in Tryton. Its refusal of one is known by
 * looking for the code, never by its words (LEDGER-21).
 */
export async function createContacts(
  wire: TrytonWire,
  call: BegunCall,
  drafts: readonly LedgerContactDraft[],
): Promise<LedgerAnswer<readonly LedgerAnswer<LedgerContact>[]>> {
  const created: LedgerAnswer<LedgerContact>[] = [];
  for (const draft of drafts) created.push(await createContact(wire, call, draft));
  return { kind: "ok", value: created };
}

async function createContact(
  wire: TrytonWire,
  call: BegunCall,
  draft: LedgerContactDraft,
): Promise<LedgerAnswer<LedgerContact>> {
  const answer = await wire.create(call, partyModel, writeContact(draft), partyFields);
  if (answer.kind === "ok") {
    const contact = readContact(answer.value);
    return contact === undefined
      ? unreadable("the contact cannot be read", true)
      : { kind: "ok", value: contact };
  }
  if (answer.kind !== "refused") return answer;
  const found = await findContacts(wire, call, [draft.code]);
  if (found.kind !== "ok") return found;
  if (found.value.length > 0)
    return refused("duplicate_contact", `Tryton has a party with the code ${draft.code}.`);
  return draft.email === null ? answer : { ...answer, reason: "contact_email_invalid" };
}

function writeContact({ code, name, firstName, lastName, email }: LedgerContactDraft): object {
  const mechanisms = [
    ...(email === null ? [] : [{ type: "email", value: email }]),
    ...(firstName === null ? [] : [{ type: "other", name: firstNameLabel, value: firstName }]),
    ...(lastName === null ? [] : [{ type: "other", name: lastNameLabel, value: lastName }]),
  ];
  return {
    code,
    name,
    // A document needs an address, which people fill in.
    addresses: [["create", [{}]]],
    contact_mechanisms: [["create", mechanisms]],
  };
}
