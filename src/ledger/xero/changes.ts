/**
 * What was changed in Xero: lists by If-Modified-Since, read by moving the time on, and things looked up by their ids. One element that
 * cannot be read keeps none of the others back. Facts: facts-ledger section 1.9.
 */
import { type ExactObject, filledTextOf, objectOf } from "../exact-json.ts";
import type {
  LedgerAnswer,
  LedgerChanged,
  LedgerChangeKind,
  LedgerChangePage,
  LedgerChangeQuery,
  LedgerFailure,
  LedgerFound,
} from "../port.ts";
import { tooLargeCause } from "./exchange.ts";
import { refusedId, unreadable } from "./failure.ts";
import { instantOf, readContact, readCreditNote, readInvoice } from "./read-shapes.ts";
import type { XeroCall, XeroWire } from "./wire.ts";
import { unitPlaces } from "./write-document.ts";

interface Resource<Changed> {
  readonly member: "Contacts" | "CreditNotes" | "Invoices";
  readonly idMember: "ContactID" | "CreditNoteID" | "InvoiceID";
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
    idMember: "ContactID",
    pageSize: 1_000,
    listed: { includeArchived: "true" },
    named: (ids) => ({ IDs: ids.join(","), includeArchived: "true" }),
    atOnce: 40,
    read: readContact,
  },
  credit_notes: {
    member: "CreditNotes",
    idMember: "CreditNoteID",
    pageSize: 200,
    listed: { where: 'Type=="ACCRECCREDIT"', ...unitPlaces },
    // Xero takes no list of ids here.
    named: (ids) => ({ where: ids.map((id) => `CreditNoteID==Guid("${id}")`).join(" OR "), ...unitPlaces }),
    atOnce: 20,
    read: readCreditNote,
  },
  invoices: {
    member: "Invoices",
    idMember: "InvoiceID",
    pageSize: 200,
    listed: { where: 'Type=="ACCREC"', ...unitPlaces },
    named: (ids) => ({ IDs: ids.join(","), ...unitPlaces }),
    atOnce: 40,
    read: readInvoice,
  },
};

// If-Modified-Since counts in seconds: going back one makes sure that no change within the same second is passed over.
const overlapMs = 1_000;

/** Where a listing stands: the instant that pages start from, how large they are, and the page within that. */
interface Position {
  readonly since: string | null;
  readonly page: number;
  readonly size: number;
}

/** What an answer lists: what of it can be read, the ids of the rest (null where one has none), how many those are together. */
interface Listed<Changed> {
  readonly changes: readonly Changed[];
  readonly unread: readonly (string | null)[];
  readonly count: number;
  /** The time of the last one that tells it. */
  readonly highWater: string | null;
}

/**
 * A page of changes, oldest first. The next page starts from the newest change seen, not from a page number, because
 * what is changed while we read moves to the end. A page that is more than we read is asked for in halves, one a call.
 */
export async function listChanges<Kind extends LedgerChangeKind>(
  wire: XeroWire,
  call: XeroCall,
  { kind, since, cursor }: LedgerChangeQuery<Kind>,
): Promise<LedgerAnswer<LedgerChangePage<LedgerChanged[Kind]>>> {
  const resource = resources[kind];
  const { pageSize } = resource;
  const position = cursor === undefined ? firstPosition(since, pageSize) : positionOf(cursor, pageSize);
  const paged = { order: "UpdatedDateUTC ASC", page: String(position.page), pageSize: String(position.size) };
  const answer = await askList(wire, call, resource, { ...resource.listed, ...paged }, position.since);
  if (answer.kind !== "ok") {
    if (!isTooLarge(answer)) return answer;
    const unread = position.size === 1 ? [null] : [];
    const smaller = cursorOf(position.size === 1 ? pageAfter(position) : halfOf(position));
    return { kind: "ok", value: { changes: [], unread, highWater: null, cursor: smaller } };
  }
  const { changes, unread, count, highWater } = answer.value;
  const next = count < position.size ? null : cursorOf(positionAfter(position, highWater, pageSize));
  return { kind: "ok", value: { changes, unread, highWater, cursor: next } };
}

/** These, as they are now; of those that Xero does not have nothing is said. */
export async function getMany<Kind extends LedgerChangeKind>(
  wire: XeroWire,
  call: XeroCall,
  { kind, ids }: { readonly kind: Kind; readonly ids: readonly string[] },
): Promise<LedgerAnswer<LedgerFound<LedgerChanged[Kind]>>> {
  const resource = resources[kind];
  // Anything that is no id is the id of nothing.
  const wanted = [...new Set(ids.filter((id) => refusedId(id) === null))];
  const found: LedgerChanged[Kind][] = [];
  const unread: string[] = [];
  for (let first = 0; first < wanted.length; first += resource.atOnce) {
    const asked = wanted.slice(first, first + resource.atOnce);
    // Only a paged list has lines.
    const query = { ...resource.named(asked), page: "1", pageSize: String(resource.pageSize) };
    const answer = await askList(wire, call, resource, query, null);
    if (answer.kind !== "ok") return answer;
    const { changes } = answer.value;
    found.push(...changes);
    const read = new Set(changes.map(({ id }) => id));
    // One without an id may be any of those that were asked for.
    const untold = answer.value.unread.includes(null) ? asked : asked.filter((id) => answer.value.unread.includes(id));
    unread.push(...untold.filter((id) => !read.has(id)));
  }
  return { kind: "ok", value: { found, unread } };
}

async function askList<Changed>(
  wire: XeroWire,
  call: XeroCall,
  { member, idMember, read }: Resource<Changed>,
  query: Readonly<Record<string, string>>,
  since: string | null,
): Promise<LedgerAnswer<Listed<Changed>>> {
  const headers = since === null ? {} : { "if-modified-since": since };
  const answer = await wire.ask(call, { method: "GET", path: `/${member}`, query, headers });
  if (answer.kind !== "ok") return answer;
  const list = answer.value[member];
  // Without its list an answer does not say that there is nothing.
  if (!Array.isArray(list)) return unreadable(`the answer lists no ${member}`, false);
  const elements = list.map(objectOf);
  const seen = elements.map((element) => (element === undefined ? undefined : read(element)));
  const unread = elements.filter((_, index) => seen[index] === undefined);
  const instants = elements.map((element) => instantOf(element?.UpdatedDateUTC)).filter((one) => one !== undefined);
  const value = {
    changes: seen.filter((one) => one !== undefined),
    unread: unread.map((element) => filledTextOf(element?.[idMember]) ?? null),
    count: elements.length,
    highWater: instants.at(-1) ?? null,
  };
  return { kind: "ok", value };
}

function isTooLarge(failure: LedgerFailure): boolean {
  return failure.kind === "unavailable" && failure.cause === tooLargeCause;
}

function positionAfter(position: Position, highWater: string | null, pageSize: number): Position {
  // A whole page within one second: only then is the page number what leads on.
  const since = highWater === null ? null : headerTimeOf(highWater);
  if (since === null || (position.since !== null && since <= position.since)) return pageAfter(position);
  // What was too large is behind us; while pages are counted they stay as they are, or one would be counted twice.
  return { since, page: 1, size: Math.min(pageSize, position.size * 2) };
}

function pageAfter(position: Position): Position {
  return { ...position, page: position.page + 1 };
}

/** The page of half the size that begins where this one does, or a little before. */
function halfOf({ since, page, size }: Position): Position {
  const half = Math.floor(size / 2);
  return { since, page: Math.floor(((page - 1) * size) / half) + 1, size: half };
}

function firstPosition(since: string | undefined, size: number): Position {
  return { since: since === undefined ? null : headerTimeOf(since), page: 1, size };
}

// `yyyy-mm-ddThh:mm:ss` in UTC, the form that Xero reads.
function headerTimeOf(instant: string): string {
  return new Date(Date.parse(instant) - overlapMs).toISOString().slice(0, 19);
}

function cursorOf({ since, page, size }: Position): string {
  return `${since ?? ""}|${page}|${size}`;
}

// One of a sweep that began before pages could be smaller has no size.
function positionOf(cursor: string, pageSize: number): Position {
  const [since = "", page = "1", size = ""] = cursor.split("|");
  return { since: since === "" ? null : since, page: Number(page), size: size === "" ? pageSize : Number(size) };
}
