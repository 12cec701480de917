/**
 * Events over HTTP: the bytes that receivers get, also without a receiver, for the keys whose
 * scopes read their objects. EVENT-5 to EVENT-7.
 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { billingScheduleId } from "../../workflows/contract.ts";
import { perFile, started } from "../support/file-fixture.ts";
import { addApiKey } from "../support/organisation-builder.ts";
import { publishAll } from "../support/published-events.ts";
import { until } from "../support/system.ts";
import { startReceiver } from "../support/webhook-receiver.ts";
import { refusalOf, refused } from "./checked-ask.ts";
import { aloneTest } from "./fixtures.ts";
import { protocols } from "./procedures.ts";

const invalid = (param: string) => refused(422, "invalid_parameter", param);
const denied = refused(403, "insufficient_scope");

const test = aloneTest
  .extend(
    "settings",
    perFile,
    started(() => ({ env: { WEBHOOK_ADDRESSES: "development" } })),
  )
  .extend(
    "receiver",
    perFile,
    started(startReceiver, (receiver) => receiver.stop()),
  )
  /** A subscription whose events an endpoint of the organisation got, with their bodies. */
  .extend("delivered", perFile, async ({ system, client, own, ask, receiver }) => {
    const created = await system.askAdmin("WebhookService/CreateWebhookEndpoint", {
      key: await system.operator(),
      idempotencyKey: "endpoint",
      body: { organisation: own.organisationId, url: receiver.url("/hook") },
    });
    expect(created.status, created.text).toBe(200);
    const body = { customer_code: "ACME", plan_code: "team", units: 3, label: "Zoë's “\u2028”" };
    const idempotencyKey = "first";
    const { json } = await ask("POST", "/v1/subscriptions", {
      key: own.apiKey,
      idempotencyKey,
      body,
    });
    await publishAll(system.pool, own.organisationId);
    await client.schedule.getHandle(billingScheduleId).trigger();
    const count = await system.pool.query(
      "SELECT count(*)::int AS events FROM events WHERE organisation_id = $1",
      [own.organisationId],
    );
    const bodies = await until("each event is delivered", async () => {
      const received = receiver.received("/hook").map((request) => request.body);
      return new Set(received).size >= count.rows[0].events && [...new Set(received)];
    });
    return { subscription: json.id as string, bodies };
  })
  /** The ids and kinds that a key lists, newest first. */
  .extend(
    "list",
    perFile,
    ({ ask, own }) =>
      async (query = "", key = own.apiKey): Promise<{ id: string; type: string }[]> => {
        const { status, json, text } = await ask("GET", `/v1/events?limit=100${query}`, { key });
        expect(status, text).toBe(200);
        return json.data;
      },
  );

test("an event is the bytes that a receiver got, alone and in a list", async ({
  ask,
  own,
  delivered,
}) => {
  expect(delivered.bodies.length).toBeGreaterThan(3);
  for (const body of delivered.bodies) {
    const { id } = JSON.parse(body);
    const answer = await ask("GET", `/v1/events/${id.toUpperCase()}`, { key: own.apiKey });
    expect([answer.status, answer.text]).toEqual([200, body]);
  }
  const { text, json } = await ask("GET", "/v1/events?limit=100", { key: own.apiKey });
  const byId = new Map(delivered.bodies.map((body) => [JSON.parse(body).id, body]));
  const bodies = json.data.map(({ id }: { id: string }) => byId.get(id));
  expect(text).toBe(`{"data":[${bodies.join(",")}],"has_more":false}`);
  expect(new Set(bodies)).toEqual(new Set(delivered.bodies));
});

describe.each(protocols)("over %s", (protocol) => {
  test("an event has the bytes of its delivery and the same members", async ({
    call,
    own,
    delivered,
  }) => {
    for (const body of delivered.bodies) {
      const sent = JSON.parse(body);
      const { code, message } = await call(
        protocol,
        "GetEvent",
        { id: sent.id },
        { key: own.apiKey },
      );
      expect(code).toBeNull();
      const { event } = message as { event: { body: string; data: object } };
      expect(event.body).toBe(body);
      const { previous_attributes, ...data } = sent.data;
      const previous = previous_attributes === null ? {} : { previous_attributes };
      const { body: _, ...members } = event;
      expect(members).toEqual({ ...sent, data: { ...data, ...previous } });
    }
  });
});

test("an organisation without an endpoint has events, newest first, in pages", async ({
  system,
  ask,
  list,
}) => {
  const alone = await system.organisation();
  const body = { customer_code: "ACME", plan_code: "team", units: 3 };
  await ask("POST", "/v1/subscriptions", { key: alone.apiKey, idempotencyKey: "one", body });
  await publishAll(system.pool, alone.organisationId);
  const whole = await list("", alone.apiKey);
  expect(whole.map(({ type }) => type)).toEqual(
    expect.arrayContaining(["customer.created", "subscription.created", "invoice.created"]),
  );
  const seen: string[] = [];
  for (let after = ""; ; after = `&starting_after=${seen.at(-1)}`) {
    const { json } = await ask("GET", `/v1/events?limit=2${after}`, { key: alone.apiKey });
    seen.push(...json.data.map(({ id }: { id: string }) => id));
    if (!json.has_more) break;
  }
  expect(seen).toEqual(whole.map(({ id }) => id));
});

test("a key sees the events of what its scopes read, and no others", async ({
  system,
  ask,
  own,
  delivered,
  list,
}) => {
  expect(delivered.subscription).not.toBe("");
  const keyWith = async (...scopes: string[]) =>
    (await addApiKey(system.pool, own.organisationId, scopes)).value;
  const whole = await list();
  for (const kind of ["customer", "subscription", "invoice"]) {
    const key = await keyWith(`${kind}s:read`, "usage:write");
    const visible = whole.filter(({ type }) => type.startsWith(`${kind}.`));
    expect(visible.length).toBeGreaterThan(0);
    expect(await list("", key)).toEqual(visible);
    for (const { id, type } of whole) {
      const answer = await ask("GET", `/v1/events/${id}`, { key });
      if (type.startsWith(`${kind}.`)) expect(answer.status).toBe(200);
      else expect(refusalOf(answer)).toEqual(refused(404, "event_not_found"));
    }
    const foreign = "/v1/events?type=credit_note.created";
    expect(refusalOf(await ask("GET", foreign, { key }))).toEqual(denied);
  }
  const key = await keyWith("subscriptions:write", "catalogue:read");
  for (const path of ["/v1/events", `/v1/events/${whole[0]?.id}`])
    expect(refusalOf(await ask("GET", path, { key }))).toEqual(denied);
});

test("filters by kind, object and instant combine", async ({ ask, own, delivered, list }) => {
  const whole = await list();
  const ofKind = await list("&type=invoice.created,subscription.created");
  expect(ofKind.map(({ type }) => type).toSorted()).toEqual([
    "invoice.created",
    "subscription.created",
  ]);
  const object = `&object=${delivered.subscription}`;
  const ofObject = await list(object);
  expect(ofObject.length).toBeGreaterThan(0);
  expect(ofObject.every(({ type }) => type.startsWith("subscription."))).toBe(true);
  expect(await list(`${object}&type=invoice.created`)).toEqual([]);
  expect(await list(`&object=${randomUUID()}`)).toEqual([]);
  const { json } = await ask("GET", `/v1/events/${whole[0]?.id}`, { key: own.apiKey });
  const newest = json.created as string;
  const before = await list(`&created_before=${newest}`);
  const since = await list(`&created_from=${newest}`);
  expect([...since, ...before]).toEqual(whole);
  expect(since[0]).toEqual(whole[0]);
  expect(await list(`&created_from=${newest}&created_before=${newest}`)).toEqual([]);
});

test("another organisation's event, an unknown one and no UUID are not found alike", async ({
  system,
  ask,
  delivered,
}) => {
  const { apiKey: key } = await system.organisation();
  const theirs = JSON.parse(delivered.bodies[0] ?? "{}").id as string;
  for (const id of [theirs, randomUUID(), "abc", "%20", "null"]) {
    const answer = await ask("GET", `/v1/events/${id}`, { key });
    expect(refusalOf(answer)).toEqual(refused(404, "event_not_found"));
  }
  const after = await ask("GET", `/v1/events?starting_after=${theirs}`, { key });
  expect(refusalOf(after)).toEqual(invalid("starting_after"));
});

test("a wrong parameter is refused by its name", async ({ ask, own }) => {
  const wrong: readonly (readonly [query: string, param: string])[] = [
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["starting_after=abc", "starting_after"],
    ["type=", "type"],
    ["type=invoice.created,", "type"],
    ["type=invoice.gone", "type"],
    ["type=webhook_endpoint.test", "type"],
    ["object=abc", "object"],
    ["created_from=2026-03-01", "created_from"],
    ["created_before=yesterday", "created_before"],
    ["created=2026-03-01T00:00:00Z", "created"],
  ];
  for (const [query, param] of wrong) {
    const answer = await ask("GET", `/v1/events?${query}`, { key: own.apiKey });
    expect([query, refusalOf(answer)]).toEqual([query, invalid(param)]);
  }
  expect((await ask("GET", "/v1/events", {})).status).toBe(401);
});
