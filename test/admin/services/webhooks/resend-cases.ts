/** The cases of a resend of all events that an endpoint missed, for deliveries.system.test.ts. */
import { randomUUID } from "node:crypto";
import type { Client } from "@temporalio/client";
import { expect } from "vitest";
import { deliveriesWorkflowId } from "../../../../workflows/contract.ts";
import { deliveriesOf } from "../../../support/rows.ts";
import { type TestSystem, until } from "../../../support/system.ts";
import { addDelivery, addEvent } from "../../../support/webhook-builder.ts";
import type { AdminAsk } from "../request.ts";

const day = 24 * 60 * 60 * 1000;
const method = "WebhookService/ResendWebhookDeliveries";

/** A system without deliveries, an operator's calls, and a function that creates an endpoint. */
export interface ResendFixture {
  readonly system: TestSystem;
  readonly admin: AdminAsk;
  readonly client: Client;
  readonly own: Owner;
  readonly other: Owner;
  endpoint(change: object, of: Owner): Promise<{ readonly id: string }>;
}

interface Owner {
  readonly organisation: string;
}

/** Exhausted deliveries and events without one become pending, once for two concurrent calls. */
export async function resendsWhatWasMissed(fixture: ResendFixture): Promise<void> {
  const { system, admin, client, own, other } = fixture;
  const event = (type: string, daysAgo: number, of = other) =>
    addEvent(system.pool, of.organisation, type, daysAgo);
  const delivery = (eventId: string, endpointId: string, state: string) =>
    addDelivery(system.pool, other.organisation, eventId, endpointId, state);
  const made = await fixture.endpoint({ kinds: ["invoice.paid", "customer.created"] }, other);
  const at = { ...other, id: made.id };
  const daysAgo = (days: number) => ({ since: new Date(Date.now() - days * day).toISOString() });
  const resend = (days: number, more = {}) =>
    admin.done(method, { ...at, ...daysAgo(days), ...more });
  const standing = async (): Promise<Record<string, string>> => {
    const found = await deliveriesOf(system.pool, { endpointId: made.id });
    const now = new Date();
    return Object.fromEntries(
      found.map(({ eventId, state, dueAt }) => [
        eventId,
        dueAt !== null && dueAt <= now ? `${state} now` : state,
      ]),
    );
  };
  const old = await event("invoice.paid", 6);
  const events: string[] = [];
  for (const state of ["delivered", "exhausted", "cancelled", "pending"]) {
    const id = await event("invoice.paid", 4);
    await delivery(id, made.id, state);
    events.push(id);
  }
  const [delivered = "", exhausted = "", given = "", pending = ""] = events;
  await event("invoice.paid", 1, own);
  await event("invoice.voided", 1);
  const wrongKind = await event("subscription.ended", 1);
  await delivery(wrongKind, made.id, "exhausted");
  const missed = await event("customer.created", 1);
  await admin.done("WebhookService/SendTestEvent", at);
  const began = async () =>
    (await deliveriesOf(system.pool, { eventId: pending })).map(({ beganAt }) => beganAt);
  const before = await began();
  const { id: last } = await admin.lastEntry();

  expect(await resend(0.5)).toEqual({});
  expect((await admin.lastEntry()).id).toBe(last);
  const both = await Promise.all([resend(5), resend(5)]);
  expect(both).toEqual(expect.arrayContaining([{ resent: 2, added: 1 }, {}]));
  const now = await standing();
  expect([now[exhausted], now[given], now[missed]]).toEqual([
    "pending now",
    "pending now",
    "pending now",
  ]);
  expect([now[delivered], now[wrongKind], now[old]]).toEqual(["delivered", "exhausted", undefined]);
  expect([Object.keys(now).length, await began()]).toEqual([7, before]);
  expect(await admin.lastEntry()).toMatchObject({
    targetKind: "webhook_endpoint",
    target: made.id,
    after: { include_delivered: false, resent: 2, added: 1 },
  });
  const deliveries = client.workflow.getHandle(deliveriesWorkflowId(made.id));
  const { status } = await until("the engine has it", () =>
    deliveries.describe().catch(() => null),
  );
  expect(status.name).toBe("RUNNING");
  expect(await resend(5, { includeDelivered: true })).toEqual({ resent: 1 });
  // A window, and kinds among those of the endpoint.
  const window = { until: new Date(Date.now() - 5.5 * day).toISOString() };
  expect(await resend(7, { ...window, kinds: ["customer.created"] })).toEqual({});
  expect(await resend(5.4, window)).toEqual({});
  expect(await resend(7, { ...window, kinds: ["invoice.paid"] })).toEqual({ added: 1 });
  expect((await standing())[old]).toBe("pending now");

  const refused = (given: object) => admin.refused(method, { ...at, ...given });
  expect(await refused(daysAgo(31))).toBe("invalid_parameter since");
  expect(await refused({ since: "monday" })).toBe("invalid_parameter since");
  expect(await refused({ ...daysAgo(1), until: "monday" })).toBe("invalid_parameter until");
  expect(await refused({ ...daysAgo(1), kinds: ["paid"] })).toBe("invalid_parameter kinds.0");
  await admin.done("WebhookService/DisableWebhookEndpoint", { ...at, reason: "No" });
  expect(await refused(daysAgo(1))).toBe("invalid_state");
}

/**
 * Two calls over 20,001 events: what the first one sent, and was delivered meanwhile, the second
 * one leaves alone.
 */
export async function resendsInCalls({ system, admin, endpoint }: ResendFixture): Promise<void> {
  const { organisationId: organisation } = await system.organisation();
  const { id } = await endpoint({ kinds: ["invoice.paid"] }, { organisation });
  const first = await addDelivery(
    system.pool,
    organisation,
    await addEvent(system.pool, organisation, "invoice.paid", 1),
    id,
    "delivered",
  );
  const { rows } = await system.pool.query(
    `WITH made AS (
       INSERT INTO events (id, organisation_id, type, object_kind, object_id, sequence, body)
       SELECT gen_random_uuid(), $1, 'customer.updated', 'customer', gen_random_uuid(), 1, '{}'
       FROM generate_series(1, 19999) RETURNING id, seq
     ) SELECT id FROM made ORDER BY seq DESC LIMIT 1`,
    [organisation],
  );
  const missed = await addEvent(system.pool, organisation, "invoice.paid", 0);
  const since = new Date(Date.now() - 2 * day).toISOString();
  const asked = { organisation, id, since, includeDelivered: true };
  const answer = await admin.done(method, asked);
  expect(answer).toEqual({ resent: 1, lastEvent: rows[0].id });
  await system.pool.query(
    "UPDATE webhook_deliveries SET state = 'delivered', due_at = NULL, finished_at = now() " +
      "WHERE id = $1",
    [first],
  );
  expect(await admin.done(method, { ...asked, afterEvent: answer.lastEvent })).toEqual({
    added: 1,
  });
  expect(await deliveriesOf(system.pool, { endpointId: id })).toMatchObject([
    { state: "delivered" },
    { eventId: missed, state: "pending" },
  ]);
  // Of a series that takes its time the since of the first call may come to be too long ago.
  const old = { ...asked, since: new Date(Date.now() - 31 * day).toISOString() };
  expect(await admin.done(method, { ...old, includeDelivered: false, afterEvent: missed })).toEqual(
    {},
  );
  expect(await admin.refused(method, old)).toBe("invalid_parameter since");
  for (const afterEvent of [randomUUID(), "first"]) {
    expect(await admin.refused(method, { ...asked, afterEvent })).toBe(
      "invalid_parameter after_event",
    );
  }
}
