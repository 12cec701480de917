/**
 * Looks at what hints say: the things are asked for together, those that are not there are asked for once more in another way before that
 * is believed, and where merges of contacts lead is found out first. What cannot be followed is kept and says why. Issue 8 "Mirror".
 */
import { resolveMerges, isMerged, mostMerges } from "../../../domain/customers/sync-contact.ts";
import type { Ledger, LedgerCall, LedgerChanged, LedgerContact, LedgerFailure } from "../../../ledger/port/ledger.ts";
import {
  type DocumentKind,
  type Followed,
  joinSynced,
  nothingSynced,
} from "../../../store/ledger-jobs/observed-state.ts";
import type { SyncKind, ClaimedNotifications, SkippedNotification } from "../../../store/ledger-jobs/pending-notifications.ts";
import type { LedgerSyncTenant } from "../../../store/ledger-sync/sync-store.ts";

/** What is asked, and how. */
export interface Looking {
  readonly scope: LedgerSyncTenant;
  readonly ledger: Ledger;
  readonly call: LedgerCall;
}

/** What a look came to; `unfollowed` stay as they are, because they cannot be followed. */
export interface Looked {
  readonly looked: number;
  readonly followed: Followed;
  readonly unfollowed: readonly SkippedNotification[];
  /** Why the rest could not be looked at, null where there is none. */
  readonly failure: LedgerFailure | null;
}

/** What became of some of the things that were asked for: those `unasked` could not be, because of `failure`. */
interface Sought {
  readonly followed: Followed;
  readonly unfollowed: readonly SkippedNotification[];
  readonly unasked: readonly string[];
  readonly failure: LedgerFailure | null;
}

/** Why what is in the ledger is not followed. Nothing of it is named. */
const unreadReason = "what the ledger tells of it cannot be read";
const unfitReason = "what the ledger has of it fits no record here";
const otherNumberReason = "the ledger has its number on another document";
const lostMergeReason = "the contact that took its place is not there, or cannot be read";

/** How many contacts that were not among others are asked for alone in one look: each is a call. */
const mostContactsAlone = 2;

/** Whether the ledger said no to all that we ask for now, and not to these things: a limit, or a connection that is let in no more. */
export function isForAll(failure: LedgerFailure): boolean {
  return failure.kind === "rate_limited" || failure.kind === "unauthorised";
}

/** Reasons only: messages may name somebody. */
export function reasonOf(failure: LedgerFailure): string {
  if (failure.kind === "unavailable") return failure.cause;
  if (failure.kind === "high_volume") return "the ledger has too many records to answer";
  return failure.kind === "refused" ? `looking was refused: ${failure.reason}` : failure.kind;
}

/** Writes what things of one kind were seen to be after `askedAt`. */
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

/** Looks at hints that were taken, and ends them. */
export async function readNotifications(looking: Looking, taken: ClaimedNotifications): Promise<Looked> {
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

async function end(scope: LedgerSyncTenant, taken: ClaimedNotifications, parts: readonly Sought[]): Promise<Looked> {
  const followed = joinSynced(parts.map((part) => part.followed));
  const kept = [...parts, unfollowed(followed.unfit, unfitReason)].flatMap((part) => part.unfollowed);
  const unaskedIds = new Set(parts.flatMap((part) => part.unasked));
  const failure = parts.find((part) => part.failure !== null)?.failure ?? null;
  const [rest, asked] = [true, false].map((isRest) => ({
    ...taken,
    hints: taken.hints.filter(({ ledgerId }) => unaskedIds.has(ledgerId) === isRest),
  }));
  if (asked !== undefined) await scope.finishNotifications(asked, followed.again, kept);
  // A limit says nothing of these things: they are asked for again as they were.
  if (rest !== undefined && failure !== null && !isForAll(failure)) await scope.failNotifications(rest, reasonOf(failure));
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
  if (failure !== null) return { ...sought(followed[0]), unasked: merged.map(({ id }) => id), failure };
  const lost: string[] = [];
  for (const contact of merged) {
    const led = resolveMerges(contact.id, seen);
    if (led.kind === "unseen") lost.push(contact.id);
    // Where merges lead round nobody took its place: it is archived, and that is all.
    else
      followed.push(
        await scope.syncContacts([{ ...contact, mergedInto: led.kind === "end" ? led.contactId : null }]),
      );
  }
  const changed = lost.length === 0 ? 0 : await scope.loseContacts(lost);
  return {
    ...unfollowed(lost, lostMergeReason),
    followed: joinSynced([...followed, { ...nothingSynced, changed }]),
  };
}

/** Looks at the contacts that merges lead to, until none is left that was not asked for; why that failed, or null. */
async function seeMerges(
  ledger: Ledger,
  call: LedgerCall,
  merged: readonly LedgerContact[],
  seen: Map<string, LedgerContact>,
): Promise<LedgerFailure | null> {
  const asked = new Set<string>();
  for (let merge = 0; merge < mostMerges; merge += 1) {
    const leads = merged.map(({ id }) => resolveMerges(id, seen));
    const unseen = leads.flatMap((led) => (led.kind === "unseen" && !asked.has(led.contactId) ? [led.contactId] : []));
    if (unseen.length === 0) return null;
    const answer = await ledger.getMany(call, { kind: "contacts", ids: [...new Set(unseen)] });
    if (answer.kind !== "ok") return answer;
    for (const id of unseen) asked.add(id);
    for (const contact of answer.value.found) seen.set(contact.id, contact);
  }
  return null;
}

/**
 * Contacts that were not among those that were asked for together are asked for alone: a list may lag behind, and what follows from it
 * keeps a customer from being billed.
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
      // One that was merged is looked at with the others once more.
      const again = isMerged(answer.value) ? { ...nothingSynced, again: [id] } : null;
      followed.push(again ?? (await syncObserved(scope, "contacts", [answer.value], askedAt)));
    } else if (answer.kind === "refused" && answer.reason === "not_found") lost.push(id);
    else return { ...(await loseContacts(scope, followed, lost)), unasked: alone.slice(index), failure: answer };
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

/** An address that is not there says nothing of the document: only where its number is not found either, the ledger has lost it. */
async function seekDocuments(
  { scope, ledger, call }: Looking,
  kind: DocumentKind,
  missing: readonly string[],
  askedAt: string,
): Promise<Sought> {
  if (missing.length === 0) return sought(nothingSynced);
  const numbers = await scope.findNumbers(kind, missing);
  const query = { numbers: [...numbers.values()] };
  const answer = await (kind === "invoices" ? ledger.findInvoices(call, query) : ledger.findCreditNotes(call, query));
  if (answer.kind !== "ok") return unasked(missing, answer);
  const found = new Set(answer.value.map(({ id }) => id));
  const taken = new Set(answer.value.map(({ number }) => number));
  const gone = missing.filter((id) => !found.has(id));
  const others = gone.filter((id) => taken.has(numbers.get(id) ?? ""));
  const lost = gone.filter((id) => !others.includes(id));
  const followed = lost.length === 0 ? nothingSynced : await scope.loseDocuments(kind, lost, askedAt);
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
