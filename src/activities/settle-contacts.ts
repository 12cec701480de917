/** New customers' contacts: made in the ledger, or taken over from it. decisions §3 "Customer, create". */
import { createHash } from "node:crypto";
import type { Ledger, LedgerContact } from "../ledger/port.ts";
import type { ContactToSend, Settlement, Taken } from "../store/operations.ts";
import { settleFailedLookup, settleFailure } from "./ledger-call.ts";
import type { CallSettings, GroupOutcome } from "./settle-invoices.ts";

/** The longest contact number that the ledger takes. Facts: facts-ledger section 1.2. */
const longestNumber = 50;

/**
 * The number under which a customer's contact is made and found again: its code, or where that is longer than the ledger
 * takes, its head and enough of its hash to be nobody else's.
 */
export function contactNumber(code: string): string {
  if ([...code].length <= longestNumber) return code;
  const tail = createHash("sha256").update(code).digest("hex").slice(0, 16);
  return `${[...code].slice(0, longestNumber - tail.length - 1).join("")}~${tail}`;
}

/** Which of these contacts are customers already. */
export type FindImported = (contactIds: readonly string[]) => Promise<ReadonlySet<string>>;

/** Makes, looks up and imports what was taken. */
export async function settleContacts(
  ledger: Ledger,
  taken: Taken<ContactToSend>,
  settings: CallSettings,
  findImported: FindImported,
): Promise<GroupOutcome> {
  const creates = taken.ready.filter(({ kind }) => kind === "create_contact");
  const uncertain = taken.uncertain.filter(({ kind }) => kind === "create_contact");
  // An import only reads the ledger: one that was broken off is simply done again.
  const imports = [...taken.ready, ...taken.uncertain].filter(({ kind }) => kind === "import_contact");
  const outcomes: GroupOutcome[] = [];
  if (creates.length > 0) outcomes.push(await createContacts(ledger, creates, settings, findImported));
  if (uncertain.length > 0) outcomes.push(await lookUpContacts(ledger, uncertain, settings, findImported));
  for (const contact of imports) outcomes.push(await importContact(ledger, contact, settings, findImported));
  return {
    settlements: outcomes.flatMap(({ settlements }) => settlements),
    failure: outcomes.find(({ failure }) => failure !== null)?.failure ?? null,
  };
}

async function createContacts(
  ledger: Ledger,
  contacts: readonly ContactToSend[],
  settings: CallSettings,
  findImported: FindImported,
): Promise<GroupOutcome> {
  const call = {
    deadlineMs: settings.deadlineMs,
    operationKeys: contacts.map(({ id }) => id),
    variant: String(Math.max(...contacts.map(({ attempts }) => attempts))),
  };
  const drafts = contacts.map(({ code, name, first_name, last_name, email }) => ({
    code: contactNumber(code),
    name,
    firstName: first_name,
    lastName: last_name,
    email,
  }));
  const answer = await ledger.createContacts(call, drafts);
  if (answer.kind !== "ok") {
    return {
      settlements: contacts.map((contact) => settleFailure(contact, answer, settings.deadlineMs)),
      failure: answer,
    };
  }
  const settlements: Settlement[] = [];
  const taken: ContactToSend[] = [];
  for (const [index, contact] of contacts.entries()) {
    const element = answer.value[index];
    if (element === undefined) throw new Error("the ledger's adapter left out an element");
    if (element.kind === "ok") {
      settlements.push({ kind: "contact_done", operationId: contact.id, ledgerId: element.value.id });
    } else if (element.kind === "refused" && element.reason === "duplicate_contact") taken.push(contact);
    else settlements.push(settleFailure(contact, element, settings.deadlineMs));
  }
  if (taken.length === 0) return { settlements, failure: null };
  const found = await lookUpContacts(ledger, taken, settings, findImported, "refuse");
  return { settlements: [...settlements, ...found.settlements], failure: found.failure };
}

/**
 * Looks contacts up by our codes. One with our code and name that is nobody's customer was made by our own request, whose
 * answer was lost. Without one, nothing was made: `again` sends it, `refuse` says that the name is somebody else's.
 */
async function lookUpContacts(
  ledger: Ledger,
  contacts: readonly ContactToSend[],
  settings: CallSettings,
  findImported: FindImported,
  ifMissing: "again" | "refuse" = "again",
): Promise<GroupOutcome> {
  const call = { deadlineMs: settings.deadlineMs, operationKeys: [] };
  const answer = await ledger.findContacts(call, { codes: contacts.map(({ code }) => contactNumber(code)) });
  if (answer.kind !== "ok") {
    return { settlements: contacts.map((contact) => settleFailedLookup(contact, answer)), failure: answer };
  }
  const byCode = new Map(answer.value.map((contact) => [contact.code, contact]));
  const imported = await findImported(answer.value.map(({ id }) => id));
  const settlements = contacts.map((contact): Settlement => {
    const operationId = contact.id;
    const found = byCode.get(contactNumber(contact.code));
    const isOurs = found !== undefined && isSameName(found.name, contact.name);
    if (found !== undefined && isOurs && found.status === "active" && !imported.has(found.id)) {
      return { kind: "contact_done", operationId, ledgerId: found.id };
    }
    if (found === undefined && ifMissing === "again") {
      const reason = "not in the ledger: sent again";
      return { kind: "again", operationId, delayMs: 0, countsAsAttempt: true, reason };
    }
    return found === undefined
      ? {
          kind: "refused",
          operationId,
          reason: "duplicate_contact",
          message: "The ledger has another contact with this name.",
        }
      : {
          kind: "refused",
          operationId,
          reason: "duplicate_contact_code",
          message: "The ledger has another contact with this code.",
        };
  });
  return { settlements, failure: null };
}

/** A ledger may keep a name without spaces at its ends or in a row. Facts: facts-ledger section 1.2. */
function isSameName(left: string, right: string): boolean {
  const plain = (name: string) => name.trim().replace(/\s+/g, " ");
  return plain(left) === plain(right);
}

async function importContact(
  ledger: Ledger,
  contact: ContactToSend,
  settings: CallSettings,
  findImported: FindImported,
): Promise<GroupOutcome> {
  const call = { deadlineMs: settings.deadlineMs, operationKeys: [] };
  const answer = await ledger.getContact(call, contact.wanted_contact_id ?? "");
  if (answer.kind !== "ok") {
    const settlement = settleFailure(contact, answer, settings.deadlineMs);
    return { settlements: [settlement], failure: answer.kind === "refused" ? null : answer };
  }
  return { settlements: [await judgeImport(contact, answer.value, findImported)], failure: null };
}

async function judgeImport(
  contact: ContactToSend,
  found: LedgerContact,
  findImported: FindImported,
): Promise<Settlement> {
  const operationId = contact.id;
  if (found.status !== "active") {
    const message = "The contact is archived in the ledger.";
    return { kind: "refused", operationId, reason: "contact_inactive", message };
  }
  if ((await findImported([found.id])).has(found.id)) {
    return { kind: "refused", operationId, reason: "already_imported", message: "The contact is a customer already." };
  }
  return { kind: "contact_done", operationId, ledgerId: found.id };
}
