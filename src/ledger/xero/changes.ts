/**
 * What was changed in Xero: lists by If-Modified-Since, newest first, and things looked up by their ids. One element that
 * cannot be read keeps none of the others back. Facts: facts-ledger section 1.9.
 */
import { type ExactObject, filledTextOf, objectOf } from "../port/exact-json.ts";
import type {
  LedgerAnswer,
  LedgerChanged,
  LedgerChangeKind,
  LedgerChangePage,
  LedgerChangeQuery,
  LedgerFound,
} from "../port/ledger.ts";
import { unitPlaces } from "./documents/write-document.ts";
import { isTooLarge, refusedId, unreadable } from "./wire/failure.ts";
import { instantOf, readContact, readCreditNote, readInvoice } from "./wire/read-shapes.ts";
import type { XeroCall, XeroWire } from "./wire/wire.ts";

interface Resource<Changed> {
  readonly member: "Contacts" | "CreditNotes" | "Invoices";
  readonly idMember: "ContactID" | "CreditNoteID" | "InvoiceID";
  /** The largest page that is read: a whole one stays far below what an answer may have. */
  readonly pageSize: number;
  /** The query of a list of changes. */
  readonly listed: Readonly<Record<string, string>>;
  /** The query that goes with a list of ids; null where Xero takes no list of ids, only one in the path. */
  readonly named: Readonly<Record<string, string>> | null;
  readonly read: (element: ExactObject) => Changed | undefined;
}

// As many ids leave the address below 2,000 characters.
const idsAtOnce = 40;

// Following needs statuses and amounts, which a summary has: without lines and payments it is half as large.
const summary = { summaryOnly: "true", ...unitPlaces };

const resources: { readonly [Kind in LedgerChangeKind]: Resource<LedgerChanged[Kind]> } = {
  contacts: {
    member: "Contacts",
    idMember: "ContactID",
    pageSize: 1_000,
    // No summary: whether it tells of merges is not documented.
    listed: { includeArchived: "true" },
    named: { includeArchived: "true" },
    read: readContact,
  },
  credit_notes: {
    member: "CreditNotes",
    idMember: "CreditNoteID",
    pageSize: 200,
    listed: { where: 'Type=="ACCRECCREDIT"', ...unitPlaces },
    named: null,
    read: readCreditNote,
  },
  invoices: {
    member: "Invoices",
    idMember: "InvoiceID",
    pageSize: 1_000,
    listed: { where: 'Type=="ACCREC"', ...summary },
    named: summary,
    read: readInvoice,
  },
};

// If-Modified-Since counts in seconds, and lists what is later: going back one lists all of the second itself.
const overlapMs = 1_000;

/** Where a listing stands: the instant that all its pages begin after, how large they are, and the page within that. */
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
  /** The newest time of those that tell it. */
  readonly highWater: string | null;
}

/**
 * A page of changes, newest first, by its number. What is changed while we read comes to the front and moves the others on
 * to later pages: one may come twice, and none is passed over. In the other order the next page would miss one for each
 * that was moved to the end. A page that is more than we read is asked for in halves, one a call.
 */
export async function listChanges<Kind extends LedgerChangeKind>(
  wire: XeroWire,
  call: XeroCall,
  { kind, since, cursor }: LedgerChangeQuery<Kind>,
): Promise<LedgerAnswer<LedgerChangePage<LedgerChanged[Kind]>>> {
  const resource = resources[kind];
  const { pageSize } = resource;
  const position = cursor === undefined ? firstPosition(since, pageSize) : positionOf(cursor, pageSize);
  const paged = { order: "UpdatedDateUTC DESC", page: String(position.page), pageSize: String(position.size) };
  const request = { path: `/${resource.member}`, query: { ...resource.listed, ...paged } };
  const answer = await askList(wire, call, resource, request, position.since);
  if (answer.kind !== "ok") {
    if (!isTooLarge(answer)) return answer;
    const unread = position.size === 1 ? [null] : [];
    const smaller = cursorOf(position.size === 1 ? pageAfter(position) : halfOf(position));
    return { kind: "ok", value: { changes: [], unread, highWater: null, cursor: smaller } };
  }
  const { changes, unread, count, highWater } = answer.value;
  const next = count < position.size ? null : cursorOf(positionAfter(position, pageSize));
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
  const atOnce = resource.named === null ? 1 : idsAtOnce;
  for (let first = 0; first < wanted.length; first += atOnce) {
    const answer = await askNamed(wire, call, resource, wanted.slice(first, first + atOnce));
    if (answer.kind !== "ok") return answer;
    found.push(...answer.value.found);
    unread.push(...answer.value.unread);
  }
  return { kind: "ok", value: { found, unread } };
}

/** Those of one address; where their answer is more than we read, each half of them has an address of its own. */
async function askNamed<Changed extends { readonly id: string }>(
  wire: XeroWire,
  call: XeroCall,
  resource: Resource<Changed>,
  asked: readonly string[],
): Promise<LedgerAnswer<LedgerFound<Changed>>> {
  // Only a paged list has lines.
  const paged = { IDs: asked.join(","), page: "1", pageSize: String(resource.pageSize) };
  const request =
    resource.named === null
      ? { path: `/${resource.member}/${asked[0]}`, query: unitPlaces }
      : { path: `/${resource.member}`, query: { ...paged, ...resource.named } };
  const answer = await askList(wire, call, resource, request, null);
  if (answer.kind === "refused" && answer.reason === "not_found" && resource.named === null) {
    return { kind: "ok", value: { found: [], unread: [] } };
  }
  if (answer.kind !== "ok") {
    if (!isTooLarge(answer) || asked.length === 1) return answer;
    const half = Math.ceil(asked.length / 2);
    const first = await askNamed(wire, call, resource, asked.slice(0, half));
    if (first.kind !== "ok") return first;
    const second = await askNamed(wire, call, resource, asked.slice(half));
    if (second.kind !== "ok") return second;
    const found = [...first.value.found, ...second.value.found];
    return { kind: "ok", value: { found, unread: [...first.value.unread, ...second.value.unread] } };
  }
  const { changes, unread } = answer.value;
  const read = new Set(changes.map(({ id }) => id));
  // One without an id may be any of those that were asked for.
  const untold = unread.includes(null) ? asked : asked.filter((id) => unread.includes(id));
  return { kind: "ok", value: { found: changes, unread: untold.filter((id) => !read.has(id)) } };
}

async function askList<Changed>(
  wire: XeroWire,
  call: XeroCall,
  { member, idMember, read }: Resource<Changed>,
  request: { readonly path: string; readonly query: Readonly<Record<string, string>> },
  since: string | null,
): Promise<LedgerAnswer<Listed<Changed>>> {
  const headers = since === null ? {} : { "if-modified-since": since };
  const answer = await wire.ask(call, { method: "GET", ...request, headers });
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
    highWater: instants.toSorted().at(-1) ?? null,
  };
  return { kind: "ok", value };
}

function positionAfter(position: Position, pageSize: number): Position {
  const { since, page, size } = position;
  const larger = size * 2;
  // What was too large is behind us: larger again where a page of twice the size begins right here.
  if (larger > pageSize || page % 2 === 1) return pageAfter(position);
  return { since, page: page / 2 + 1, size: larger };
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

// Which order a cursor was made for: in another one its page number means nothing.
const newestFirst = "newest";

function cursorOf({ since, page, size }: Position): string {
  return `${newestFirst}|${since ?? ""}|${page}|${size}`;
}

// One of a sweep that began with the oldest first has read what was changed before its time, and nothing else is known of it.
function positionOf(cursor: string, pageSize: number): Position {
  const [order = "", since = "", page = "", size = ""] = cursor.split("|");
  if (order !== newestFirst) return { since: order === "" ? null : order, page: 1, size: pageSize };
  return { since: since === "" ? null : since, page: Number(page), size: Number(size) };
}
