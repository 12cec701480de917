/**
 * Reads the objects that change notifications name. All are read in one call. A missing object is
 * looked up in a second way before its loss is believed, and the targets of merged contacts are
 * read first. A notification that cannot be synced is kept with its reason (LEDGER-5).
 */
import { isMerged, maxMerges, resolveMerges } from "../../../domain/customers/sync-contact.ts";
import { isMissing } from "../../../ledger/port/failures.ts";
import type {
  Ledger,
  LedgerCall,
  LedgerChanged,
  LedgerContact,
  LedgerFailure,
} from "../../../ledger/port/ledger.ts";
import type { ClaimedNotifications } from "../../../store/ledger-sync/claim-notifications.ts";
import type { SkippedNotification } from "../../../store/ledger-sync/finish-notifications.ts";
import {
  joinSyncResults,
  nothingSynced,
  type SyncedDocumentKind,
  type SyncResult,
} from "../../../store/ledger-sync/observed-state.ts";
import type { SyncKind } from "../../../store/ledger-sync/pending-notifications.ts";
import type { LedgerSyncTenant } from "../../../store/ledger-sync/sync-store.ts";
import { reasonOf } from "../posting/ledger-call.ts";

/** The access to the ledger and the store for one read. */
export interface LedgerReader {
  readonly store: LedgerSyncTenant;
  readonly ledger: Ledger;
  readonly call: LedgerCall;
}

/**
 * The result of a read. Notifications in `skipped` are kept, because their objects cannot be
 * synced.
 */
export interface ReadResult {
  readonly read: number;
  readonly synced: SyncResult;
  readonly skipped: readonly SkippedNotification[];
  /** Why the rest could not be read, or null. */
  readonly failure: LedgerFailure | null;
}

/**
 * The result for some of the claimed objects. Those in `unrequested` could not be requested,
 * because of `failure`.
 */
interface PartResult {
  readonly synced: SyncResult;
  readonly skipped: readonly SkippedNotification[];
  readonly unrequested: readonly string[];
  readonly failure: LedgerFailure | null;
}

/** Why an object of the ledger is not synced. A reason names no data of the object. */
const unreadReason = "the ledger's answer about it cannot be parsed";
const unfitReason = "the ledger's values fit no record here";
const otherNumberReason = "another document in the ledger has its number";
const lostMergeReason = "the contact that replaced it is missing or cannot be parsed";

/** How many missing contacts one read requests singly. Each is a call. */
const maxSingleContacts = 2;

/**
 * Whether the ledger refused every current call and not just these objects: a rate limit, or a
 * connection without authorisation.
 */
export function isConnectionFailure(failure: LedgerFailure): boolean {
  return failure.kind === "rate_limited" || failure.kind === "unauthorised";
}

/** Saves the state of objects of one kind, as observed after `queriedAt`. */
export function syncObserved<Kind extends SyncKind>(
  store: LedgerSyncTenant,
  kind: Kind,
  observed: readonly LedgerChanged[Kind][],
  queriedAt: string,
): Promise<SyncResult> {
  switch (kind) {
    case "contacts":
      return store.syncContacts(observed as readonly LedgerChanged["contacts"][]);
    case "credit_notes":
      return store.syncCreditNotes(observed as readonly LedgerChanged["credit_notes"][], queriedAt);
    default:
      return store.syncInvoices(observed as readonly LedgerChanged["invoices"][], queriedAt);
  }
}

/** Reads the objects of claimed notifications and finishes the notifications. */
export async function readNotifications(
  reader: LedgerReader,
  claimed: ClaimedNotifications,
): Promise<ReadResult> {
  const { store, ledger, call } = reader;
  const { kind, notifications, takenAt } = claimed;
  const ids = notifications.map(({ ledgerId }) => ledgerId);
  const answer = await ledger.getMany(call, { kind, ids });
  if (answer.kind !== "ok") return end(store, claimed, [unrequested(ids, answer)]);
  const { found, unread } = answer.value;
  const missing = ids.filter((id) => !found.some((one) => one.id === id) && !unread.includes(id));
  const parts = [
    await syncFound(reader, kind, found, takenAt),
    skipped(unread, unreadReason),
    kind === "contacts"
      ? await requestContacts(reader, missing, takenAt)
      : await findDocuments(reader, kind, missing, takenAt),
  ];
  return end(store, claimed, parts);
}

async function end(
  store: LedgerSyncTenant,
  claimed: ClaimedNotifications,
  parts: readonly PartResult[],
): Promise<ReadResult> {
  const synced = joinSyncResults(parts.map((part) => part.synced));
  const kept = [...parts, skipped(synced.unfit, unfitReason)].flatMap((part) => part.skipped);
  const unrequestedIds = new Set(parts.flatMap((part) => part.unrequested));
  const failure = parts.find((part) => part.failure !== null)?.failure ?? null;
  const [rest, requested] = [true, false].map((isRest) => ({
    ...claimed,
    notifications: claimed.notifications.filter(
      ({ ledgerId }) => unrequestedIds.has(ledgerId) === isRest,
    ),
  }));
  if (requested !== undefined) await store.finishNotifications(requested, synced.again, kept);
  // A rate limit says nothing about these objects, so they are read again unchanged.
  if (rest !== undefined && failure !== null && !isConnectionFailure(failure))
    await store.failNotifications(rest, reasonOf(failure));
  return {
    read: claimed.notifications.length - unrequestedIds.size,
    synced,
    skipped: kept,
    failure,
  };
}

async function syncFound<Kind extends SyncKind>(
  { store, ledger, call }: LedgerReader,
  kind: Kind,
  found: readonly LedgerChanged[Kind][],
  queriedAt: string,
): Promise<PartResult> {
  if (kind !== "contacts") return syncedPart(await syncObserved(store, kind, found, queriedAt));
  const contacts = found as readonly LedgerContact[];
  const merged = contacts.filter(isMerged);
  const observed = new Map(contacts.map((contact) => [contact.id, contact]));
  const failure = await readMerges(ledger, call, merged, observed);
  const synced = [await store.syncContacts(contacts.filter((contact) => !isMerged(contact)))];
  if (failure !== null)
    return { ...syncedPart(synced[0]), unrequested: merged.map(({ id }) => id), failure };
  const lost: string[] = [];
  for (const contact of merged) {
    const target = resolveMerges(contact.id, observed);
    if (target.kind === "unseen") lost.push(contact.id);
    // The merge chain is a cycle, so no contact survives: treat it as archived.
    else
      synced.push(
        await store.syncContacts([
          { ...contact, mergedInto: target.kind === "end" ? target.contactId : null },
        ]),
      );
  }
  const changed = lost.length === 0 ? 0 : await store.loseContacts(lost);
  return {
    ...skipped(lost, lostMergeReason),
    synced: joinSyncResults([...synced, { ...nothingSynced, changed }]),
  };
}

/**
 * Reads the contacts that merges lead to, until all of them have been requested. Returns the
 * failure, or null.
 */
async function readMerges(
  ledger: Ledger,
  call: LedgerCall,
  merged: readonly LedgerContact[],
  observed: Map<string, LedgerContact>,
): Promise<LedgerFailure | null> {
  const requested = new Set<string>();
  for (let merge = 0; merge < maxMerges; merge += 1) {
    const targets = merged.map(({ id }) => resolveMerges(id, observed));
    const unseen = targets.flatMap((target) =>
      target.kind === "unseen" && !requested.has(target.contactId) ? [target.contactId] : [],
    );
    if (unseen.length === 0) return null;
    const answer = await ledger.getMany(call, { kind: "contacts", ids: [...new Set(unseen)] });
    if (answer.kind !== "ok") return answer;
    for (const id of unseen) requested.add(id);
    for (const contact of answer.value.found) observed.set(contact.id, contact);
  }
  return null;
}

/**
 * Requests contacts singly that a list did not contain. A list may lag behind, and a lost contact
 * stops the billing of its customer.
 */
async function requestContacts(
  { store, ledger, call }: LedgerReader,
  missing: readonly string[],
  queriedAt: string,
): Promise<PartResult> {
  const requested = missing.slice(0, maxSingleContacts);
  const later = { ...nothingSynced, again: missing.slice(maxSingleContacts) };
  const synced: SyncResult[] = [later];
  const lost: string[] = [];
  for (const [index, id] of requested.entries()) {
    const answer = await ledger.getContact(call, id);
    if (answer.kind === "ok") {
      // A merged contact is read once more together with the others.
      const again = isMerged(answer.value) ? { ...nothingSynced, again: [id] } : null;
      synced.push(again ?? (await syncObserved(store, "contacts", [answer.value], queriedAt)));
    } else if (isMissing(answer)) lost.push(id);
    else
      return {
        ...(await loseContacts(store, synced, lost)),
        unrequested: requested.slice(index),
        failure: answer,
      };
  }
  return loseContacts(store, synced, lost);
}

async function loseContacts(
  store: LedgerSyncTenant,
  synced: readonly SyncResult[],
  lost: readonly string[],
): Promise<PartResult> {
  const changed = lost.length === 0 ? 0 : await store.loseContacts(lost);
  return syncedPart(joinSyncResults([...synced, { ...nothingSynced, changed }]));
}

/**
 * Finds documents by their numbers after their addresses were not found. Only if a number is not
 * found either, the ledger has lost the document. Where numbers are not unique, another document
 * with the number says nothing of it.
 */
async function findDocuments(
  { store, ledger, call }: LedgerReader,
  kind: SyncedDocumentKind,
  missing: readonly string[],
  queriedAt: string,
): Promise<PartResult> {
  if (missing.length === 0) return syncedPart(nothingSynced);
  const numbers = await store.findNumbers(kind, missing);
  const query = { numbers: [...numbers.values()] };
  const answer = await (kind === "invoices"
    ? ledger.findInvoices(call, query)
    : ledger.findCreditNotes(call, query));
  if (answer.kind !== "ok") return unrequested(missing, answer);
  const found = new Set(answer.value.map(({ id }) => id));
  const taken = new Set(answer.value.map(({ number }) => number));
  const gone = missing.filter((id) => !found.has(id));
  const { hasUniqueNumbers } = ledger.traits.documents;
  const others = hasUniqueNumbers ? gone.filter((id) => taken.has(numbers.get(id) ?? "")) : [];
  const lost = gone.filter((id) => !others.includes(id));
  const synced =
    lost.length === 0 ? nothingSynced : await store.loseDocuments(kind, lost, queriedAt);
  const again = { ...nothingSynced, again: missing.filter((id) => found.has(id)) };
  return { ...skipped(others, otherNumberReason), synced: joinSyncResults([synced, again]) };
}

function syncedPart(synced: SyncResult = nothingSynced): PartResult {
  return { synced, skipped: [], unrequested: [], failure: null };
}

function skipped(ids: readonly string[], reason: string): PartResult {
  return { ...syncedPart(), skipped: ids.map((ledgerId) => ({ ledgerId, reason })) };
}

function unrequested(ids: readonly string[], failure: LedgerFailure): PartResult {
  return { ...syncedPart(), unrequested: ids, failure };
}
