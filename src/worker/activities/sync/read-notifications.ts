/**
 * Reads the objects that change notifications name. All are read in one call. A missing object is
 * looked up in a second way before its loss is believed, and the targets of merged contacts are
 * read first. A notification that cannot be synced is kept with its reason (LEDGER-5).
 */
import { isMerged, mostMerges, resolveMerges } from "../../../domain/customers/sync-contact.ts";
import type {
  Ledger,
  LedgerCall,
  LedgerChanged,
  LedgerContact,
  LedgerFailure,
} from "../../../ledger/port/ledger.ts";
import {
  type DocumentKind,
  type Followed,
  joinSynced,
  nothingSynced,
} from "../../../store/ledger-jobs/observed-state.ts";
import type {
  ClaimedNotifications,
  SkippedNotification,
  SyncKind,
} from "../../../store/ledger-sync/pending-notifications.ts";
import type { LedgerSyncTenant } from "../../../store/ledger-sync/sync-store.ts";

/** The access to the ledger and the store for one read. */
export interface Looking {
  readonly scope: LedgerSyncTenant;
  readonly ledger: Ledger;
  readonly call: LedgerCall;
}

/**
 * The result of a read. Notifications in `unfollowed` are kept, because their objects cannot be
 * synced.
 */
export interface Looked {
  readonly looked: number;
  readonly followed: Followed;
  readonly unfollowed: readonly SkippedNotification[];
  /** Why the rest could not be read, or null. */
  readonly failure: LedgerFailure | null;
}

/**
 * The result for some of the requested objects. Those in `unasked` could not be requested, because
 * of `failure`.
 */
interface Sought {
  readonly followed: Followed;
  readonly unfollowed: readonly SkippedNotification[];
  readonly unasked: readonly string[];
  readonly failure: LedgerFailure | null;
}

/** Why an object of the ledger is not synced. A reason names no data of the object. */
const unreadReason = "what the ledger tells of it cannot be read";
const unfitReason = "what the ledger has of it fits no record here";
const otherNumberReason = "the ledger has its number on another document";
const lostMergeReason = "the contact that took its place is not there, or cannot be read";

/** How many missing contacts one read requests singly. Each is a call. */
const mostContactsAlone = 2;

/**
 * Whether the ledger refused every current call and not just these objects: a rate limit, or a
 * connection without authorisation.
 */
export function isForAll(failure: LedgerFailure): boolean {
  return failure.kind === "rate_limited" || failure.kind === "unauthorised";
}

/** Returns the reason only, because messages may hold names. */
export function reasonOf(failure: LedgerFailure): string {
  if (failure.kind === "unavailable") return failure.cause;
  if (failure.kind === "high_volume") return "the ledger has too many records to answer";
  return failure.kind === "refused" ? `looking was refused: ${failure.reason}` : failure.kind;
}

/** Saves the state of objects of one kind, as observed after `askedAt`. */
export function syncObserved<Kind extends SyncKind>(
  scope: LedgerSyncTenant,
  kind: Kind,
  seen: readonly LedgerChanged[Kind][],
  askedAt: string,
): Promise<Followed> {
  switch (kind) {
    case "contacts":
      return scope.syncContacts(seen as readonly LedgerChanged["contacts"][]);
    case "credit_notes":
      return scope.syncCreditNotes(seen as readonly LedgerChanged["credit_notes"][], askedAt);
    default:
      return scope.syncInvoices(seen as readonly LedgerChanged["invoices"][], askedAt);
  }
}

/** Reads the objects of claimed notifications and finishes the notifications. */
export async function readNotifications(
  looking: Looking,
  taken: ClaimedNotifications,
): Promise<Looked> {
  const { scope, ledger, call } = looking;
  const { kind, hints, takenAt } = taken;
  const ids = hints.map(({ ledgerId }) => ledgerId);
  const answer = await ledger.getMany(call, { kind, ids });
  if (answer.kind !== "ok") return end(scope, taken, [unasked(ids, answer)]);
  const { found, unread } = answer.value;
  const missing = ids.filter((id) => !found.some((one) => one.id === id) && !unread.includes(id));
  const parts = [
    await syncFound(looking, kind, found, takenAt),
    unfollowed(unread, unreadReason),
    kind === "contacts"
      ? await seekContacts(looking, missing, takenAt)
      : await seekDocuments(looking, kind, missing, takenAt),
  ];
  return end(scope, taken, parts);
}

async function end(
  scope: LedgerSyncTenant,
  taken: ClaimedNotifications,
  parts: readonly Sought[],
): Promise<Looked> {
  const followed = joinSynced(parts.map((part) => part.followed));
  const kept = [...parts, unfollowed(followed.unfit, unfitReason)].flatMap(
    (part) => part.unfollowed,
  );
  const unaskedIds = new Set(parts.flatMap((part) => part.unasked));
  const failure = parts.find((part) => part.failure !== null)?.failure ?? null;
  const [rest, asked] = [true, false].map((isRest) => ({
    ...taken,
    hints: taken.hints.filter(({ ledgerId }) => unaskedIds.has(ledgerId) === isRest),
  }));
  if (asked !== undefined) await scope.finishNotifications(asked, followed.again, kept);
  // A rate limit says nothing about these objects, so they are read again unchanged.
  if (rest !== undefined && failure !== null && !isForAll(failure))
    await scope.failNotifications(rest, reasonOf(failure));
  return { looked: taken.hints.length - unaskedIds.size, followed, unfollowed: kept, failure };
}

async function syncFound<Kind extends SyncKind>(
  { scope, ledger, call }: Looking,
  kind: Kind,
  found: readonly LedgerChanged[Kind][],
  askedAt: string,
): Promise<Sought> {
  if (kind !== "contacts") return sought(await syncObserved(scope, kind, found, askedAt));
  const contacts = found as readonly LedgerContact[];
  const merged = contacts.filter(isMerged);
  const seen = new Map(contacts.map((contact) => [contact.id, contact]));
  const failure = await seeMerges(ledger, call, merged, seen);
  const followed = [await scope.syncContacts(contacts.filter((contact) => !isMerged(contact)))];
  if (failure !== null)
    return { ...sought(followed[0]), unasked: merged.map(({ id }) => id), failure };
  const lost: string[] = [];
  for (const contact of merged) {
    const led = resolveMerges(contact.id, seen);
    if (led.kind === "unseen") lost.push(contact.id);
    // The merge chain is a cycle, so no contact survives: treat it as archived.
    else
      followed.push(
        await scope.syncContacts([
          { ...contact, mergedInto: led.kind === "end" ? led.contactId : null },
        ]),
      );
  }
  const changed = lost.length === 0 ? 0 : await scope.loseContacts(lost);
  return {
    ...unfollowed(lost, lostMergeReason),
    followed: joinSynced([...followed, { ...nothingSynced, changed }]),
  };
}

/**
 * Reads the contacts that merges lead to, until all of them have been requested. Returns the
 * failure, or null.
 */
async function seeMerges(
  ledger: Ledger,
  call: LedgerCall,
  merged: readonly LedgerContact[],
  seen: Map<string, LedgerContact>,
): Promise<LedgerFailure | null> {
  const asked = new Set<string>();
  for (let merge = 0; merge < mostMerges; merge += 1) {
    const leads = merged.map(({ id }) => resolveMerges(id, seen));
    const unseen = leads.flatMap((led) =>
      led.kind === "unseen" && !asked.has(led.contactId) ? [led.contactId] : [],
    );
    if (unseen.length === 0) return null;
    const answer = await ledger.getMany(call, { kind: "contacts", ids: [...new Set(unseen)] });
    if (answer.kind !== "ok") return answer;
    for (const id of unseen) asked.add(id);
    for (const contact of answer.value.found) seen.set(contact.id, contact);
  }
  return null;
}

/**
 * Requests contacts singly that a list did not contain. A list may lag behind, and a lost contact
 * stops the billing of its customer.
 */
async function seekContacts(
  { scope, ledger, call }: Looking,
  missing: readonly string[],
  askedAt: string,
): Promise<Sought> {
  const alone = missing.slice(0, mostContactsAlone);
  const later = { ...nothingSynced, again: missing.slice(mostContactsAlone) };
  const followed: Followed[] = [later];
  const lost: string[] = [];
  for (const [index, id] of alone.entries()) {
    const answer = await ledger.getContact(call, id);
    if (answer.kind === "ok") {
      // A merged contact is read once more together with the others.
      const again = isMerged(answer.value) ? { ...nothingSynced, again: [id] } : null;
      followed.push(again ?? (await syncObserved(scope, "contacts", [answer.value], askedAt)));
    } else if (answer.kind === "refused" && answer.reason === "not_found") lost.push(id);
    else
      return {
        ...(await loseContacts(scope, followed, lost)),
        unasked: alone.slice(index),
        failure: answer,
      };
  }
  return loseContacts(scope, followed, lost);
}

async function loseContacts(
  scope: LedgerSyncTenant,
  followed: readonly Followed[],
  lost: readonly string[],
): Promise<Sought> {
  const changed = lost.length === 0 ? 0 : await scope.loseContacts(lost);
  return sought(joinSynced([...followed, { ...nothingSynced, changed }]));
}

/**
 * Looks documents up by their numbers after their addresses were not found. Only if a number is not
 * found either, the ledger has lost the document.
 */
async function seekDocuments(
  { scope, ledger, call }: Looking,
  kind: DocumentKind,
  missing: readonly string[],
  askedAt: string,
): Promise<Sought> {
  if (missing.length === 0) return sought(nothingSynced);
  const numbers = await scope.findNumbers(kind, missing);
  const query = { numbers: [...numbers.values()] };
  const answer = await (kind === "invoices"
    ? ledger.findInvoices(call, query)
    : ledger.findCreditNotes(call, query));
  if (answer.kind !== "ok") return unasked(missing, answer);
  const found = new Set(answer.value.map(({ id }) => id));
  const taken = new Set(answer.value.map(({ number }) => number));
  const gone = missing.filter((id) => !found.has(id));
  const others = gone.filter((id) => taken.has(numbers.get(id) ?? ""));
  const lost = gone.filter((id) => !others.includes(id));
  const followed =
    lost.length === 0 ? nothingSynced : await scope.loseDocuments(kind, lost, askedAt);
  const again = { ...nothingSynced, again: missing.filter((id) => found.has(id)) };
  return { ...unfollowed(others, otherNumberReason), followed: joinSynced([followed, again]) };
}

function sought(followed: Followed = nothingSynced): Sought {
  return { followed, unfollowed: [], unasked: [], failure: null };
}

function unfollowed(ids: readonly string[], reason: string): Sought {
  return { ...sought(), unfollowed: ids.map((ledgerId) => ({ ledgerId, reason })) };
}

function unasked(ids: readonly string[], failure: LedgerFailure): Sought {
  return { ...sought(), unasked: ids, failure };
}
