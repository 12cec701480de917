/** Posts the contacts of new customers: creates them in the ledger or imports them (CUSTOMER-3). */
import { createHash } from "node:crypto";
import type { Ledger, LedgerCall, LedgerContact } from "../../../ledger/port/ledger.ts";
import type { ClaimedJobs, ContactToSend } from "../../../store/ledger-jobs/claim-jobs.ts";
import type { PostingOutcome } from "../../../store/ledger-jobs/document-outcomes.ts";
import {
  addressesAtOnce,
  createdOutcomes,
  type GroupOutcome,
  groupCalls,
  joinOutcomes,
  lookUpInCalls,
} from "./grouped-calls.ts";
import {
  attemptOf,
  failedLookupOutcome,
  failureOutcome,
  missingOutcome,
  refusalOutcome,
  rescheduleOutcome,
} from "./ledger-call.ts";
import type { CallSettings } from "./post-documents.ts";

/**
 * Returns the number under which a customer's contact is created and found again
 * (LEDGER-12). It is the customer's code. If that is too long for the ledger, it is the start of
 * the code and enough of its hash to be unique.
 */
export function contactNumber(code: string, longest: number): string {
  if ([...code].length <= longest) return code;
  const tail = createHash("sha256").update(code).digest("hex").slice(0, 16);
  return `${[...code].slice(0, longest - tail.length - 1).join("")}~${tail}`;
}

/** The most imports of a batch. Each is one call. */
const maxImports = 5;

/** Returns which of these contacts are customers already, or become one in this batch. */
type FindImported = (contactIds: readonly string[]) => Promise<ReadonlySet<string>>;

/** Creates, looks up and imports the taken contacts. */
export async function postContacts(
  ledger: Ledger,
  claimedJobs: ClaimedJobs<ContactToSend>,
  settings: CallSettings,
  findImported: FindImported,
): Promise<GroupOutcome> {
  const { calls, later } = groupCalls(
    claimedJobs.ready.filter(({ kind }) => kind === "create_contact"),
    settings.traits.calls.documents,
  );
  const uncertain = claimedJobs.uncertain.filter(({ kind }) => kind === "create_contact");
  // An import only reads the ledger, so an interrupted one is simply repeated.
  const imports = [...claimedJobs.ready, ...claimedJobs.uncertain].filter(
    ({ kind }) => kind === "import_contact",
  );
  const postponed = [...later, ...imports.slice(maxImports)].map(rescheduleOutcome);
  const claimed = claims(findImported);
  const lookUp: LookUp = (contacts, missing) =>
    lookUpInCalls(contacts, addressesAtOnce, (some) =>
      lookUpContacts(ledger, some, settings, claimed, missing),
    );
  const outcomes = await Promise.all([
    ...calls.map((call) => createContacts(ledger, call, settings, lookUp)),
    lookUp(uncertain, missingOutcome),
    ...imports
      .slice(0, maxImports)
      .map((contact) => importContact(ledger, contact, settings, claimed)),
  ]);
  return joinOutcomes([{ outcomes: postponed, failures: [] }, ...outcomes]);
}

/**
 * Claims a contact for a customer. False if it is one already, or if another job of this batch was
 * faster.
 */
type Claim = (contactId: string) => Promise<boolean>;

function claims(findImported: FindImported): Claim {
  const claimed = new Set<string>();
  return async (contactId) => {
    const imported = await findImported([contactId]);
    if (imported.has(contactId) || claimed.has(contactId)) return false;
    claimed.add(contactId);
    return true;
  };
}

/** Looks contacts up. `missing` returns the outcome of one that is not there. */
type LookUp = (
  contacts: readonly ContactToSend[],
  missing: (contact: ContactToSend) => PostingOutcome,
) => Promise<GroupOutcome>;

/** A caller waits for each contact, so no call is a background call. */
function callOf({ deadlineMs, onPermit }: CallSettings): LedgerCall {
  return { deadlineMs, jobKeys: [], onPermit };
}

async function createContacts(
  ledger: Ledger,
  contacts: readonly ContactToSend[],
  settings: CallSettings,
  lookUp: LookUp,
): Promise<GroupOutcome> {
  const call: LedgerCall = {
    ...callOf(settings),
    jobKeys: contacts.map(({ id }) => id),
    variant: contacts.map((contact) => contact.keyVariant).join(),
  };
  const drafts = contacts.map(({ code, name, firstName, lastName, email }) => ({
    code: contactNumber(code, settings.traits.maxContactCodeLength),
    name,
    firstName,
    lastName,
    email,
  }));
  const answer = await ledger.createContacts(call, drafts);
  const { deadlineMs } = settings;
  const created = createdOutcomes(contacts, answer, "duplicate_contact", deadlineMs, done);
  const found = await lookUp([...created.taken.keys()], (contact) =>
    refuse(contact, "duplicate_contact", "The ledger has another contact with this name."),
  );
  return joinOutcomes([created, found]);
}

/**
 * Finds contacts by their codes. A contact comes from our own lost request if it has our code
 * and name, is no customer yet and may have been sent before.
 */
async function lookUpContacts(
  ledger: Ledger,
  contacts: readonly ContactToSend[],
  settings: CallSettings,
  claim: Claim,
  missing: Parameters<LookUp>[1],
): Promise<GroupOutcome> {
  const call = callOf(settings);
  const numberOf = ({ code }: ContactToSend) =>
    contactNumber(code, settings.traits.maxContactCodeLength);
  const answer = await ledger.findContacts(call, { codes: contacts.map(numberOf) });
  if (answer.kind !== "ok") {
    return {
      outcomes: contacts.map((contact) => failedLookupOutcome(contact, answer)),
      failures: [answer],
    };
  }
  const byCode = new Map(answer.value.map((contact) => [contact.code, contact]));
  const outcomes: PostingOutcome[] = [];
  for (const contact of contacts) {
    const found = byCode.get(numberOf(contact));
    if (found === undefined) outcomes.push(missing(contact));
    else if (isOurs(contact, found) && (await claim(found.id))) outcomes.push(done(contact, found));
    else {
      const other = found.status === "active" ? "another" : "an archived";
      const message = `The ledger has ${other} contact with this code.`;
      outcomes.push(refuse(contact, "duplicate_contact_code", message));
    }
  }
  return { outcomes, failures: [] };
}

function isOurs(contact: ContactToSend, found: LedgerContact): boolean {
  return contact.attempts > 1 && found.status === "active" && isSameName(found.name, contact.name);
}

/** A ledger may remove spaces at the ends of a name and repeated spaces in it. */
function isSameName(left: string, right: string): boolean {
  const plain = (name: string) => name.trim().replace(/\s+/g, " ");
  return plain(left) === plain(right);
}

async function importContact(
  ledger: Ledger,
  contact: ContactToSend,
  settings: CallSettings,
  claim: Claim,
): Promise<GroupOutcome> {
  const call = callOf(settings);
  const answer = await ledger.getContact(call, contact.wantedContactId ?? "");
  if (answer.kind === "refused")
    return { outcomes: [refusalOutcome(contact, answer)], failures: [] };
  if (answer.kind !== "ok") {
    return {
      outcomes: [failureOutcome(contact, answer, settings.deadlineMs, true)],
      failures: [answer],
    };
  }
  const found = answer.value;
  const outcome =
    found.status !== "active"
      ? refuse(contact, "contact_inactive", "The contact is archived in the ledger.")
      : (await claim(found.id))
        ? done(contact, found)
        : refuse(contact, "already_imported", "The contact is a customer already.");
  return { outcomes: [outcome], failures: [] };
}

function done(contact: ContactToSend, found: LedgerContact): PostingOutcome {
  return { ...attemptOf(contact), kind: "contact_done", ledgerId: found.id };
}

function refuse(contact: ContactToSend, reason: string, message: string): PostingOutcome {
  return { ...attemptOf(contact), kind: "refused", reason, message };
}
