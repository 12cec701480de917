/**
 * The cells of "writes to the ledger × faults" that no other file has: after each the ledger has
 * exactly the right documents, and ours are true. Writes: contact, invoice, credit note,
 * allocation. The other cells: ledger-faults, units-ledger-faults, end-faults, end-removals,
 * between-read-and-write, and allocate-credit under activities. LEDGER-2, POSTING-2.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { refusalOf, refused } from "../scenario/checked-ask.ts";
import { systemTest as test } from "../support/fixtures.ts";
import { newestJob, tables } from "../support/rows.ts";
import { type TestSystem, until } from "../support/system.ts";
import {
  addSubscription,
  bookedCredit,
  expectSameCredit,
  issueCredit,
  issueInvoice,
  ourCredit,
} from "../worker/activities/issue-credit.ts";
import {
  customerPost,
  expectOneDocumentEach,
  shownInvoice,
  subscriptionPost,
  synced,
  untilPosted,
} from "./ledger-documents.ts";
import { postUntilCreated, postUntilDecided } from "./processes.ts";

const puts = {
  contact: "PUT /api.xro/2.0/Contacts",
  invoice: "PUT /api.xro/2.0/Invoices",
  note: "PUT /api.xro/2.0/CreditNotes?",
  allocation: "/Allocations",
} as const;

// The system's calls to the ledger may take two seconds, and a lost document is looked up two
// seconds later.
const cutBefore = ["the request never came", { kind: "drop_before" }] as const;
const cutAfter = ["the answer was cut off", { kind: "drop_after" }] as const;
const tooLate = [
  "it was done after we had given up",
  { kind: "slow_before", delayMs: 2_500 },
] as const;
const muchTooLate = [
  "it was done after our look-up",
  { kind: "slow_before", delayMs: 6_000 },
] as const;
const internal = [
  "an internal error was remembered",
  { kind: "status", status: 500, body: "{}" },
] as const;

/**
 * Loses the first request, or its answer (`isDone`), and the first look-ups. `work` changes the
 * ledger before one succeeds.
 */
async function whileLost<T>(
  system: TestSystem,
  own: CreatedOrganisation,
  {
    put,
    get,
    isDone = false,
  }: { readonly put: string; readonly get: string; readonly isDone?: boolean },
  send: () => Promise<T>,
  work: () => Promise<unknown>,
): Promise<T> {
  const { tenantId, organisationId } = own;
  await system.fault({ kind: "drop_before", match: get, times: 2, tenantId });
  await system.fault({ kind: isDone ? "drop_after" : "drop_before", match: put, tenantId });
  const uncertain = { organisationId, state: "uncertain" };
  const meanwhile = until("the answer is lost", () => newestJob(system.pool, uncertain)).then(work);
  const [sent] = await Promise.all([send(), meanwhile]);
  await untilPosted(system, organisationId);
  return sent;
}

/**
 * Waits until every job is decided and the ledger has answered. The first request reaches the
 * ledger with the idempotency key of a later one: it gets that answer and does nothing.
 */
async function lateOneDone(
  system: TestSystem,
  { organisationId, tenantId }: CreatedOrganisation,
  kind: string,
): Promise<void> {
  await untilPosted(system, organisationId);
  await until("the ledger has answered", async () => {
    const text = `SELECT 1 FROM demo_ledger.idempotency k
      JOIN demo_ledger.tenants t USING (client_id)
        JOIN ledger_jobs o ON o.organisation_id = $2 AND o.kind = $3 AND o.state = 'done'
        WHERE t.tenant_id = $1 AND k.status IS NOT NULL`;
    return (await system.pool.query(text, [tenantId, organisationId, kind])).rows.length > 0;
  });
}

/** Changes one row of an organisation in the ledger, as a person could. */
async function alter(
  system: TestSystem,
  { tenantId }: CreatedOrganisation,
  table: string,
  set: string,
  where: string,
): Promise<void> {
  const text = `UPDATE demo_ledger.${table} SET ${set} WHERE tenant_id = $1 AND ${where}`;
  expect((await system.pool.query(text, [tenantId])).rowCount).toBe(1);
}

/** The contacts with the code of `customerPost`. */
async function contactsOf(
  system: TestSystem,
  { tenantId }: CreatedOrganisation,
): Promise<readonly Record<string, unknown>[]> {
  const { rows } = await system.pool.query<Record<string, unknown>>(
    `SELECT contact_id, name, status FROM demo_ledger.contacts WHERE tenant_id = $1
      AND contact_number = 'NEW-1'`,
    [tenantId],
  );
  return rows;
}

/** How many customers have that code. */
async function customersOf(
  system: TestSystem,
  { organisationId }: CreatedOrganisation,
): Promise<number> {
  return tables(system.pool).customer.count({ where: { organisationId, code: "NEW-1" } });
}

/** Credit of 12 (with tax) that goes onto an invoice of 60, whatever goes wrong on the way. */
async function expectCredited(
  system: TestSystem,
  fault: object,
  lateKind: string | null,
): Promise<void> {
  const own = await system.organisation({}, { first_invoice_status: "approved" });
  const { organisationId, tenantId } = own;
  await system.fault({ ...fault, tenantId });
  const subscriptionId = await addSubscription(system.pool, organisationId);
  await issueCredit(system.pool, organisationId, subscriptionId, "10");
  await issueInvoice(system.pool, organisationId, subscriptionId, "50");
  await until("the note is used up", () =>
    tables(system.pool).creditNote.findFirst({ where: { organisationId, status: "paid" } }),
  );
  if (lateKind !== null) await lateOneDone(system, own, lateKind);
  await untilPosted(system, organisationId);
  const { notes, invoices } = await expectSameCredit(system.pool, own);
  const allocations = [{ invoice: "INV-0001", amount: "12.00" }];
  expect(notes).toEqual([
    { number: "CN-0001", status: "PAID", total: "12.00", remaining: "0.00", allocations },
  ]);
  expect(invoices).toEqual([{ number: "INV-0001", status: "AUTHORISED", due: "48.00" }]);
}

describe.concurrent("a new contact exists once, and its customer refers to it, if", () => {
  test.for([cutBefore, cutAfter, tooLate, muchTooLate, internal])("%s", async ([what, fault], {
    system,
  }) => {
    const own = await system.organisation();
    await system.fault({ ...fault, match: puts.contact, tenantId: own.tenantId });
    const { json: customer } = await postUntilCreated(system.baseUrl, customerPost(own, "first"));
    if (what === muchTooLate[0]) await lateOneDone(system, own, "create_contact");
    const contact = {
      contact_id: customer.ledger_contact_id,
      name: "New and Sons",
      status: "ACTIVE",
    };
    expect(await contactsOf(system, own)).toEqual([contact]);
  });
});

describe.concurrent("the ledger has once", () => {
  test("an invoice that was created after our look-up", async ({ system }) => {
    const own = await system.organisation();
    await system.fault({ ...muchTooLate[1], match: puts.invoice, tenantId: own.tenantId });
    const created = await postUntilCreated(system.baseUrl, subscriptionPost(own, "first"));
    await lateOneDone(system, own, "create_invoice");
    await expectOneDocumentEach(system, own, 1);
    expect(await shownInvoice(system, own, created)).toMatchObject(synced);
  });

  test.for([tooLate, muchTooLate, internal])("a credit note if %s", async ([what, fault], {
    system,
  }) => {
    await expectCredited(
      system,
      { ...fault, match: puts.note },
      what === muchTooLate[0] ? "create_credit_note" : null,
    );
  });

  test.for([muchTooLate, internal])("its allocation to an invoice if %s", async ([what, fault], {
    system,
  }) => {
    await expectCredited(
      system,
      { ...fault, match: puts.allocation },
      what === muchTooLate[0] ? "allocate_credit" : null,
    );
  });
});

describe.concurrent("between a lost answer and its look-up", () => {
  const contactLost = { put: puts.contact, get: "GET /api.xro/2.0/Contacts/" };
  const invoiceLost = { put: puts.invoice, get: "GET /api.xro/2.0/Invoices?" };
  const noteLost = { put: puts.note, get: "GET /api.xro/2.0/CreditNotes/" };
  const createCustomer = (system: TestSystem, own: CreatedOrganisation) =>
    postUntilDecided(system.baseUrl, customerPost(own, "first"));
  const archive = (system: TestSystem, own: CreatedOrganisation, code = "ACME") =>
    alter(system, own, "contacts", "status = 'ARCHIVED'", `contact_number = '${code}'`);

  test("a contact of someone else with the customer's code leaves no customer", async ({
    system,
  }) => {
    const own = await system.organisation();
    const take = () =>
      alter(system, own, "contacts", "contact_number = 'NEW-1'", "contact_number = 'ACME'");
    const answer = await whileLost(
      system,
      own,
      contactLost,
      () => createCustomer(system, own),
      take,
    );
    expect(refusalOf(answer)).toEqual(refused(409, "customer_code_taken", "code"));
    expect(await contactsOf(system, own)).toMatchObject([
      { name: expect.not.stringContaining("New and Sons") },
    ]);
    expect(await customersOf(system, own)).toBe(0);
  });

  test("an archived contact leaves no customer, a reason, and no second contact", async ({
    system,
  }) => {
    const own = await system.organisation();
    const lost = { ...contactLost, isDone: true };
    const answer = await whileLost(
      system,
      own,
      lost,
      () => createCustomer(system, own),
      () => archive(system, own, "NEW-1"),
    );
    expect(refusalOf(answer)).toEqual(refused(409, "customer_code_taken", "code"));
    expect(answer.json.error.message).toBe("The ledger has an archived contact with this code.");
    expect(await contactsOf(system, own)).toMatchObject([
      { name: "New and Sons", status: "ARCHIVED" },
    ]);
    expect(await customersOf(system, own)).toBe(0);
  });

  test("another person's invoice with the number leaves ours unposted with a reason", async ({
    system,
  }) => {
    const own = await system.organisation();
    await postUntilCreated(system.baseUrl, subscriptionPost(own, "first"));
    const create = () => postUntilCreated(system.baseUrl, subscriptionPost(own, "second", 11));
    const created = await whileLost(system, own, invoiceLost, create, () =>
      alter(system, own, "invoices", "number = 'INV-0002'", "number = 'INV-0001'"),
    );
    expect(await shownInvoice(system, own, created)).toMatchObject({
      ...{ number: "INV-0002", status: "not_in_external" },
      ledger: {
        sync_status: "failed",
        sync_error: expect.stringContaining("taken by another invoice"),
        invoice_id: null,
      },
    });
    expect(await system.ledgerInvoices(own.tenantId)).toHaveLength(1);
  });

  test("an archived contact refuses the missing invoice and note with the reason", async ({
    system,
  }) => {
    const [own, credited] = [await system.organisation(), await system.organisation()];
    const create = () => postUntilCreated(system.baseUrl, subscriptionPost(own, "first"));
    const { organisationId } = credited;
    const subscriptionId = await addSubscription(system.pool, organisationId);
    const issue = () => issueCredit(system.pool, organisationId, subscriptionId, "10");
    const [created] = await Promise.all([
      whileLost(system, own, invoiceLost, create, () => archive(system, own)),
      whileLost(system, credited, noteLost, issue, () => archive(system, credited)),
    ]);
    const ledger = { sync_status: "failed", sync_error: expect.stringMatching(/archived/) };
    expect(await shownInvoice(system, own, created)).toMatchObject({
      status: "not_in_external",
      ledger,
    });
    expect(await system.ledgerInvoices(own.tenantId)).toEqual([]);
    expect(await ourCredit(system.pool, credited)).toMatchObject([
      { status: "NOT_IN_EXTERNAL", allocations: [] },
    ]);
    expect(await bookedCredit(system.pool, credited)).toEqual([]);
  });
});

async function faultsLeft(system: TestSystem): Promise<number> {
  return (
    (await (await fetch(`${system.demoUrl}/demo/faults`)).json()) as { readonly left: number }
  ).left;
}

test("every prepared fault of the ledger has happened", async ({ system }) => {
  expect(await faultsLeft(system)).toBe(0);
});
