/**
 * Changes in Tryton: lists by the time of the last change, and look-ups by id. Pages follow the
 * ids, so that a change or a deletion between two pages skips nothing (LEDGER-5).
 */

import type { BegunCall } from "../port/call.ts";
import { type ExactObject, objectOf } from "../port/exact-json.ts";
import type {
  LedgerAnswer,
  LedgerChanged,
  LedgerChangeKind,
  LedgerChangePage,
  LedgerChangeQuery,
  LedgerFound,
} from "../port/ledger.ts";
import { everyParty, noParty, partyFields, partyModel, readContact } from "./contacts.ts";
import { documentModel, ofCompany } from "./documents/find-documents.ts";
import {
  creditNoteOf,
  documentFields,
  invoiceOf,
  readDocument,
} from "./documents/read-document.ts";
import { refusedId } from "./wire/failure.ts";
import { idOf, instantValue } from "./wire/values.ts";
import { idValue, type TrytonWire } from "./wire/wire.ts";

/** A full page of documents with their lines stays far below the size limit of an answer. */
const pageSize = 200;

/** An object that was read. Null: it is of another kind, or unfinished. Undefined: unreadable. */
type Read<Changed> = (element: ExactObject) => Changed | null | undefined;

interface Resource<Changed> {
  readonly model: string;
  readonly fields: readonly string[];
  readonly domain: (wire: TrytonWire) => readonly unknown[];
  /** The times whose change is one of the object. */
  readonly times: readonly string[];
  /** Conditions beside those of the times, any of which must hold. */
  readonly besides: readonly (readonly unknown[])[];
  readonly read: Read<Changed>;
}

// What was never changed has no time of a change.
const ownTimes = ["write_date", "create_date"];

/**
 * A payment that is posted or taken back later is no change of the document that it pays, so that
 * the times of its entry count too (LEDGER-26).
 */
const documents = {
  model: documentModel,
  fields: documentFields,
  domain: ofCompany,
  times: [...ownTimes, "payment_lines.write_date", "payment_lines.move.write_date"],
  besides: [],
};

const resources: { readonly [Kind in LedgerChangeKind]: Resource<LedgerChanged[Kind]> } = {
  contacts: {
    model: partyModel,
    fields: partyFields,
    domain: () => [everyParty],
    times: ownTimes,
    besides: [noParty],
    read: readContact,
  },
  credit_notes: {
    ...documents,
    read: (element) => {
      const document = readDocument(element);
      return document && (creditNoteOf(document) ?? null);
    },
  },
  invoices: {
    ...documents,
    // The ledger sync needs statuses and amounts.
    read: (element) => {
      const document = readDocument(element);
      const invoice = document && invoiceOf(document);
      return invoice === undefined ? document && null : { ...invoice, lines: [] };
    },
  },
};

/**
 * Returns a page of changes, the newest first within the page. A change that commits late is in the
 * next list: the time in Tryton is no order of commits, and each list begins before the last one
 * did. Only the only page has a newest change, because an object may change while others are read.
 */
export async function listChanges<Kind extends LedgerChangeKind>(
  wire: TrytonWire,
  call: BegunCall,
  { kind, since, cursor }: LedgerChangeQuery<Kind>,
): Promise<LedgerAnswer<LedgerChangePage<LedgerChanged[Kind]>>> {
  const { model, fields, domain, times, besides, read } = resources[kind];
  const [from, afterId] = cursor === undefined ? [since ?? "", "0"] : cursor.split(" ");
  const answer = await wire.search(call, model, {
    domain: [
      ...domain(wire),
      ["id", ">", idValue(afterId ?? "0")],
      ...(from === "" || from === undefined
        ? []
        : [["OR", ...besides, ...times.map((time) => [time, ">=", instantValue(from)])]]),
    ],
    fields,
    order: [["id", "ASC"]],
    limit: pageSize,
  });
  if (answer.kind !== "ok") return answer;
  const elements = answer.value;
  const { changes, unread } = readAll<LedgerChanged[Kind]>(elements, read);
  const newestFirst = changes.toSorted((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1));
  const isLast = elements.length < pageSize;
  const isOnly = isLast && cursor === undefined;
  return {
    kind: "ok",
    value: {
      changes: newestFirst,
      unread,
      cursor: isLast ? null : `${from} ${idOf(elements.at(-1))}`,
      highWater: isOnly ? (newestFirst[0]?.updatedAt ?? null) : null,
    },
  };
}

/** Returns the current state of these objects. Ids that Tryton does not have are left out. */
export async function getMany<Kind extends LedgerChangeKind>(
  wire: TrytonWire,
  call: BegunCall,
  { kind, ids }: { readonly kind: Kind; readonly ids: readonly string[] },
): Promise<LedgerAnswer<LedgerFound<LedgerChanged[Kind]>>> {
  const { model, fields, domain, read } = resources[kind];
  const wanted = [...new Set(ids.filter((id) => refusedId(id) === null))];
  if (wanted.length === 0) return { kind: "ok", value: { found: [], unread: [] } };
  const answer = await wire.search(call, model, {
    domain: [...domain(wire), ["id", "in", wanted.map(idValue)]],
    fields,
  });
  if (answer.kind !== "ok") return answer;
  const { changes, unread } = readAll<LedgerChanged[Kind]>(answer.value, read);
  return { kind: "ok", value: { found: changes, unread: unread.filter((id) => id !== null) } };
}

function readAll<Changed>(elements: readonly ExactObject[], read: Read<Changed>) {
  const all = elements.map((element) => ({ id: idOf(objectOf(element)), value: read(element) }));
  return {
    changes: all.map(({ value }) => value).filter((value) => value != null),
    unread: all.flatMap(({ id, value }) => (value === undefined ? [id ?? null] : [])),
  };
}
