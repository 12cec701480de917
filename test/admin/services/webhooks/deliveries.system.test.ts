/** Webhook deliveries over the wire: test events, lists and resends. WEBHOOK-2 */
import { randomUUID } from "node:crypto";
import { describe, expect } from "vitest";
import { defaultTaskQueue, webhookQueue } from "../../../../workflows/contract.ts";
import { perFile } from "../../../support/file-fixture.ts";
import { countDeliveries, tables } from "../../../support/rows.ts";
import { addDelivery, addEvent, failing } from "../../../support/webhook-builder.ts";
import { type ResendFixture, resendsInCalls, resendsWhatWasMissed } from "./resend-cases.ts";
import {
  call,
  day,
  url,
  type WebhooksFixture,
  webhooksTest,
  wokenDeliveries,
} from "./webhooks-fixture.ts";

const conflict = "idempotency_conflict Idempotency-Key";

const test = webhooksTest.extend(
  "resendFixture",
  perFile,
  ({ system, admin, client, own, other, endpoint }) =>
    (): ResendFixture => {
      return {
        system,
        admin,
        client,
        own,
        other,
        endpoint: (change, of) => endpoint(change, of).then((created) => created.endpoint),
      };
    },
);

describe("a test event", () => {
  test("is delivered at once, once for an Idempotency-Key, with a rising sequence", async ({
    system,
    admin,
    client,
    own,
    rows,
    endpoint,
  }) => {
    const { endpoint: made } = await endpoint({ kinds: ["invoice.paid"] });
    const at = { ...own, id: made.id };
    const send = async (options = {}) =>
      (await admin.done(call("SendTestEvent"), at, options)).delivery;
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

    await tables(system.pool).idempotencyKey.deleteMany();
    expect((await send({ idempotencyKey: "test-1" })).id).toBe(first.id);
    await tables(system.pool).idempotencyKey.deleteMany();
    const elsewhere = { ...own, id: (await endpoint()).endpoint.id };
    expect(
      await admin.refused(call("SendTestEvent"), elsewhere, { idempotencyKey: "test-1" }),
    ).toBe(conflict);
    // A test event is sent without the pause after failures.
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
    // The sequence also rises after earlier events were deleted.
    await tables(system.pool).webhookDelivery.deleteMany({ where: { endpointId: made.id } });
    await tables(system.pool).event.deleteMany({ where: { objectId: made.id } });
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
  const event = (
    system: WebhooksFixture["system"],
    own: WebhooksFixture["own"],
    type: string,
    daysAgo: number,
    of = own,
  ) => addEvent(system.pool, of.organisation, type, daysAgo);
  const delivery = (
    system: WebhooksFixture["system"],
    own: WebhooksFixture["own"],
    eventId: string,
    endpointId: string,
    state: string,
    of = own,
  ) => addDelivery(system.pool, of.organisation, eventId, endpointId, state);

  test("are listed by endpoint, state, type and time", async ({
    system,
    admin,
    own,
    other,
    rows,
    endpoint,
  }) => {
    const { endpoint: left } = await endpoint();
    const { endpoint: right } = await endpoint();
    const [paid, made] = [
      await event(system, own, "invoice.paid", 0),
      await event(system, own, "customer.created", 0),
    ];
    const ids = [
      await delivery(system, own, paid, left.id, "delivered"),
      await delivery(system, own, made, left.id, "exhausted"),
    ];
    ids.push(await delivery(system, own, made, right.id, "pending"));
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
      `INSERT INTO webhook_attempts
      (organisation_id, delivery_id, number, at, latency_ms, status, error, answer)
       SELECT $1, $2, n, now(), 10 + n, CASE WHEN n > 1 THEN 500 END, 'failed',
       CASE WHEN n > 1 THEN 'busy' END FROM generate_series(1, 101) n`,
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

  test("are resent in every state, and the waiting workflow is signalled", async ({
    system,
    admin,
    client,
    own,
    rows,
    endpoint,
  }) => {
    const { endpoint: made } = await endpoint();
    const states = ["pending", "delivered", "exhausted", "cancelled"];
    const ids = await Promise.all(
      states.map(async (state) =>
        delivery(system, own, await event(system, own, "invoice.paid", 1), made.id, state),
      ),
    );
    const began = Date.now();
    const resend = async (id: string | undefined) =>
      (await admin.done(call("ResendWebhookDelivery"), { ...own, id })).delivery;
    for (const [index, id] of ids.entries()) {
      const sent = await resend(id);
      expect(sent).toMatchObject({ state: "WEBHOOK_DELIVERY_STATE_PENDING", attempts: 1 });
      expect(sent.finishedAt).toBeUndefined();
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
    const due = { id: ids[0] ?? "", dueAt: { lte: new Date() } };
    expect(await countDeliveries(system.pool, due)).toBe(1);
    await admin.done(call("DisableWebhookEndpoint"), { ...own, id: made.id, reason: "No" });
    expect(await admin.refused(call("ResendWebhookDelivery"), { ...own, id: ids[1] })).toBe(
      "invalid_state",
    );
  });

  test("of events that an endpoint missed since an instant are created or pending again", ({
    resendFixture,
  }) => resendsWhatWasMissed(resendFixture()));

  test("of more events than one call processes are resent once by a series of calls", ({
    resendFixture,
  }) => resendsInCalls(resendFixture()));
});

test("a signing secret is in no log, and in tables only encrypted", async ({
  secrets,
  expectHiddenSecrets,
}) => {
  expect(secrets.size).toBeGreaterThan(5);
  await expectHiddenSecrets();
});
