/**
 * Tenant isolation: a request that names another organisation's object is answered exactly as if it
 * named nothing. ACCESS-8, REQUEST-12.
 */
import { randomUUID } from "node:crypto";
import { ScalarType } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, test } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { describedOperation } from "../../tools/openapi/described-operation.ts";
import { addApiKey } from "../support/organisation-builder.ts";
import { publishAll } from "../support/published-events.ts";
import { sharedSystem } from "../support/reused-system.ts";
import type { TestSystem } from "../support/system.ts";
import { type Ask, checkedAsk } from "./checked-ask.ts";
import { operations } from "./procedures.ts";
import { addCreditNote, addLike } from "./row-builder.ts";
import { addMeter, usageBuilder, usageEvent } from "./usage-builder.ts";

/** Fields of requests that name an object by its id, or by its code. */
const idFields = new Set([
  ...["id", "starting_after", "customer", "subscription", "ledger_contact_id"],
  ...["object", "event_id"],
]);
const codeFields = new Set(["code", "customer_code", "plan_code", "charge_code", "email"]);

/**
 * A code and an e-mail address that only the other organisation has; and equally long ones that no
 * organisation has.
 */
const foreignCode = "only@theirs";
const unknownCode = "none@theirs";

let system: TestSystem;
let ask: Ask;
let own: CreatedOrganisation;
let other: CreatedOrganisation;
const theirs: string[] = [];

const lists = [
  ...["customers", "plans", "charges", "subscriptions", "invoices", "credit_notes"],
  "events",
];

/** A subscription of the own organisation, and its plan. */
let mine = "";
let minePlan = "";

/** The lists of what one subscription or plan has. */
const listsOfOne = [
  ...["ListUsage", "ListUsageBills", "ListUnitChanges", "ListPeriods"],
  "ListPlanMeters",
];

beforeAll(async () => {
  system = await sharedSystem();
  ask = checkedAsk(system);
  own = await system.organisation();
  other = await system.organisation();
  await stock(own, "mine@mine");
  await stock(other, foreignCode);
  for (const kind of lists) {
    const { json } = await ask("GET", `/v1/${kind}?limit=100`, { key: other.apiKey });
    expect(json.data.length).toBeGreaterThan(0);
    theirs.push(...json.data.map(({ id }: { id: string }) => id));
    if (kind === "customers")
      theirs.push(...json.data.map((row: { ledger_contact_id: string }) => row.ledger_contact_id));
  }
  theirs.push(other.organisationId, other.apiKeyId, other.tenantId);
});

/** One of everything, with distinct codes. */
async function stock(organisation: CreatedOrganisation, code: string): Promise<void> {
  const { organisationId, apiKey } = organisation;
  await addLike(system.pool, "customers", organisationId, "ACME", { code, email: code });
  await addLike(system.pool, "plans", organisationId, "site", { code });
  await addLike(system.pool, "charges", organisationId, "onboarding", { code });
  const body = { customer_code: "ACME", plan_code: "site" };
  const { json } = await ask("POST", "/v1/subscriptions", {
    key: apiKey,
    idempotencyKey: "stock",
    body,
  });
  const meter = await addMeter(system.pool, organisationId, { code, plans: ["site"] });
  const event_id = randomUUID();
  const event = usageEvent(json.id, new Date().toISOString(), { event_id, meter_code: code });
  await usageBuilder(ask).stored(organisation, [event]);
  if (code === foreignCode) theirs.push(meter, event_id);
  else [mine, minePlan] = [json.id, json.plan];
  await addCreditNote(system.pool, organisationId, {
    customerId: json.customer,
    subscriptionId: json.id,
    number: "CN-1",
  });
  await publishAll(system.pool, organisationId);
}

let requests = 0;

/** What an own request of each write is, before one of its members is changed. */
function base(operation: string): Record<string, unknown> {
  requests += 1;
  const name = operation.replace(/^Preview/, "");
  if (name === "CreateSubscription") return { customer_code: "ACME", plan_code: "site" };
  if (listsOfOne.includes(name)) return { id: name === "ListPlanMeters" ? minePlan : mine };
  if (name === "ChangeUnits") return { units: 12 };
  if (name === "EndSubscription") return { when: "now" };
  return name === "CreateCustomer" ? { name: `Customer ${requests}`, email: "a@b.example" } : {};
}

interface Shown {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/**
 * An answer without what differs between any two of them: Request-Id, the date, the window of the
 * rate.
 */
function shown(status: number, headers: Headers, text: string): Shown {
  // The length of a packed body depends on the id in it.
  const isPacked = headers.has("content-encoding");
  const kept = [...headers].filter(
    ([name]) =>
      !/^(request-id|date|ratelimit-remaining|ratelimit-reset)$/.test(name) &&
      !(isPacked && name === "content-length"),
  );
  const requestId = headers.get("Request-Id") ?? "";
  // The details of a Connect error are shown twice; their binary forms hold the id as well.
  const body = text
    .replaceAll(requestId, "(id)")
    .replaceAll(/"value":"[^"]*"/g, '"value":"(binary)"');
  return { status, headers: Object.fromEntries(kept), body };
}

type Send = (name: string, request: Readonly<Record<string, unknown>>) => Promise<Shown>;

const overRest: Send = async (name, request) => {
  const operation = operations.get(name);
  const http = operation && describedOperation(operation.method)?.http;
  if (!http) throw new Error(`${name} has no path`);
  const inPath = new Set([...http.path.matchAll(/\{([a-z_]+)\}/g)].map(([, field]) => field));
  const path = http.path.replace(/\{([a-z_]+)\}/g, (_, field) => String(request[field]));
  const rest = Object.entries(request).filter(([field]) => !inPath.has(field));
  const asked = { key: own.apiKey, idempotencyKey: `key-${requests}` };
  const query = new URLSearchParams(
    rest.map(([field, value]): [string, string] => [field, String(value)]),
  ).toString();
  const answer =
    http.verb === "GET"
      ? await ask("GET", query === "" ? path : `${path}?${query}`, asked)
      : await ask("POST", path, { ...asked, body: Object.fromEntries(rest) });
  return shown(answer.status, answer.headers, answer.text);
};

const overConnect: Send = async (name, request) => {
  const headers = {
    Authorization: `Bearer ${own.apiKey}`,
    "Idempotency-Key": `connect-${requests}`,
    "Content-Type": "application/json",
  };
  const path = `/${operations.get(name)?.name}`;
  // Enum values have their full names there.
  const body = JSON.stringify(
    name.endsWith("EndSubscription") ? { ...request, when: "END_WHEN_NOW" } : request,
  );
  const answer = await fetch(system.baseUrl + path, { method: "POST", headers, body });
  return shown(answer.status, answer.headers, await answer.text());
};

/** Every field of every method that can name an object: by an id, or by a code. */
const fields = [...operations.values()]
  .flatMap(({ method }) =>
    method.input.fields.map((field) => ({
      name: method.name,
      field: field.name,
      isText: field.scalar === ScalarType.STRING,
    })),
  )
  .filter(({ isText }) => isText);
const byId = fields
  .filter(({ field }) => idFields.has(field))
  .map(({ name, field }) => [name, field] as const);
const byCode = fields
  .filter(({ name, field }) => codeFields.has(field) && name !== "CreateCustomer")
  .map(({ name, field }) => [name, field] as const);

describe.each([
  ["REST", overRest],
  ["Connect", overConnect],
] as const)("over %s", (_, send) => {
  test.each(byId)("%s finds no id of another organisation as its %s", async (name, field) => {
    expect(theirs.length).toBeGreaterThan(20);
    const unknown = await send(name, { ...base(name), [field]: randomUUID() });
    // An import asks the ledger each time; there the contacts alone are tried.
    const tried = field === "ledger_contact_id" ? theirs.slice(0, 8) : theirs;
    await Promise.all(
      tried.map(async (id) => {
        const foreign = await send(name, { ...base(name), [field]: id });
        expect({ id, ...foreign }).toEqual({ id, ...unknown });
      }),
    );
  });

  test.each(byCode)("%s finds no code of another organisation as its %s", async (name, field) => {
    const unknown = await send(name, { ...base(name), [field]: unknownCode });
    const foreign = await send(name, { ...base(name), [field]: foreignCode });
    expect(foreign).toEqual(unknown);
    if (unknown.status === 200)
      expect(unknown.body).toMatch(/^\{("data":\[\],"has_more":false)?\}$/);
  });

  test("CreateSubscription finds no charge of another organisation", async () => {
    const charged = (charge_code: string) => ({
      ...base("CreateSubscription"),
      charges: [{ charge_code }],
    });
    const unknown = await send("CreateSubscription", charged(unknownCode));
    expect(await send("CreateSubscription", charged(foreignCode))).toEqual(unknown);
    expect(unknown.body).toContain("charge_not_found");
  });

  test.each([
    "subscription",
    "meter",
    "meter_code",
  ])("ReportUsage finds no other organisation's %s", async (field) => {
    const { organisationId } = own;
    const [{ id: mine }] = (await ask("GET", "/v1/subscriptions?limit=1", { key: own.apiKey })).json
      .data;
    const timestamp = new Date().toISOString();
    const report = async (value: string) => {
      const event = {
        event_id: organisationId,
        subscription: mine,
        meter_code: "mine@mine",
        quantity: "1",
        timestamp,
      };
      const named =
        field === "meter"
          ? { ...event, meter: value, meter_code: undefined }
          : { ...event, [field]: value };
      const shown = await send("ReportUsage", { ...base("ReportUsage"), events: [named] });
      // The answer repeats the request's own values.
      return { ...shown, headers: {}, body: shown.body.replaceAll(value, "(named)") };
    };
    const unknown = await report(field === "meter_code" ? unknownCode : randomUUID());
    expect(unknown.body).toMatch(
      field === "subscription" ? /subscription_not_found/i : /meter_not_found/i,
    );
    const foreign = field === "meter_code" ? [foreignCode] : theirs;
    for (const value of foreign) expect(await report(value)).toEqual(unknown);
  });

  test("no list shows an id of another organisation", async () => {
    const names = [...operations.keys()].filter((name) => name.startsWith("List"));
    expect(names).toHaveLength(lists.length + listsOfOne.length);
    for (const name of [...names, "GetOrganisation"]) {
      const { status, body } = await send(name, base(name));
      expect(status).toBe(200);
      for (const id of theirs) expect(body).not.toContain(id);
    }
  });
});

test("every field that names an object by id or code is among those tried", () => {
  expect(byId.map((pair) => pair.join("."))).toHaveLength(6 + 6 + 5 + 1 + 3 + 4 + 6 + 2 + 8);
  expect(byCode.map((pair) => pair.join("."))).toEqual([
    "ListCustomers.code",
    "ListCustomers.email",
    "ListPlans.code",
    "ListCharges.code",
    "ListSubscriptions.customer_code",
    "CreateSubscription.customer_code",
    "CreateSubscription.plan_code",
    "PreviewCreateSubscription.customer_code",
    "PreviewCreateSubscription.plan_code",
  ]);
});

test("codes, contact names and numbers of one organisation are free in another", async () => {
  const body = { code: foreignCode, name: "Acme Ltd (theirs)", email: "a@b.example" };
  for (const { apiKey } of [own, await system.organisation()]) {
    expect((await ask("POST", "/v1/customers", { key: apiKey, body })).status).toBe(201);
  }
  const numbers = await Promise.all(
    [own, other].map(
      async ({ apiKey }) =>
        (await ask("GET", "/v1/invoices", { key: apiKey })).json.data.at(-1).number,
    ),
  );
  expect(numbers).toEqual(["INV-0001", "INV-0001"]);
});

test("an Idempotency-Key belongs to one API key, in any organisation", async () => {
  const second = await addApiKey(system.pool, own.organisationId, ["subscriptions:write"]);
  const body = { customer_code: "ACME", plan_code: "site", label: "the same" };
  const created = [];
  for (const key of [own.apiKey, second.value, other.apiKey]) {
    const answer = await ask("POST", "/v1/subscriptions", { key, idempotencyKey: "same", body });
    expect([answer.status, answer.headers.get("Idempotent-Replayed")]).toEqual([201, null]);
    created.push(answer.json.id);
  }
  expect(new Set(created).size).toBe(3);
});
