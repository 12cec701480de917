/** Webhook endpoints, test events, deliveries and sending them again, over the wire and without anybody who delivers. Spec: Events; decisions §8. */
import { randomBytes, randomUUID } from "node:crypto";
import { Client, Connection } from "@temporalio/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventTypes } from "../../../src/domain/events/event.ts";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { defaultTaskQueue, webhookQueue } from "../../../workflows/contract.ts";
import { startSystem, type TestSystem } from "../../support/system.ts";
import { type AdminAsk, askWith, codeOf } from "./request.ts";
import { type ResendWorld, resendsInCalls, resendsWhatWasMissed } from "./resend-cases.ts";
import { addDelivery, addEvent, failing, openSecrets, wokenDeliveries } from "./webhook-rows.ts";

const key = randomBytes(32);
const url = "https://hooks.example.com/billing";
const day = 24 * 60 * 60 * 1000;
const conflict = "idempotency_conflict Idempotency-Key";

let system: TestSystem;
let admin: AdminAsk;
let connection: Connection;
let client: Client;
let own = { organisation: "" };
let other = { organisation: "" };
/** Every secret that was shown. */
const secrets = new Set<string>();

beforeAll(async () => {
  system = await startSystem({ without: ["worker"], env: { SECRET_KEY: key.toString("base64") } });
  admin = askWith(system, await system.operator("owner", "Olga"));
  own = { organisation: (await system.organisation()).organisationId };
  other = { organisation: (await system.organisation()).organisationId };
  connection = await Connection.connect({ address: system.temporal.address });
  client = new Client({ connection, namespace: system.temporal.namespace });
});

afterAll(async () => {
  await connection?.close();
  await system?.stop();
});

const call = (method: string) => `WebhookService/${method}`;

/** A new endpoint and its secret. */
async function endpoint(change: object = {}, of = own) {
  const made = await admin.done(call("CreateWebhookEndpoint"), { ...of, url, ...change });
  secrets.add(made.secret);
  return made;
}

async function rows(text: string, values: readonly unknown[]) {
  return (await system.pool.query(text, [...values])).rows;
}

/** The secrets of an endpoint as whoever signs opens them. */
const encrypted = (id: string) => openSecrets(system.pool, createEncryption(key), id);

describe("endpoints", () => {
  test("are made, read, listed and changed, each change with its entry, and their secret is shown once and encrypted", async () => {
    const create = {
      ...own,
      url,
      description: "Shop",
      kinds: ["invoice.paid", "subscription.created"],
    };
    const asked = { idempotencyKey: "endpoint-1" };
    const { endpoint: made, secret } = await admin.done(
      call("CreateWebhookEndpoint"),
      create,
      asked,
    );
    secrets.add(secret);
    const [{ id }, created] = [made, expect.any(String)];
    expect(made).toEqual({ id, ...create, status: "WEBHOOK_ENDPOINT_STATUS_ENABLED", created });
    expect(secret).toMatch(/^whsec_[0-9A-Za-z_-]{43}$/);
    expect(await encrypted(id)).toEqual([secret]);
    expect(await admin.lastEntry()).toMatchObject({
      targetKind: "webhook_endpoint",
      target: id,
      operation: "billing.admin.v1.WebhookService/CreateWebhookEndpoint",
      after: { url, kinds: create.kinds, status: "enabled" },
    });
    // A repeat has no secret, also after the key's 24 hours, and makes nothing.
    expect(await admin.done(call("CreateWebhookEndpoint"), create, asked)).toEqual({
      endpoint: made,
    });
    await system.pool.query("DELETE FROM idempotency_keys");
    expect(await admin.done(call("CreateWebhookEndpoint"), create, asked)).toEqual({
      endpoint: made,
    });
    await system.pool.query("DELETE FROM idempotency_keys");
    expect(await admin.refused(call("CreateWebhookEndpoint"), { ...create, ...other }, asked)).toBe(
      conflict,
    );

    const at = { ...own, id };
    expect(await admin.done(call("GetWebhookEndpoint"), { ...own, id: id.toUpperCase() })).toEqual({
      endpoint: made,
    });
    const { id: last } = await admin.lastEntry();
    await admin.done(call("UpdateWebhookEndpoint"), { ...at, url, description: "Shop" });
    expect((await admin.lastEntry()).id).toBe(last);
    await failing(system.pool, id);
    const change = { ...at, description: "", kinds: ["invoice.paid"] };
    const changed = (await admin.done(call("UpdateWebhookEndpoint"), change)).endpoint;
    expect(changed).toMatchObject({
      url,
      kinds: ["invoice.paid"],
      failures: 6,
      pausedUntil: created,
    });
    expect(changed.description).toBeUndefined();
    // Failures of the old address say nothing of the new one.
    const moved = { ...at, url: `${url}/v2`, allKinds: true };
    const { endpoint: after } = await admin.done(call("UpdateWebhookEndpoint"), moved);
    const { description: _, kinds: __, ...rest } = made;
    expect(after).toEqual({ ...rest, url: `${url}/v2` });
    expect(await admin.lastEntry()).toMatchObject({
      before: { url, failures: 6 },
      after: { url: `${url}/v2` },
    });

    const second = (await endpoint()).endpoint;
    const page = await admin.done(call("ListWebhookEndpoints"), { ...own, limit: 1 });
    expect(page).toEqual({ data: [second], hasMore: true });
    const older = await admin.done(call("ListWebhookEndpoints"), {
      ...own,
      startingAfter: second.id,
    });
    expect(older.data).toEqual([after]);
  });

  test("are refused with what is at fault, and another organisation's is unknown", async () => {
    const theirs = (await endpoint({}, other)).endpoint;
    const create = (change: object) =>
      admin.refused(call("CreateWebhookEndpoint"), { ...own, url, ...change });
    for (const bad of [
      "http://hooks.example.com",
      "https://10.0.0.1/",
      "https://localhost/",
      "nowhere",
      "",
    ]) {
      expect([bad, await create({ url: bad })]).toEqual([bad, "invalid_parameter url"]);
    }
    expect(await create({ url: `${url}/${"x".repeat(2048)}` })).toBe("invalid_parameter url");
    expect(await create({ description: "x".repeat(256) })).toBe("invalid_parameter description");
    expect(await create({ kinds: ["invoice.paid", "invoice.sent"] })).toBe(
      "invalid_parameter kinds.1",
    );
    expect(await create({ kinds: ["webhook_endpoint.test"] })).toBe("invalid_parameter kinds.0");
    expect(await create({ kinds: ["invoice.paid", "invoice.paid"] })).toMatch(
      /^invalid_parameter kinds/,
    );
    expect(await create({ organisation: randomUUID() })).toBe("organisation_not_found");

    const { id } = theirs;
    const update = (change: object) =>
      admin.refused(call("UpdateWebhookEndpoint"), { ...other, id, ...change });
    expect(await update({ url: "https://[::1]/" })).toBe("invalid_parameter url");
    expect(await update({ kinds: ["x"] })).toBe("invalid_parameter kinds.0");
    expect(await update({ kinds: ["invoice.paid"], allKinds: true })).toBe(
      "invalid_parameter all_kinds",
    );
    expect(await admin.refused(call("DisableWebhookEndpoint"), { ...other, id })).toBe(
      "invalid_parameter reason",
    );
    const whole = (await endpoint({ kinds: [...eventTypes] }, other)).endpoint;
    expect(whole.kinds).toEqual(eventTypes);

    const since = new Date().toISOString();
    const bodies = { DisableWebhookEndpoint: { reason: "No" }, ResendWebhookDeliveries: { since } };
    const one = ["Get", "Update", "Enable", "Disable"].map((verb) => `${verb}WebhookEndpoint`);
    for (const name of [
      ...one,
      "RotateWebhookSecret",
      "SendTestEvent",
      "ResendWebhookDeliveries",
    ]) {
      for (const unknown of [theirs.id, randomUUID(), "hooks"]) {
        const body = { ...own, id: unknown, ...(bodies as Record<string, object>)[name] };
        expect([name, await admin.refused(call(name), body)]).toEqual([
          name,
          "webhook_endpoint_not_found",
        ]);
      }
    }
    const after = { ...own, startingAfter: theirs.id };
    expect(await admin.refused(call("ListWebhookEndpoints"), after)).toBe(
      "invalid_parameter starting_after",
    );
    expect(
      await rows("SELECT 1 FROM webhook_deliveries WHERE endpoint_id = $1", [theirs.id]),
    ).toEqual([]);
    const readOnly = await system.operator("read-only");
    const asReader = { key: readOnly, body: { ...own, url } };
    expect(codeOf(await system.askAdmin(call("CreateWebhookEndpoint"), asReader))).toBe(
      "insufficient_role",
    );
    expect(
      (await system.askAdmin(call("ListWebhookEndpoints"), { key: readOnly, body: own })).status,
    ).toBe(200);
  });

  test("sign with the secret of before as well for 24 hours after a rotation, and with no third one, whoever rotates again", async () => {
    const { endpoint: made, secret: first } = await endpoint();
    const at = { ...own, id: made.id };
    const rotate = async (drops: object = {}) => {
      const rotated = await admin.done(call("RotateWebhookSecret"), {
        ...own,
        id: made.id.toUpperCase(),
        ...drops,
      });
      secrets.add(rotated.secret);
      return rotated;
    };
    const before = Date.now();
    const second = await rotate();
    expect(await encrypted(made.id)).toEqual([second.secret, first]);
    const { previousSecretUntil, ...rest } = second.endpoint;
    expect(rest).toEqual(made);
    expect(Date.parse(previousSecretUntil) - before).toBeGreaterThanOrEqual(day);
    expect(Date.parse(previousSecretUntil) - Date.now()).toBeLessThanOrEqual(day);
    expect(await admin.lastEntry()).toMatchObject({
      before: { previous_secret_until: null },
      after: { previous_secret_until: previousSecretUntil },
    });
    // Whoever had no answer and asks again does not end the secret that receivers have.
    const again = await admin.ask(call("RotateWebhookSecret"), at);
    expect([codeOf(again), again.json.message]).toEqual([
      "invalid_state",
      expect.stringContaining(previousSecretUntil),
    ]);
    expect(await encrypted(made.id)).toEqual([second.secret, first]);
    await system.pool.query(
      "UPDATE webhook_endpoints SET previous_until = now() + interval '1 h' WHERE id = $1",
      [made.id],
    );
    const third = await rotate({ dropCurrent: true });
    expect(await encrypted(made.id)).toEqual([third.secret, first]);
    expect(Date.parse(third.endpoint.previousSecretUntil) - before).toBeGreaterThanOrEqual(day);
    const fourth = await rotate({ dropPrevious: true });
    expect(await encrypted(made.id)).toEqual([fourth.secret, third.secret]);
    expect(await admin.lastEntry()).toMatchObject({
      after: { drop_previous: true, drop_current: false },
    });
    const fifth = await rotate({ dropPrevious: true, dropCurrent: true });
    expect([await encrypted(made.id), fifth.endpoint]).toEqual([[fifth.secret], made]);
    const both = await Promise.all([1, 2].map(() => admin.ask(call("RotateWebhookSecret"), at)));
    const [sixth] = both.filter(({ status }) => status === 200);
    secrets.add(sixth?.json.secret);
    expect(both.filter(({ status }) => status !== 200).map(codeOf)).toEqual(["invalid_state"]);
    expect(await encrypted(made.id)).toEqual([sixth?.json.secret, fifth.secret]);
    await system.pool.query("UPDATE webhook_endpoints SET previous_until = now() WHERE id = $1", [
      made.id,
    ]);
    expect((await admin.done(call("GetWebhookEndpoint"), at)).endpoint).toEqual(made);
    const seventh = await rotate({ dropCurrent: true });
    expect([await encrypted(made.id), seventh.endpoint]).toEqual([[seventh.secret], made]);
  });

  test("are disabled with a reason and enabled again without their failures; 20 can be enabled", async () => {
    const { endpoint: made } = await endpoint();
    const at = { ...own, id: made.id };
    await failing(system.pool, made.id);
    const enabled = (await admin.done(call("EnableWebhookEndpoint"), at)).endpoint;
    expect(enabled).toEqual(made);
    expect(await admin.lastEntry()).toMatchObject({
      before: { failures: 6 },
      after: { failures: 0 },
    });
    const disable = (reason: string) =>
      admin.done(call("DisableWebhookEndpoint"), { ...at, reason });
    await failing(system.pool, made.id);
    const off = (await disable("Moves")).endpoint;
    expect(off).toMatchObject({
      status: "WEBHOOK_ENDPOINT_STATUS_DISABLED",
      disabledReason: "Moves",
    });
    expect(off.disabledAt).toEqual(expect.any(String));
    const { id: last } = await admin.lastEntry();
    expect((await disable("Moves again")).endpoint).toEqual(off);
    expect((await admin.lastEntry()).id).toBe(last);
    const disabled = { ...own, status: "WEBHOOK_ENDPOINT_STATUS_DISABLED" };
    expect((await admin.done(call("ListWebhookEndpoints"), disabled)).data).toEqual([off]);

    const { data } = await admin.done(call("ListWebhookEndpoints"), {
      ...own,
      status: made.status,
    });
    for (let count = data.length; count < 19; count += 1) await endpoint();
    const create = () => admin.ask(call("CreateWebhookEndpoint"), { ...own, url });
    const answers = await Promise.all([create(), create()]);
    const [full] = answers.filter(({ status }) => status === 200);
    secrets.add(full?.json.secret);
    expect(answers.filter(({ status }) => status !== 200).map(codeOf)).toEqual(["invalid_state"]);
    expect(await admin.refused(call("EnableWebhookEndpoint"), at)).toBe("invalid_state");
    await admin.done(call("DisableWebhookEndpoint"), {
      ...own,
      id: full?.json.endpoint.id,
      reason: "Room",
    });
    expect((await admin.done(call("EnableWebhookEndpoint"), at)).endpoint).toEqual(made);
    await system.pool.query(
      "UPDATE webhook_endpoints SET status = 'disabled', disabled_reason = 'Test', disabled_at = now() WHERE organisation_id = $1",
      [own.organisation],
    );
  });
});

describe("a test event", () => {
  test("is an event of the endpoint's own with a number that rises, on its way at once, and one for a key", async () => {
    const { endpoint: made } = await endpoint({ kinds: ["invoice.paid"] });
    const at = { ...own, id: made.id };
    const send = async (asked = {}) =>
      (await admin.done(call("SendTestEvent"), at, asked)).delivery;
    const first = await send({ idempotencyKey: "test-1" });
    const type = "webhook_endpoint.test";
    const state = "WEBHOOK_DELIVERY_STATE_PENDING";
    expect(first).toMatchObject({ endpoint: made.id, objectId: made.id, eventType: type, state });
    expect(await admin.lastEntry()).toMatchObject({
      targetKind: "webhook_delivery",
      target: first.id,
    });
    const { delivery: whole } = await admin.done(call("GetWebhookDelivery"), {
      ...own,
      id: first.id,
    });
    const object = {
      id: made.id,
      object: "webhook_endpoint",
      url,
      description: "",
      kinds: ["invoice.paid"],
    };
    expect(JSON.parse(whole.body)).toEqual({
      id: first.event,
      object: "event",
      type,
      api_version: "1.0.0",
      created: first.created,
      livemode: true,
      sequence: expect.any(Number),
      data: {
        object: { ...object, status: "enabled", created: made.created },
        previous_attributes: null,
      },
    });
    expect(await wokenDeliveries(client, first.endpoint)).toMatchObject({
      status: { name: "RUNNING" },
      type: "endpointDeliveries",
      taskQueue: webhookQueue(defaultTaskQueue),
    });

    await system.pool.query("DELETE FROM idempotency_keys");
    expect((await send({ idempotencyKey: "test-1" })).id).toBe(first.id);
    await system.pool.query("DELETE FROM idempotency_keys");
    const elsewhere = { ...own, id: (await endpoint()).endpoint.id };
    expect(
      await admin.refused(call("SendTestEvent"), elsewhere, { idempotencyKey: "test-1" }),
    ).toBe(conflict);
    // Who sends by hand does not wait until failures are forgiven.
    await failing(system.pool, made.id);
    const more = await Promise.all([send(), send(), send()]);
    const shown = (await admin.done(call("GetWebhookEndpoint"), at)).endpoint;
    expect([shown.failures, shown.pausedUntil]).toEqual([6, undefined]);
    const sent = await rows(
      "SELECT id, sequence::int FROM events WHERE object_id = $1 ORDER BY sequence",
      [made.id],
    );
    expect([more.length, new Set(sent.map(({ sequence }) => sequence)).size, sent[0].id]).toEqual([
      3,
      4,
      first.event,
    ]);
    // It rises also where those of before are forgotten, 30 days later.
    await system.pool.query("DELETE FROM webhook_deliveries WHERE endpoint_id = $1", [made.id]);
    await system.pool.query("DELETE FROM events WHERE object_id = $1", [made.id]);
    const later =
      "UPDATE webhook_endpoints SET created_at = created_at - interval '30 days' WHERE id = $1";
    await system.pool.query(later, [made.id]);
    await send();
    const [last] = await rows("SELECT sequence::int FROM events WHERE object_id = $1", [made.id]);
    expect(last.sequence).toBeGreaterThan(sent[3].sequence);
    await admin.done(call("DisableWebhookEndpoint"), { ...at, reason: "No" });
    expect(await admin.refused(call("SendTestEvent"), at)).toBe("invalid_state");
  });
});

describe("deliveries", () => {
  const event = (type: string, daysAgo: number, of = own) =>
    addEvent(system.pool, of.organisation, type, daysAgo);
  const delivery = (eventId: string, endpointId: string, state: string, of = own) =>
    addDelivery(system.pool, of.organisation, eventId, endpointId, state);

  test("are listed by endpoint, state, type and time, and one is shown with its attempts and its body", async () => {
    const { endpoint: left } = await endpoint();
    const { endpoint: right } = await endpoint();
    const [paid, made] = [await event("invoice.paid", 0), await event("customer.created", 0)];
    const ids = [
      await delivery(paid, left.id, "delivered"),
      await delivery(made, left.id, "exhausted"),
    ];
    ids.push(await delivery(made, right.id, "pending"));
    const list = async (filters: object) =>
      (await admin.done(call("ListWebhookDeliveries"), { ...own, ...filters })).data?.map(
        ({ id }: { id: string }) => ids.indexOf(id),
      );
    expect(await list({ endpoint: left.id })).toEqual([1, 0]);
    expect(await list({ endpoint: left.id, state: "WEBHOOK_DELIVERY_STATE_DELIVERED" })).toEqual([
      0,
    ]);
    expect(await list({ endpoint: left.id, state: "WEBHOOK_DELIVERY_STATE_EXHAUSTED" })).toEqual([
      1,
    ]);
    expect(await list({ endpoint: right.id, state: "WEBHOOK_DELIVERY_STATE_PENDING" })).toEqual([
      2,
    ]);
    expect(await list({ endpoint: left.id, eventType: "customer.created" })).toEqual([1]);
    expect(await list({ limit: 1 })).toEqual([2]);
    expect(await list({ limit: 2, startingAfter: ids[2] })).toEqual([1, 0]);
    expect(await list({ endpoint: randomUUID() })).toBeUndefined();
    const [{ until }] = await rows("SELECT now() AS until", []);
    expect(
      await list({ since: new Date(until.getTime() + 1_000).toISOString(), endpoint: left.id }),
    ).toBeUndefined();
    expect(await list({ since: new Date(until - day).toISOString(), endpoint: left.id })).toEqual([
      1, 0,
    ]);
    const refused = (filters: object) =>
      admin.refused(call("ListWebhookDeliveries"), { ...own, ...filters });
    expect(await refused({ since: "yesterday" })).toBe("invalid_parameter since");
    expect(await refused({ endpoint: "hooks" })).toBe("invalid_parameter endpoint");
    expect(await refused({ startingAfter: randomUUID() })).toBe("invalid_parameter starting_after");

    await system.pool.query(
      `INSERT INTO webhook_attempts (organisation_id, delivery_id, number, at, latency_ms, status, error, answer)
       SELECT $1, $2, n, now(), 10 + n, CASE WHEN n > 1 THEN 500 END, 'failed', CASE WHEN n > 1 THEN 'busy' END FROM generate_series(1, 101) n`,
      [own.organisation, ids[1]],
    );
    const { delivery: whole } = await admin.done(call("GetWebhookDelivery"), {
      ...own,
      id: ids[1],
    });
    expect(whole).toMatchObject({ event: made, lastStatus: 500, attempts: 1, body: "{}" });
    expect(whole.tries).toHaveLength(100);
    const at = expect.any(String);
    expect(whole.tries[0]).toEqual({
      number: 2,
      at,
      latencyMs: 12,
      status: 500,
      error: "failed",
      answer: "busy",
    });
    expect(whole.tries[99].number).toBe(101);
    for (const id of [randomUUID(), "x"]) {
      for (const method of ["GetWebhookDelivery", "ResendWebhookDelivery"]) {
        expect(await admin.refused(call(method), { ...own, id })).toBe(
          "webhook_delivery_not_found",
        );
        expect(await admin.refused(call(method), { ...other, id: ids[1] })).toBe(
          "webhook_delivery_not_found",
        );
      }
    }
  });

  test("are sent again in every state, and the run that may wait for the next attempt is woken", async () => {
    const { endpoint: made } = await endpoint();
    const states = ["pending", "delivered", "exhausted", "cancelled"];
    const ids = await Promise.all(
      states.map(async (state) => delivery(await event("invoice.paid", 1), made.id, state)),
    );
    const began = Date.now();
    const resend = async (id: string | undefined) =>
      (await admin.done(call("ResendWebhookDelivery"), { ...own, id })).delivery;
    for (const [index, id] of ids.entries()) {
      const sent = await resend(id);
      expect(sent).toMatchObject({ state: "WEBHOOK_DELIVERY_STATE_PENDING", attempts: 1 });
      expect(sent.settledAt).toBeUndefined();
      expect(Date.parse(sent.began)).toBeGreaterThan(began - 60_000);
      expect(await admin.lastEntry()).toMatchObject({
        target: id,
        before: { state: states[index] },
        after: { state: "pending" },
      });
    }
    const sent = (await admin.done(call("GetWebhookDelivery"), { ...own, id: ids[0] })).delivery;
    await wokenDeliveries(client, sent.endpoint, 4);
    await failing(system.pool, made.id);
    await resend(ids[0]);
    expect(await rows("SELECT open_until FROM webhook_endpoints WHERE id = $1", [made.id])).toEqual(
      [{ open_until: null }],
    );
    expect((await wokenDeliveries(client, sent.endpoint, 5)).status.name).toBe("RUNNING");
    expect(
      await rows("SELECT due_at <= now() AS due FROM webhook_deliveries WHERE id = $1", [ids[0]]),
    ).toEqual([{ due: true }]);
    await admin.done(call("DisableWebhookEndpoint"), { ...own, id: made.id, reason: "No" });
    expect(await admin.refused(call("ResendWebhookDelivery"), { ...own, id: ids[1] })).toBe(
      "invalid_state",
    );
  });

  test("of all events that an endpoint has not had since an instant are made or pending again, and no others", () =>
    resendsWhatWasMissed(resendWorld()));

  test("of more events than one call looks at are sent again by a series of calls, none of them twice", () =>
    resendsInCalls(resendWorld()));
});

function resendWorld(): ResendWorld {
  return {
    system,
    admin,
    client,
    own,
    other,
    endpoint: (change, of) => endpoint(change, of).then((made) => made.endpoint),
  };
}

test("no signing secret stands in a log, in the audit log, or unencrypted in a table", async () => {
  const tables = [
    "audit_log",
    "webhook_endpoints",
    "webhook_deliveries",
    "events",
    "idempotency_keys",
  ];
  const kept = await Promise.all(
    tables.map((table) => rows(`SELECT t::text AS text FROM ${table} t`, [])),
  );
  const text = kept
    .flat()
    .map((row) => row.text)
    .join("\n");
  const hex = (secret: string) => Buffer.from(secret).toString("hex");
  expect(secrets.size).toBeGreaterThan(10);
  for (const secret of secrets) {
    expect(
      [secret, hex(secret)].some(
        (form) => text.includes(form) || system.api.output().includes(form),
      ),
    ).toBe(false);
  }
});
