/**
 * Create customer over HTTP and on real parts: generated and supplied codes, imports, conflicts,
 * and a ledger that is down.
 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { refusalOf, refused } from "./checked-ask.ts";
import { customerTest as test } from "./customer-fixture.ts";

const invalid = (param: string | null) => refused(422, "invalid_parameter", param);

test("a customer is created with its contact in the ledger, and is read as answered", async ({
  ask,
  own,
  create,
  contactsNamed,
}) => {
  const body = {
    code: "UMB 1/ä",
    name: "Umbrella ☂ Ltd",
    company_name: "Umbrella Holding",
    first_name: "Alice",
    last_name: "Abernathy",
    email: "Billing@umbrella.example",
  };
  const answer = await create(body);
  expect(answer.status, answer.text).toBe(201);
  const [contact] = await contactsNamed(body.name);
  expect(answer.json).toEqual({
    ...body,
    id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
    object: "customer",
    status: "active",
    ledger_contact_id: contact?.contact_id,
    created: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  });
  expect(contact).toMatchObject({
    contact_number: body.code,
    first_name: "Alice",
    last_name: "Abernathy",
    email: body.email,
  });
  expect((await ask("GET", `/v1/customers/${answer.json.id}`, { key: own.apiKey })).text).toBe(
    answer.text,
  );
  const subscription = { customer_code: body.code, plan_code: "site" };
  const result = await ask("POST", "/v1/subscriptions", {
    key: own.apiKey,
    idempotencyKey: "umb",
    body: subscription,
  });
  expect(result.json).toMatchObject({
    customer: answer.json.id,
    invoice: { ledger: { sync_status: "synced" } },
  });
});

test.for([
  ["left out", {}],
  [
    "null",
    { code: null, company_name: null, first_name: null, last_name: null, ledger_contact_id: null },
  ],
] as const)("a customer with the optional %s gets a code for its contact too", async ([
  said,
  members,
], { create, contactsNamed }) => {
  const name = `Members ${said}`;
  const { status, json, text } = await create({ name, email: "a@b.example", ...members });
  expect(status, text).toBe(201);
  expect(json).toMatchObject({
    code: expect.stringMatching(/^CUS-[0-9A-F]{12}$/),
    company_name: null,
    first_name: null,
  });
  expect(await contactsNamed(name)).toMatchObject([
    { contact_number: json.code, first_name: null },
  ]);
});

describe("an existing contact", () => {
  test("is imported, and no contact is created", async ({
    create,
    contactsNamed,
    addContact,
    customersWithCode,
  }) => {
    const id = await addContact("Stark Industries", "S-1");
    const body = {
      code: "STARK",
      name: "Stark Industries",
      email: "tony@stark.example",
      ledger_contact_id: id,
    };
    const answer = await create(body);
    expect(answer.status, answer.text).toBe(201);
    expect(answer.json).toMatchObject(body);
    expect(await contactsNamed(body.name)).toHaveLength(1);
    expect(await customersWithCode("STARK")).toEqual([answer.json]);
  });

  test("that is a customer already is refused, in whatever case its id is written", async ({
    ask,
    own,
    create,
    customersWithCode,
  }) => {
    const { json } = await ask("GET", "/v1/customers?code=ACME", { key: own.apiKey });
    const taken: string = json.data[0].ledger_contact_id;
    for (const id of [taken, taken.toUpperCase()]) {
      const answer = await create({
        code: "TWICE",
        name: "Acme Ltd",
        email: "a@b.example",
        ledger_contact_id: id,
      });
      expect(refusalOf(answer)).toEqual(invalid("ledger_contact_id"));
    }
    expect(await customersWithCode("TWICE")).toEqual([]);
  });

  test("that is archived, unknown or another organisation's is refused", async ({
    system,
    ask,
    create,
    addContact,
  }) => {
    const archived = await addContact("Old Ltd", null, "ARCHIVED");
    const other = await system.organisation();
    const { json } = await ask("GET", "/v1/customers?code=ACME", { key: other.apiKey });
    for (const id of [archived, randomUUID(), json.data[0].ledger_contact_id]) {
      const answer = await create({ name: "Anyone", email: "a@b.example", ledger_contact_id: id });
      expect({ id, ...refusalOf(answer) }).toEqual({ id, ...invalid("ledger_contact_id") });
    }
  });
});

test("no contact is found by a text that is no contact's id", async ({ create, addContact }) => {
  await addContact("Numbered Ltd", "N-1");
  for (const id of [".", "..", "no id", "?where=x", "/", "%2e", "N-1"]) {
    const answer = await create({ name: "Anyone", email: "a@b.example", ledger_contact_id: id });
    expect({ id, status: answer.status, param: answer.json.error?.param }).toEqual({
      id,
      status: 422,
      param: "ledger_contact_id",
    });
  }
});

describe("a conflict", () => {
  const email = "x@taken.example";

  test("of a customer's code is refused", async ({ create, contactsNamed }) => {
    const answer = await create({ code: "ACME", name: "Nobody yet", email });
    expect(refusalOf(answer)).toEqual(refused(409, "customer_code_taken", "code"));
    expect(await contactsNamed("Nobody yet")).toEqual([]);
  });

  test("of a contact's name is refused, and the requested code is free again", async ({
    create,
    addContact,
    customersWithCode,
  }) => {
    await addContact("Wayne Enterprises");
    for (const name of ["Wayne Enterprises", "wayne enterprises", "Acme Ltd"]) {
      const answer = await create({ code: "WAYNE", name, email });
      expect(refusalOf(answer)).toEqual(refused(409, "ledger_contact_name_taken", "name"));
    }
    expect(await customersWithCode("WAYNE")).toEqual([]);
    expect((await create({ code: "WAYNE", name: "Wayne Foundation", email })).status).toBe(201);
  });

  test("with the name of an archived contact does not exist", async ({ create, addContact }) => {
    await addContact("Once Ltd", null, "ARCHIVED");
    expect((await create({ name: "Once Ltd", email })).status).toBe(201);
  });

  test("of concurrent requests creates one customer of each code and each name", async ({
    create,
    contactsNamed,
  }) => {
    const sameCode = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        create({ code: "ONCE", name: `Once ${index}`, email }),
      ),
    );
    expect(sameCode.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
    for (const answer of sameCode.filter(({ status }) => status === 409)) {
      expect(refusalOf(answer).code).toBe("customer_code_taken");
    }
    const sameName = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        create({ code: `N${index}`, name: "One Name", email }),
      ),
    );
    expect(sameName.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
    for (const answer of sameName.filter(({ status }) => status === 409)) {
      expect(refusalOf(answer)).toEqual(refused(409, "ledger_contact_name_taken", "name"));
    }
    expect(await contactsNamed("One Name")).toHaveLength(1);
  });
});

describe("an Idempotency-Key of a customer", () => {
  test("of many concurrent requests creates one customer", async ({ create, contactsNamed }) => {
    const body = { name: "At Once Ltd", email: "a@b.example" };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => create(body, { idempotencyKey: "many" })),
    );
    const result = answers.filter(({ status }) => status === 201);
    expect(new Set(result.map(({ text }) => text)).size).toBe(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(refusalOf(answer)).toEqual(refused(409, "request_in_progress"));
      expect(answer.headers.get("Retry-After")).toBe("2");
    }
    expect(await contactsNamed(body.name)).toHaveLength(1);
  });
});

test("create customer, if the organisation forbids it, is 403 before the body", async ({
  system,
  ask,
  create,
}) => {
  const closed = await system.organisation({}, { can_create_ledger_contacts: false });
  const answer = await create("no JSON", { key: closed.apiKey });
  expect(refusalOf(answer)).toEqual(refused(403, "insufficient_scope"));
  const { json } = await ask("GET", "/v1/organisation", { key: closed.apiKey });
  expect(json.can_create_ledger_contacts).toBe(false);
});

test("an unfinished creation names the key to repeat with only if one was sent", async ({
  system,
  own,
  create,
}) => {
  // Longer than an answer waits: what was sent is not decided by then.
  const contacts = "PUT /api.xro/2.0/Contacts";
  await system.fault({
    kind: "slow_before",
    match: contacts,
    tenantId: own.tenantId,
    delayMs: 60_000,
    times: 2,
  });
  const [keyed, keyless] = await Promise.all([
    create({ name: "Slow Ltd", email: "a@b.example" }, { idempotencyKey: "slow" }),
    create({ name: "Slower Ltd", email: "a@b.example" }),
  ]);
  await system.clearFaults();
  for (const answer of [keyed, keyless])
    expect(refusalOf(answer)).toEqual(refused(502, "ledger_unavailable"));
  expect(keyed.json.error.message).toContain(
    "may still be created; retry with the same Idempotency-Key",
  );
  expect(keyless.json.error.message).toContain(
    "may still be created; search for it before you create it again",
  );
});

test("a creation while the ledger is down shows nothing; its key works afterwards", async ({
  system,
  create,
  contactsNamed,
  customersWithCode,
}) => {
  const body = { code: "LATER", name: "Later Ltd", email: "a@b.example" };
  await system.stopLedger();
  const [result, imported] = await Promise.all([
    create(body, { idempotencyKey: "later" }),
    create({ ...body, code: "LATER-2", ledger_contact_id: randomUUID() }),
  ]);
  for (const answer of [result, imported])
    expect(refusalOf(answer)).toEqual(refused(502, "ledger_unavailable"));
  expect(await customersWithCode("LATER")).toEqual([]);
  await system.startLedger();
  const retried = await create(body, { idempotencyKey: "later" });
  expect(retried.status, retried.text).toBe(201);
  expect(retried.headers.get("Idempotent-Replayed")).toBeNull();
  expect(await contactsNamed(body.name)).toHaveLength(1);
  expect(await customersWithCode("LATER")).toEqual([retried.json]);
});
