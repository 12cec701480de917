/**
 * Every answer that the published document promises is met here, and is as the document says:
 * status, headers and body.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { document } from "../contract/answer-check.ts";
import { ask as askOnce } from "../support/answer.ts";
import { expectExplained } from "../support/explained-documents.ts";
import { addApiKey } from "../support/organisation-builder.ts";
import { publishAll } from "../support/published-events.ts";
import { tables } from "../support/rows.ts";
import { type RequestOptions, startSystem, type TestSystem, until } from "../support/system.ts";
import {
  type Ask,
  assertAnswer,
  checkedAsk,
  refusalOf,
  refused,
  type Seen,
} from "./checked-ask.ts";
import { type CutLine, openLine } from "./cut-line.ts";
import { addCreditNote } from "./row-builder.ts";
import { addMeter, usageEvent } from "./usage-builder.ts";

let system: TestSystem;
let line: CutLine;
let ask: Ask;
let own: CreatedOrganisation;
const seen: Seen = new Set();
const ids: Record<string, string> = {};

const limit = 500;

/** Verb, path template and promised statuses of every operation in the document. */
const operations = Object.entries(
  document.paths as Record<string, Record<string, { responses: object }>>,
).flatMap(([path, verbs]) =>
  Object.entries(verbs).map(([verb, { responses }]) => ({
    verb: verb.toUpperCase(),
    path,
    statuses: Object.keys(responses),
  })),
);
const named = operations.map(({ verb, path }) => [verb, path] as const);
const isPreview = (path: string) => path.endsWith("/preview");
const posts = named.filter(([verb]) => verb === "POST");
const writes = posts.filter(([, path]) => !isPreview(path));

beforeAll(async () => {
  system = await startSystem({ without: ["api"], env: { RATE_LIMIT_PER_MINUTE: String(limit) } });
  line = await openLine(system.databaseUrl);
  await system.api.start({ DATABASE_URL: line.url });
  ask = checkedAsk(system, seen);
  own = await system.organisation();
  for (const idempotencyKey of ["one", "two"]) {
    const charges = [{ charge_code: "onboarding" }];
    const body = {
      customer_code: "ACME",
      plan_code: "growth",
      units: 6,
      end_after_cycles: 2,
      charges,
    };
    const { json } = await ask("POST", "/v1/subscriptions", {
      key: own.apiKey,
      idempotencyKey,
      body,
    });
    const note = { customerId: json.customer, subscriptionId: json.id, invoiceId: json.invoice.id };
    await addCreditNote(system.pool, own.organisationId, {
      ...note,
      number: `CN-${idempotencyKey}`,
      remaining: "3",
    });
    ids.metered = json.id;
  }
  const body = { customer_code: "ACME", plan_code: "team", units: 2 };
  const asked = { key: own.apiKey, idempotencyKey: "set-to-end", body };
  ids.setToEnd = (await ask("POST", "/v1/subscriptions", asked)).json.id;
  await ask("POST", `/v1/subscriptions/${ids.setToEnd}/end`, {
    key: own.apiKey,
    body: { when: "period_end" },
  });
  await addMeter(system.pool, own.organisationId, { plans: ["growth"] });
  ids.usage_events = "evt/1";
  const event = usageEvent(ids.metered ?? "", new Date().toISOString(), { event_id: "evt/1" });
  await send("POST", "/v1/usage_events", { body: { events: [event] } });
  await publishAll(system.pool, own.organisationId);
  // The key that every operation then finds in use by another request.
  await send("POST", "/v1/customers", { idempotencyKey: "conflict" });
  for (const kind of [
    "customers",
    "plans",
    "charges",
    "subscriptions",
    "invoices",
    "credit_notes",
    "events",
  ]) {
    const { data } = (await ask("GET", `/v1/${kind}?limit=2`, { key: own.apiKey })).json;
    ids[kind] = data.find(({ id }: { id: string }) => id !== ids.setToEnd).id;
  }
});

afterAll(async () => {
  await expectExplained(system.pool).finally(() => system.stop());
  await line?.cut();
});

let requests = 0;

/** The parameter of a path. */
const parameter = /\{\w+\}/;

/** A request that is in order: its path with an id that is there, and a body. */
function goodRequest(
  verb: string,
  template: string,
): { readonly path: string; readonly asked: RequestOptions } {
  const isRestoration = template.endsWith("/restore/preview");
  const kind = isRestoration ? "setToEnd" : (template.split("/")[2] ?? "");
  const path = template.replace(parameter, encodeURIComponent(ids[kind] ?? ""));
  const asked = { key: own.apiKey, idempotencyKey: `good-${++requests}` };
  if (verb === "GET") return { path, asked };
  const bodies: Record<string, object> = {
    "/v1/customers": { name: `Customer ${requests}`, email: "a@b.example" },
    "/v1/subscriptions": { customer_code: "ACME", plan_code: "team", units: 2 },
    "/v1/subscriptions/{id}/units": { units: 100 + requests },
    "/v1/subscriptions/{id}/end": { when: "period_end" },
    "/v1/subscriptions/{id}/restore": {},
    "/v1/subscriptions/preview": { customer_code: "ACME", plan_code: "team", units: 2 },
    "/v1/subscriptions/{id}/units/preview": { units: 100 + requests },
    "/v1/subscriptions/{id}/end/preview": { when: "period_end" },
    "/v1/subscriptions/{id}/restore/preview": {},
    "/v1/usage_events": { events: [usageEvent(ids.metered ?? "", new Date().toISOString())] },
  };
  return { path, asked: { ...asked, body: bodies[template] } };
}

/** The status of a success: a creation's is 201. */
const statusOf = (verb: string, path: string): number =>
  verb === "POST" && /^\/v1\/(customers|subscriptions)$/.test(path) ? 201 : 200;

async function send(verb: string, template: string, changes: RequestOptions = {}, query = "") {
  const { path, asked } = goodRequest(verb, template);
  return ask(verb, path + query, { ...asked, ...changes });
}

describe.each(named)("%s %s", (verb, path) => {
  test("succeeds as documented, under both addresses", async () => {
    const status = statusOf(verb, path);
    const { path: good, asked } = goodRequest(verb, path);
    expect((await ask(verb, good, asked)).status).toBe(status);
    const again = await ask(verb, `/api${good}`, asked);
    expect(again.status).toBe(status);
    const isReplayed = verb === "POST" && !isPreview(path);
    expect(again.headers.get("Idempotent-Replayed")).toBe(isReplayed ? "true" : null);
  });

  test("refuses as documented: key, scope, a wrong parameter, too many requests", async () => {
    const { value } = await addApiKey(system.pool, own.organisationId, []);
    const full = await addApiKey(system.pool, own.organisationId, []);
    await system.pool.query(
      `INSERT INTO rate_windows (api_key_id, hits) VALUES ($1, array_fill(clock_timestamp(),
        ARRAY[$2::int]))`,
      [full.id, limit],
    );
    const { asked } = goodRequest(verb, path);
    const { key: _, ...keyless } = asked;
    expect(refusalOf(await ask(verb, path.replace(parameter, ids.plans ?? ""), keyless)).code).toBe(
      "invalid_api_key",
    );
    expect((await send(verb, path, { key: value })).status).toBe(
      path === "/v1/organisation" ? 200 : 403,
    );
    expect(refusalOf(await send(verb, path, {}, "?colour=red"))).toEqual(
      refused(422, "invalid_parameter", "colour"),
    );
    expect(refusalOf(await send(verb, path, { key: full.value }))).toEqual(
      refused(429, "rate_limited"),
    );
  });
});

test.each(
  named.filter(([, path]) => parameter.test(path)),
)("%s %s answers 404 to another id", async (verb, path) => {
  const code = `${path.split("/")[2]?.slice(0, -1)}_not_found`;
  const unknown = path.replace(parameter, randomUUID());
  const answer = await ask(verb, unknown, goodRequest(verb, path).asked);
  expect(refusalOf(answer)).toEqual(refused(404, code));
});

test.each(posts)("%s %s refuses a body that is too large", async (verb, path) => {
  expect((await send(verb, path, { body: "x".repeat(1_048_577) })).status).toBe(413);
});

test.each(writes)("%s %s refuses a conflict of keys", async (verb, path) => {
  expect((await send(verb, path, { idempotencyKey: "conflict" })).status).toBe(409);
  const body = {
    ...(goodRequest(verb, path).asked.body as object),
    name: "Acme Ltd",
    email: "b@c.example",
  };
  if (path === "/v1/customers") expect((await send(verb, path, { body })).status).toBe(409);
});

test("an unknown code in a body is a documented 404", async () => {
  const body = { customer_code: "NOBODY", plan_code: "team", units: 2 };
  expect((await send("POST", "/v1/subscriptions", { body })).status).toBe(404);
  expect((await send("POST", "/v1/subscriptions/preview", { body })).status).toBe(404);
});

test("previews and the upcoming invoice are a documented 409 while an end runs", async () => {
  const { rows } = await system.pool.query<{ id: string }>(
    `INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, first_sent_at,
      lease_until)
      SELECT gen_random_uuid(), $1, 'end_subscription', 'sending', s, now(),
        now() + interval '1 hour' FROM unnest($2::uuid[]) s RETURNING id`,
    [own.organisationId, [ids.subscriptions, ids.setToEnd]],
  );
  for (const name of ["units/preview", "end/preview", "restore/preview", "upcoming_invoice"]) {
    const verb = name === "upcoming_invoice" ? "GET" : "POST";
    const answer = await send(verb, `/v1/subscriptions/{id}/${name}`);
    expect(refusalOf(answer)).toEqual(refused(409, "invalid_state"));
  }
  const jobs = rows.map(({ id }) => id);
  await tables(system.pool).ledgerJob.deleteMany({ where: { id: { in: jobs } } });
});

test("a batch with a rejected event is a documented 207", async () => {
  const events = [usageEvent(ids.metered ?? "", "2000-01-01T00:00:00Z")];
  const { status, json } = await send("POST", "/v1/usage_events", { body: { events } });
  expect([status, json.results[0].error.code]).toEqual([207, "before_subscription_start"]);
});

test("with the ledger down a customer is a documented 502, and a subscription a 201", async () => {
  await system.stopLedger();
  const [customer, subscription] = await Promise.all([
    send("POST", "/v1/customers"),
    send("POST", "/v1/subscriptions"),
  ]);
  await system.startLedger();
  expect(refusalOf(customer)).toEqual(refused(502, "ledger_unavailable"));
  expect([subscription.status, subscription.json.invoice]).toEqual([
    201,
    expect.objectContaining({
      status: "scheduled",
      ledger: {
        sync_status: "failed",
        invoice_id: null,
        sync_error: "The ledger could not be reached; it is retried",
      },
    }),
  ]);
});

test("every operation answers as documented with the database down and afterwards", async () => {
  await line.cut();
  const undocumented: string[] = [];
  for (const [verb, path] of named) {
    const { path: good, asked } = goodRequest(verb, path);
    const answer = await askOnce(`${system.baseUrl}${good}`, verb, asked);
    const { status, json } = answer;
    expect([verb, path, status >= 500, json.error.type]).toEqual([verb, path, true, "api_error"]);
    const promised = operations.find((one) => one.verb === verb && one.path === path)?.statuses;
    if (promised?.includes(String(status))) assertAnswer(verb, good, answer, seen);
    else undocumented.push(`${verb} ${path} ${status} ${json.error.code}`);
  }
  await line.mend();
  await until(
    "the service is back",
    async () => (await system.ask("GET", "/readyz")).status === 200,
  );
  expect((await send("GET", "/v1/plans")).status).toBe(200);
  expect(undocumented).toEqual([]);
});

test("every documented answer occurred except a 500 and the 404 of unknown paths", () => {
  const expected = operations.flatMap(({ verb, path, statuses }) =>
    statuses
      .filter((status) => status !== "500")
      // An unknown path is never requested of an operation that exists: lists and the organisation
      // have no 404.
      .filter(
        (status) =>
          status !== "404" ||
          parameter.test(path) ||
          (verb === "POST" && /^\/v1\/subscriptions(\/preview)?$/.test(path)),
      )
      .map((status) => `${verb} ${path} ${status}`),
  );
  expect(expected.filter((answer) => !seen.has(answer))).toEqual([]);
});
