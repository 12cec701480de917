/**
 * Changes in Xero: lists by If-Modified-Since, newest first, and lookups by id. One element that
 * cannot be parsed never blocks the others (LEDGER-5).
 */
import { type ExactObject, filledTextOf, objectOf } from "../port/exact-json.ts";
import { isMissing, unreadable } from "../port/failures.ts";
import type {
  LedgerAnswer,
  LedgerChanged,
  LedgerChangeKind,
  LedgerChangePage,
  LedgerChangeQuery,
  LedgerFound,
} from "../port/ledger.ts";
import { unitPlaces } from "./documents/write-document.ts";
import { isTooLarge, refusedId } from "./wire/failure.ts";
import { instantOf, readContact, readCreditNote, readInvoice } from "./wire/read-shapes.ts";
import type { XeroCall, XeroWire } from "./wire/wire.ts";

interface Resource<Changed> {
  readonly member: "Contacts" | "CreditNotes" | "Invoices";
  readonly idMember: "ContactID" | "CreditNoteID" | "InvoiceID";
  /** The largest page that is read. A full page stays far below the size limit of an answer. */
  readonly pageSize: number;
  /** The query of a list of changes. */
  readonly listed: Readonly<Record<string, string>>;
  /**
   * The query of a lookup by a list of ids. Null if Xero takes no list, only one id in the path.
   */
  readonly named: Readonly<Record<string, string>> | null;
  readonly read: (element: ExactObject) => Changed | undefined;
}

// This many ids keep the address below 2,000 characters (XERO-6).
const idsAtOnce = 40;

// The ledger sync needs statuses and amounts, and a summary has both. Without lines and payments it
// is half as large.
const summary = { summaryOnly: "true", ...unitPlaces };

const resources: { readonly [Kind in LedgerChangeKind]: Resource<LedgerChanged[Kind]> } = {
  contacts: {
    member: "Contacts",
    idMember: "ContactID",
    pageSize: 1_000,
    // No summary here: Xero does not document whether a summary reports merges.
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

// If-Modified-Since has whole seconds and lists later changes only (XERO-6). One second less lists
// the whole second.
const overlapMs = 1_000;

/**
 * The position of a listing: the instant after which all its pages begin, the page size, and the
 * page number.
 */
interface Position {
  readonly since: string | null;
  readonly page: number;
  readonly size: number;
}

/**
 * The parsed content of an answer: the objects, the ids of the unreadable ones (null without an
 * id), and the count of both.
 */
interface Listed<Changed> {
  readonly changes: readonly Changed[];
  readonly unread: readonly (string | null)[];
  readonly count: number;
  /** The newest time among the objects that have one. */
  readonly highWater: string | null;
}

/**
 * Returns a page of changes, newest first, by its number. A change in the meantime comes to the
 * front and moves the others to later pages: one may come twice, and none is skipped. In the
 * opposite order the next page would miss one object for each that moved to the end. A page above
 * the size limit is requested in halves, one a call.
 */
export async function listChanges<Kind extends LedgerChangeKind>(
  wire: XeroWire,
  call: XeroCall,
  { kind, since, cursor }: LedgerChangeQuery<Kind>,
): Promise<LedgerAnswer<LedgerChangePage<LedgerChanged[Kind]>>> {
  const resource = resources[kind];
  const { pageSize } = resource;
  const position =
    cursor === undefined ? firstPosition(since, pageSize) : positionOf(cursor, pageSize);
  const paged = {
    order: "UpdatedDateUTC DESC",
    page: String(position.page),
    pageSize: String(position.size),
  };
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

/** Returns the current state of these objects. Ids that Xero does not have are left out. */
export async function getMany<Kind extends LedgerChangeKind>(
  wire: XeroWire,
  call: XeroCall,
  { kind, ids }: { readonly kind: Kind; readonly ids: readonly string[] },
): Promise<LedgerAnswer<LedgerFound<LedgerChanged[Kind]>>> {
  const resource = resources[kind];
  // Text that is not a UUID is the id of no object.
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

/**
 * Looks up the ids of one address. If the answer is too large, each half of the ids is requested
 * alone.
 */
async function askNamed<Changed extends { readonly id: string }>(
  wire: XeroWire,
  call: XeroCall,
  resource: Resource<Changed>,
  ids: readonly string[],
): Promise<LedgerAnswer<LedgerFound<Changed>>> {
  // Only a paged list has lines.
  const paged = { IDs: ids.join(","), page: "1", pageSize: String(resource.pageSize) };
  const request =
    resource.named === null
      ? { path: `/${resource.member}/${ids[0]}`, query: unitPlaces }
      : { path: `/${resource.member}`, query: { ...paged, ...resource.named } };
  const answer = await askList(wire, call, resource, request, null);
  if (isMissing(answer) && resource.named === null) {
    return { kind: "ok", value: { found: [], unread: [] } };
  }
  if (answer.kind !== "ok") {
    if (!isTooLarge(answer) || ids.length === 1) return answer;
    const half = Math.ceil(ids.length / 2);
    const first = await askNamed(wire, call, resource, ids.slice(0, half));
    if (first.kind !== "ok") return first;
    const second = await askNamed(wire, call, resource, ids.slice(half));
    if (second.kind !== "ok") return second;
    const found = [...first.value.found, ...second.value.found];
    return {
      kind: "ok",
      value: { found, unread: [...first.value.unread, ...second.value.unread] },
    };
  }
  const { changes, unread } = answer.value;
  const read = new Set(changes.map(({ id }) => id));
  // An element without an id may be any of the requested ones.
  const unnamed = unread.includes(null) ? ids : ids.filter((id) => unread.includes(id));
  return { kind: "ok", value: { found: changes, unread: unnamed.filter((id) => !read.has(id)) } };
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
  // An answer without its list does not say that there are no objects.
  if (!Array.isArray(list)) return unreadable(`the answer lists no ${member}`, false);
  const elements = list.map(objectOf);
  const parsed = elements.map((element) => (element === undefined ? undefined : read(element)));
  const unread = elements.filter((_, index) => parsed[index] === undefined);
  const instants = elements
    .map((element) => instantOf(element?.UpdatedDateUTC))
    .filter((one) => one !== undefined);
  const value = {
    changes: parsed.filter((one) => one !== undefined),
    unread: unread.map((element) => filledTextOf(element?.[idMember]) ?? null),
    count: elements.length,
    highWater: instants.toSorted().at(-1) ?? null,
  };
  return { kind: "ok", value };
}

function positionAfter(position: Position, pageSize: number): Position {
  const { since, page, size } = position;
  const larger = size * 2;
  // The oversized object was on an earlier page. The page grows again if a page of twice the size
  // begins here.
  if (larger > pageSize || page % 2 === 1) return pageAfter(position);
  return { since, page: page / 2 + 1, size: larger };
}

function pageAfter(position: Position): Position {
  return { ...position, page: position.page + 1 };
}

/** Returns the page of half the size that begins where this one does, or a little before. */
function halfOf({ since, page, size }: Position): Position {
  const half = Math.floor(size / 2);
  return { since, page: Math.floor(((page - 1) * size) / half) + 1, size: half };
}

function firstPosition(since: string | undefined, size: number): Position {
  return { since: since === undefined ? null : headerTimeOf(since), page: 1, size };
}

// Returns `yyyy-mm-ddThh:mm:ss` in UTC, the form that Xero reads.
function headerTimeOf(instant: string): string {
  return new Date(Date.parse(instant) - overlapMs).toISOString().slice(0, 19);
}

// The sort order of a cursor. In another order its page number means nothing.
const newestFirst = "newest";

function cursorOf({ since, page, size }: Position): string {
  return `${newestFirst}|${since ?? ""}|${page}|${size}`;
}

// A cursor of an earlier, oldest-first listing guarantees only that every change before its time
// was read.
function positionOf(cursor: string, pageSize: number): Position {
  const [order = "", since = "", page = "", size = ""] = cursor.split("|");
  if (order !== newestFirst) return { since: order === "" ? null : order, page: 1, size: pageSize };
  return { since: since === "" ? null : since, page: Number(page), size: Number(size) };
}
