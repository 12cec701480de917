/**
 * Contacts of the demo ledger: list, get, create and update, with Xero's uniqueness rules
 * (XERO-10).
 */
import { randomUUID } from "node:crypto";
import { type ExactObject, filledTextOf, textOf } from "../../../../src/ledger/port/exact-json.ts";
import { lengthOf } from "../../../../src/ledger/port/texts.ts";
import { inSavepoint, type Queryable, violatedIndex } from "../database.ts";
import {
  badRequestAnswer,
  type DemoAnswer,
  listAnswer,
  notFoundAnswer,
  validationAnswer,
} from "./answers.ts";
import {
  type ApiRequest,
  type ElementOutcome,
  finishedAnswer,
  readElements,
  refusedElement,
} from "./api-request.ts";
import { type ContactRow, isUuid, presentContact } from "./contact-rows.ts";
import { clausesOf, paginationOf, readListQuery } from "./list-query.ts";

const rowColumns = `*, exists (select 1 from demo_ledger.invoices i
  where i.tenant_id = contacts.tenant_id and i.contact_id = contacts.contact_id) as is_customer`;

const columns = {
  id: "contact_id",
  filters: {},
  unindexed: [],
  lists: { IDs: "contact_id" },
  searched: ["name", "first_name", "last_name", "contact_number", "email"],
} as const;

/** `GET /Contacts`. Archived contacts are listed only with `includeArchived` or by id. */
export async function listContacts(request: ApiRequest): Promise<DemoAnswer> {
  const { tenant, query, modifiedSince, pool } = request;
  const read = readListQuery(tenant.tenantId, query, modifiedSince, columns);
  if ("kind" in read) return badRequestAnswer(16, "QueryParseException", read.message);
  const conditions = [...read.conditions];
  const values = [...read.values];
  if (query.get("includeArchived") !== "true" && !query.has("IDs"))
    conditions.push("status = 'ACTIVE'");
  const full = { ...read, conditions };
  const { rows } = await pool.query<ContactRow & { found: string }>(
    `select ${rowColumns}, count(*) over () as found from demo_ledger.contacts ${clausesOf(full)}`,
    values,
  );
  return listAnswer(
    "Contacts",
    rows.map(presentContact),
    paginationOf(full, Number(rows[0]?.found ?? 0)),
  );
}

/** `GET /Contacts/{id or number}`. */
export async function getContact(request: ApiRequest, id: string): Promise<DemoAnswer> {
  const { rows } = await request.pool.query<ContactRow>(
    `select ${rowColumns} from demo_ledger.contacts where tenant_id = $1
      and ${isUuid(id) ? "contact_id" : "contact_number"} = $2`,
    [request.tenant.tenantId, id],
  );
  const [row] = rows;
  return row ? listAnswer("Contacts", [presentContact(row)]) : notFoundAnswer();
}

/** `PUT /Contacts`: creates one or many contacts. */
export async function createContacts(request: ApiRequest, client: Queryable): Promise<DemoAnswer> {
  const read = readElements(request, "Contacts");
  if (!("kind" in read)) return read;
  const drafts = read.elements.map((sent) => ({
    sent,
    id: randomUUID(),
    messages: faultsOf(request, sent),
  }));
  const created = await insertContacts(
    client,
    request.tenant.tenantId,
    drafts.filter(({ messages }) => messages.length === 0),
  );
  const taken = drafts.filter(({ id, messages }) => messages.length === 0 && !created.has(id));
  const numbers = await takenNumbers(client, request.tenant.tenantId, taken);
  // As in Xero, valid contacts stay created even if the answer is a 400 for the others.
  const outcomes = drafts.map(({ sent, id, messages }): ElementOutcome => {
    const row = created.get(id);
    if (row) return { kind: "created", element: presentContact(row) };
    const reasons = messages.length > 0 ? messages : [conflictOf(sent, numbers)];
    return {
      kind: "refused",
      element: refusedElement("ContactID", "HasValidationErrors", sent, reasons),
    };
  });
  return finishedAnswer(request, "Contacts", outcomes);
}

/** `POST /Contacts/{id}`: changes the sent members. `ContactStatus` archives and restores. */
export async function updateContact(
  request: ApiRequest,
  client: Queryable,
  id: string,
): Promise<DemoAnswer> {
  const read = readElements(request, "Contacts");
  if (!("kind" in read)) return read;
  const [sent = {}] = read.elements;
  if (!isUuid(id)) return notFoundAnswer();
  const found = await client.query<ContactRow>(
    "select * from demo_ledger.contacts where tenant_id = $1 and contact_id = $2 for update",
    [request.tenant.tenantId, id],
  );
  const [current] = found.rows;
  if (!current) return notFoundAnswer();
  const refuse = (messages: readonly string[]) =>
    validationAnswer([
      { ...refusedElement("ContactID", "HasValidationErrors", sent, messages), ContactID: id },
    ]);
  const messages = faultsOf(request, { ...sent, Name: sent.Name ?? current.name });
  if (messages.length > 0) return refuse(messages);
  try {
    return await inSavepoint(client, async () => {
      const { rows } = await client.query<ContactRow>(
        `update demo_ledger.contacts set name = $3, contact_number = $4, first_name = $5,
           last_name = $6, email = $7, status = $8, updated_at = date_trunc('milliseconds',
             clock_timestamp())
         where tenant_id = $1 and contact_id = $2 returning ${rowColumns}`,
        [request.tenant.tenantId, id, ...changedValues(sent, current)],
      );
      return { keep: true, value: listAnswer("Contacts", rows.map(presentContact)) };
    });
  } catch (error) {
    const index = violatedIndex(error);
    if (index === null) throw error;
    return refuse([
      index === "contacts_number" ? numberTaken : nameTaken(textOf(sent.Name) ?? current.name),
    ]);
  }
}

const numberTaken = "Another contact has this contact number";

function nameTaken(name: string): string {
  return (
    `The contact name ${name} is already assigned to another contact. ` +
    "The contact name must be unique across all active contacts."
  );
}

function conflictOf(sent: ExactObject, numbers: ReadonlySet<string>): string {
  return numbers.has(textOf(sent.ContactNumber) ?? "")
    ? numberTaken
    : nameTaken(textOf(sent.Name) ?? "");
}

function faultsOf(request: ApiRequest, sent: ExactObject): readonly string[] {
  const name = textOf(sent.Name) ?? "";
  const status = textOf(sent.ContactStatus) ?? "ACTIVE";
  const faults = [
    [name === "", "The Contact Name must be specified."],
    [lengthOf(name) > 255, "The Contact Name must be at most 255 characters."],
    [/[<>]/.test(name), "The contact name cannot contain angle brackets."],
    [
      lengthOf(textOf(sent.ContactNumber) ?? "") > 50,
      "The ContactNumber field exceeds the maximum length of 50.",
    ],
    [!isEmail(textOf(sent.EmailAddress) ?? ""), "Email address must be valid."],
    [status !== "ACTIVE" && status !== "ARCHIVED", `The contact status ${status} is not valid.`],
  ] as const;
  const own = faults.filter(([isFault]) => isFault).map(([, message]) => message);
  return [...own, ...request.refusalOf(textOf(sent.ContactNumber) ?? "", name)];
}

function isEmail(text: string): boolean {
  return text === "" || (lengthOf(text) <= 255 && /^[^@\s]+@[^@\s]+$/.test(text));
}

function changedValues(sent: ExactObject, current: ContactRow): readonly (string | null)[] {
  const text = (value: ExactObject[string], kept: string | null) =>
    value === undefined ? kept : (filledTextOf(value) ?? null);
  return [
    textOf(sent.Name) ?? current.name,
    text(sent.ContactNumber, current.contact_number),
    text(sent.FirstName, current.first_name),
    text(sent.LastName, current.last_name),
    text(sent.EmailAddress, current.email),
    textOf(sent.ContactStatus) ?? current.status,
  ];
}

interface ContactDraft {
  readonly sent: ExactObject;
  readonly id: string;
}

const insertStatement = {
  name: "demo-insert-contacts",
  text: `insert into demo_ledger.contacts
      (contact_id, tenant_id, name, contact_number, first_name, last_name, email, status)
    select id, $1, name, number, first, last, email, 'ACTIVE'
    from unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
      as draft (id, name, number, first, last, email)
    order by name
    on conflict do nothing returning *, false as is_customer`,
};

// Ordered by name, so that two requests with the same names wait for each other and do not
// deadlock.
async function insertContacts(
  client: Queryable,
  tenantId: string,
  drafts: readonly ContactDraft[],
): Promise<ReadonlyMap<string, ContactRow>> {
  if (drafts.length === 0) return new Map();
  const column = (name: string) => drafts.map(({ sent }) => filledTextOf(sent[name]) ?? null);
  const { rows } = await client.query<ContactRow>({
    ...insertStatement,
    values: [
      tenantId,
      drafts.map(({ id }) => id),
      column("Name"),
      column("ContactNumber"),
      column("FirstName"),
      column("LastName"),
      column("EmailAddress"),
    ],
  });
  return new Map(rows.map((row) => [row.contact_id, row]));
}

async function takenNumbers(
  client: Queryable,
  tenantId: string,
  drafts: readonly ContactDraft[],
): Promise<ReadonlySet<string>> {
  const numbers = drafts
    .map(({ sent }) => filledTextOf(sent.ContactNumber))
    .filter((one) => one !== undefined);
  if (numbers.length === 0) return new Set();
  const { rows } = await client.query<{ contact_number: string }>(
    `select contact_number from demo_ledger.contacts
      where tenant_id = $1 and contact_number = any($2::text[])`,
    [tenantId, numbers],
  );
  return new Set(rows.map((row) => row.contact_number));
}
