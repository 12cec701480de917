/**
 * The accounting API's operations on documents: list, get, create many in few statements, update.
 * They serve invoices and credit notes; a `DocumentResource` has the differences.
 */
import { randomUUID } from "node:crypto";
import type { ExactObject } from "../../../../src/ledger/port/exact-json.ts";
import {
  badRequestAnswer,
  type DemoAnswer,
  highVolumeAnswer,
  listAnswer,
  notFoundAnswer,
  validationAnswer,
} from "../api/answers.ts";
import {
  type ApiRequest,
  type ElementOutcome,
  finishedAnswer,
  readElements,
  refusedElement,
} from "../api/api-request.ts";
import type { ContactRow } from "../api/contact-rows.ts";
import {
  clausesOf,
  isSummary,
  type ListColumns,
  paginationOf,
  readListQuery,
} from "../api/list-query.ts";
import { inSavepoint, inSnapshot, type Queryable, violatedIndex } from "../database.ts";
import { contactFaults, loadContacts } from "./document-contacts.ts";
import { lockFaults } from "./document-dates.ts";
import type { DocumentRow } from "./document-rows.ts";
import type { DocumentValues, SentDocument, Validated } from "./document-rules.ts";
import {
  changeDocument,
  type DocumentTable,
  insertDocuments,
  loadDocument,
  selectedOf,
} from "./document-store.ts";

/**
 * A kind of document. `member` is its list in Xero's JSON, `listed` says how that is filtered.
 * `heavy` are the members that `summaryOnly` leaves out (null: Xero has no summary). `present`
 * returns the rows in order with their related data, in few statements.
 */
export interface DocumentResource<Row extends DocumentRow, Values extends DocumentValues> {
  readonly member: "Invoices" | "CreditNotes";
  readonly idName: "InvoiceID" | "CreditNoteID";
  readonly numberName: "InvoiceNumber" | "CreditNoteNumber";
  readonly numberTaken: string;
  readonly table: DocumentTable;
  readonly listed: ListColumns;
  readonly heavy: readonly string[] | null;
  readonly validateNew: (document: SentDocument) => Validated<Values>;
  readonly validateChange: (document: SentDocument, current: Row) => Validated<Values>;
  readonly present: (
    client: Queryable,
    rows: readonly Row[],
    contacts: ReadonlyMap<string, ContactRow>,
    withLines: boolean,
  ) => Promise<readonly object[]>;
}

/** Lists documents. Without `page` there are no lines, as in Xero. */
export async function listDocuments<Row extends DocumentRow, Values extends DocumentValues>(
  resource: DocumentResource<Row, Values>,
  request: ApiRequest,
): Promise<DemoAnswer> {
  const { table, listed, member } = resource;
  const { tenant, query, modifiedSince, pool, highVolume } = request;
  const heavy = isSummary(query) ? resource.heavy : null;
  const read = readListQuery(tenant.tenantId, query, modifiedSince, listed);
  if ("kind" in read) return badRequestAnswer(16, "QueryParseException", read.message);
  return inSnapshot(pool, async (client) => {
    if (read.isHeavy && (await countOf(client, table.name, tenant.tenantId)) > highVolume)
      return highVolumeAnswer(member);
    const { rows } = await client.query<Row & { found: string }>(
      `select ${selectedOf(table)}, count(*) over () as found
        from demo_ledger.${table.name} ${clausesOf(read)}`,
      [...read.values],
    );
    const elements = await presentAll(
      resource,
      client,
      tenant.tenantId,
      rows,
      read.page !== null && heavy === null,
    );
    return listAnswer(
      member,
      without(elements, heavy ?? []),
      paginationOf(read, Number(rows[0]?.found ?? 0)),
    );
  });
}

/** Returns how many records of the organisation a table has. */
async function countOf(client: Queryable, table: string, tenantId: string): Promise<number> {
  const text = `select count(*) as count from demo_ledger.${table} where tenant_id = $1`;
  const { rows } = await client.query<{ count: string }>(text, [tenantId]);
  return Number(rows[0]?.count ?? 0);
}

/** Returns the elements without these members. */
function without(elements: readonly object[], members: readonly string[]): readonly object[] {
  if (members.length === 0) return elements;
  return elements.map((element) =>
    Object.fromEntries(Object.entries(element).filter(([name]) => !members.includes(name))),
  );
}

/** Returns one document by its id or number, with its lines. */
export async function getDocument<Row extends DocumentRow, Values extends DocumentValues>(
  resource: DocumentResource<Row, Values>,
  request: ApiRequest,
  id: string,
): Promise<DemoAnswer> {
  const { tenantId } = request.tenant;
  return inSnapshot(request.pool, async (client) => {
    const row = await loadDocument<Row>(client, resource.table, tenantId, id);
    if (!row) return notFoundAnswer();
    return listAnswer(resource.member, await presentAll(resource, client, tenantId, [row], true));
  });
}

interface Draft<Values> extends Validated<Values> {
  readonly id: string;
  readonly sent: ExactObject;
}

/** Creates one or many documents, with one statement for the contacts and one for the documents. */
export async function createDocuments<Row extends DocumentRow, Values extends DocumentValues>(
  resource: DocumentResource<Row, Values>,
  request: ApiRequest,
  client: Queryable,
): Promise<DemoAnswer> {
  const read = readElements(request, resource.member);
  if (!("kind" in read)) return read;
  const { tenantId } = request.tenant;
  const validated = read.elements.map((sent) => ({
    sent,
    ...resource.validateNew(sentDocument(request, sent)),
  }));
  const contactIds = validated.map(({ values }) => values.contact_id);
  const contacts = await loadContacts(client, tenantId, contactIds);
  const drafts = validated.map(({ sent, values, messages }): Draft<Values> => {
    const faults = contactFaults(contacts, values.contact_id);
    return {
      id: randomUUID(),
      sent,
      values,
      messages: [...messages, ...faults, ...request.refusalOf(values.number)],
    };
  });
  const good = drafts.filter(({ messages }) => messages.length === 0);
  const stored = await insertDocuments<Row>(client, resource.table, request.tenant, good);
  const elements = await presentEach(resource, client, [...stored.values()], contacts);
  // As in Xero, valid documents stay created even if the answer is a 400 for the others.
  const outcomes = drafts.map((draft) => outcomeOf(resource, draft, elements.get(draft.id)));
  return finishedAnswer(request, resource.member, outcomes);
}

/** Changes one document: its status, and its content if the status allows it. */
export async function updateDocument<Row extends DocumentRow, Values extends DocumentValues>(
  resource: DocumentResource<Row, Values>,
  request: ApiRequest,
  client: Queryable,
  id: string,
): Promise<DemoAnswer> {
  const read = readElements(request, resource.member);
  if (!("kind" in read)) return read;
  const [sent = {}] = read.elements;
  const { tenantId } = request.tenant;
  const current = await loadDocument<Row>(client, resource.table, tenantId, id, "for update");
  if (!current) return notFoundAnswer();
  const { values, messages } = resource.validateChange(sentDocument(request, sent), current);
  const isMoved = values.contact_id.toLowerCase() !== current.contact_id;
  const contacts = isMoved
    ? await loadContacts(client, tenantId, [values.contact_id])
    : new Map<string, ContactRow>();
  const faults = [
    ...(messages.length > 0 ? messages : lockFaults(request.tenant, current.issue_date)),
    ...(isMoved ? contactFaults(contacts, values.contact_id) : []),
    ...request.refusalOf(current.number, current.id),
  ];
  const refuse = (reasons: readonly string[]) => {
    const echo = refusedElement(resource.idName, "HasErrors", sent, reasons);
    return validationAnswer([
      { ...echo, [resource.idName]: current.id, [resource.numberName]: current.number },
    ]);
  };
  if (faults.length > 0) return refuse(faults);
  try {
    const changed = await inSavepoint(client, async () => ({
      keep: true,
      value: await changeDocument<Row>(client, resource.table, tenantId, current.id, values),
    }));
    return listAnswer(resource.member, await presentAll(resource, client, tenantId, changed, true));
  } catch (error) {
    if (violatedIndex(error) === null) throw error;
    return refuse([resource.numberTaken]);
  }
}

async function presentAll<Row extends DocumentRow, Values extends DocumentValues>(
  resource: DocumentResource<Row, Values>,
  client: Queryable,
  tenantId: string,
  rows: readonly Row[],
  withLines: boolean,
): Promise<readonly object[]> {
  const contactIds = rows.map((row) => row.contact_id);
  const contacts = await loadContacts(client, tenantId, contactIds);
  return resource.present(client, rows, contacts, withLines);
}

async function presentEach<Row extends DocumentRow, Values extends DocumentValues>(
  resource: DocumentResource<Row, Values>,
  client: Queryable,
  rows: readonly Row[],
  contacts: ReadonlyMap<string, ContactRow>,
): Promise<ReadonlyMap<string, object>> {
  const elements = await resource.present(client, rows, contacts, true);
  return new Map(rows.map((row, index) => [row.id, elements[index] ?? {}]));
}

function outcomeOf<Row extends DocumentRow, Values extends DocumentValues>(
  resource: DocumentResource<Row, Values>,
  draft: Draft<Values>,
  element: object | undefined,
): ElementOutcome {
  if (element) return { kind: "created", element };
  const messages = draft.messages.length > 0 ? draft.messages : [resource.numberTaken];
  return {
    kind: "refused",
    element: refusedElement(resource.idName, "HasErrors", draft.sent, messages),
  };
}

function sentDocument(request: ApiRequest, sent: ExactObject): SentDocument {
  // Without unitdp=4 Xero keeps two places of a unit amount (XERO-1).
  return { tenant: request.tenant, sent, unitPlaces: request.query.get("unitdp") === "4" ? 4 : 2 };
}
