/**
 * What was changed in Xero: lists by If-Modified-Since, read by moving the time on, and things looked up by their ids.
 * Facts: facts-ledger section 1.9.
 */
import { type ExactObject, objectsOf } from "../exact-json.ts";
import type { LedgerAnswer, LedgerChanged, LedgerChangeKind, LedgerChangePage, LedgerChangeQuery } from "../port.ts";
import { refusedId, unreadable } from "./failure.ts";
import { readContact, readCreditNote, readInvoice } from "./read-shapes.ts";
import type { XeroCall, XeroWire } from "./wire.ts";
import { unitPlaces } from "./write-document.ts";

interface Resource<Changed> {
  readonly member: "Contacts" | "CreditNotes" | "Invoices";
  /** The largest page that is read: a whole one stays far below what an answer may have, also with its lines. */
  readonly pageSize: number;
  /** The query of a list of changes. */
  readonly listed: Readonly<Record<string, string>>;
  /** The query that names ids; `atOnce` of them leave the address below 2,000 characters. */
  readonly named: (ids: readonly string[]) => Readonly<Record<string, string>>;
  readonly atOnce: number;
  readonly read: (element: ExactObject) => Changed | undefined;
}

const resources: { readonly [Kind in LedgerChangeKind]: Resource<LedgerChanged[Kind]> } = {
  contacts: {
    member: "Contacts",
    pageSize: 1_000,
    listed: { includeArchived: "true" },
    named: (ids) => ({ IDs: ids.join(","), includeArchived: "true" }),
    atOnce: 40,
    read: readContact,
  },
  credit_notes: {
    member: "CreditNotes",
    pageSize: 200,
    listed: { where: 'Type=="ACCRECCREDIT"', ...unitPlaces },
    // Xero takes no list of ids here.
    named: (ids) => ({ where: ids.map((id) => `CreditNoteID==Guid("${id}")`).join(" OR "), ...unitPlaces }),
    atOnce: 20,
    read: readCreditNote,
  },
  invoices: {
    member: "Invoices",
    pageSize: 200,
    listed: { where: 'Type=="ACCREC"', ...unitPlaces },
    named: (ids) => ({ IDs: ids.join(","), ...unitPlaces }),
    atOnce: 40,
    read: readInvoice,
  },
};

// If-Modified-Since counts in seconds: going back one makes sure that no change within the same second is passed over.
const overlapMs = 1_000;

/** Where a listing stands: the instant that pages start from, and the page within it. */
interface Position {
  readonly since: string | null;
  readonly page: number;
}

/**
 * A page of changes, oldest first. The next page starts from the newest change seen, not from a page number, because
 * what is changed while we read moves to the end.
 */
export async function listChanges<Kind extends LedgerChangeKind>(
  wire: XeroWire,
  call: XeroCall,
  { kind, since, cursor }: LedgerChangeQuery<Kind>,
): Promise<LedgerAnswer<LedgerChangePage<LedgerChanged[Kind]>>> {
  const resource = resources[kind];
  const { pageSize } = resource;
  const position = cursor === undefined ? firstPosition(since) : positionOf(cursor);
  const paged = { order: "UpdatedDateUTC ASC", page: String(position.page), pageSize: String(pageSize) };
  const answer = await askList(wire, call, resource, { ...resource.listed, ...paged }, position.since);
  if (answer.kind !== "ok") return answer;
  const changes = answer.value;
  const highWater = changes.at(-1)?.updatedAt ?? null;
  const isLast = highWater === null || changes.length < pageSize;
  return { kind: "ok", value: { changes, highWater, cursor: isLast ? null : cursorAfter(position, highWater) } };
}

/** These, as they are now; those that Xero does not have are left out. */
export async function getMany<Kind extends LedgerChangeKind>(
  wire: XeroWire,
  call: XeroCall,
  { kind, ids }: { readonly kind: Kind; readonly ids: readonly string[] },
): Promise<LedgerAnswer<readonly LedgerChanged[Kind][]>> {
  const resource = resources[kind];
  // Anything that is no id is the id of nothing.
  const wanted = [...new Set(ids.filter((id) => refusedId(id) === null))];
  const found: LedgerChanged[Kind][] = [];
  for (let first = 0; first < wanted.length; first += resource.atOnce) {
    const named = resource.named(wanted.slice(first, first + resource.atOnce));
    // Only a paged list has lines.
    const query = { ...named, page: "1", pageSize: String(resource.pageSize) };
    const answer = await askList(wire, call, resource, query, null);
    if (answer.kind !== "ok") return answer;
    found.push(...answer.value);
  }
  return { kind: "ok", value: found };
}

async function askList<Changed>(
  wire: XeroWire,
  call: XeroCall,
  { member, read }: Resource<Changed>,
  query: Readonly<Record<string, string>>,
  since: string | null,
): Promise<LedgerAnswer<readonly Changed[]>> {
  const headers = since === null ? {} : { "if-modified-since": since };
  const answer = await wire.ask(call, { method: "GET", path: `/${member}`, query, headers });
  if (answer.kind !== "ok") return answer;
  const elements = objectsOf(answer.value[member]);
  const changes = elements.map(read).filter((one) => one !== undefined);
  if (changes.length < elements.length) return unreadable(`an element of ${member} cannot be read`, false);
  return { kind: "ok", value: changes };
}

function cursorAfter(position: Position, highWater: string): string {
  const since = headerTimeOf(highWater);
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
