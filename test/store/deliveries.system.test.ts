/**
 * Deliveries in the database: which are due, when trying ends, and attempts that are written while others write.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDelivery } from "../../src/activities/deliver.ts";
import { takeDueDeliveries } from "../../src/store/deliveries-due.ts";
import { about, type DeliveryWorld, deliveryWorld, justNow } from "../activities/delivery-world.ts";
import { until } from "../support/system.ts";
import type { MadeDelivery } from "../support/webhook-rows.ts";

let world: DeliveryWorld;

beforeAll(async () => {
  world = await deliveryWorld();
});

afterAll(() => world?.stop());

describe("after 20 hours", () => {
  const old = (delivery: MadeDelivery, hours: number) =>
    world.changeDelivery(delivery, `began_at = now() - ${hours} * interval '1 hour'`);
  const triedBefore = ({ deliveryId }: MadeDelivery, hours: number) =>
    world.pool.query("UPDATE webhook_attempts SET at = now() - $2 * interval '1 hour' WHERE delivery_id = $1", [
      deliveryId,
      hours,
    ]);

  test("a delivery that was tried is exhausted, and what a late attempt brought counts", async () => {
    const { receiver, deliver, deliveryRow, attemptsOf, waiting, failed, changeDelivery } = world;
    const { path, delivery } = await waiting();
    receiver.answer(path, { status: 500 });
    await failed(delivery);
    await triedBefore(delivery, 8);
    await old(delivery, 20.1);
    expect(await deliver.attemptDelivery(delivery)).toBe("exhausted");
    expect(await deliveryRow(delivery)).toMatchObject({ state: "exhausted", due_at: null, attempts: 1 });
    expect(receiver.received(path)).toHaveLength(1);
    expect(await deliver.exhaustDelivery(delivery)).toBe("exhausted");
    // Asked for again: all begins anew.
    await changeDelivery(delivery, "state = 'pending', due_at = now(), settled_at = NULL, began_at = now()");
    expect((await failed(delivery)).nextMs).toBe(30_000);
    expect(await deliver.exhaustDelivery(delivery)).toBeNull();
    receiver.answer(path, {});
    expect(await deliver.attemptDelivery(delivery)).toBe("delivered");
    expect((await attemptsOf(delivery)).map(({ number }) => number)).toEqual([1, 2, 3]);
  });

  test("one that nobody tried, because no worker was there, has its 20 hours still", async () => {
    const { receiver, deliver, deliveryRow, waiting, failed } = world;
    const { path, deliveries } = await waiting(2);
    const [tried, given] = deliveries as [MadeDelivery, MadeDelivery];
    receiver.answer(path, { status: 500 });
    await old(tried, 30);
    expect((await failed(tried)).nextMs).toBe(30_000);
    expect((await failed(tried)).nextMs).toBe(90_000);
    await old(given, 30);
    expect(await deliver.exhaustDelivery(given)).toBeNull();
    expect(await deliveryRow(given)).toMatchObject({ state: "pending", began_at: justNow });
  });

  test("one that was tried once, before all workers were away for long, has its 20 hours still, within 30 days", async () => {
    const { receiver, deliver, deliveryRow, waiting, failed, changeDelivery, changeEndpoint } = world;
    const { path, endpoint, deliveries } = await waiting(2);
    receiver.answer(path, { status: 500 });
    for (const delivery of deliveries) {
      await failed(delivery);
      await triedBefore(delivery, 20);
      await old(delivery, 20.1);
    }
    const [sent, given] = deliveries as [MadeDelivery, MadeDelivery];
    // By whichever process is the first to come back, or by the engine, whose time was over meanwhile.
    expect((await failed(sent)).nextMs).toBe(30_000);
    expect(receiver.received(path)).toHaveLength(3);
    expect((await failed(sent)).nextMs).toBe(90_000);
    expect(await deliver.exhaustDelivery(given)).toBeNull();
    expect(await deliveryRow(given)).toMatchObject({ state: "pending", began_at: justNow });
    // A breaker at which nobody was either is no reason, one that was tried meanwhile is.
    const openedBefore = (hours: number) =>
      changeEndpoint(endpoint, `failures = 9, open_until = now() - ${hours} * interval '1 hour'`);
    await old(given, 20.1);
    await openedBefore(9);
    expect(await deliver.exhaustDelivery(given)).toBeNull();
    await old(given, 20.1);
    await openedBefore(8);
    expect(await deliver.exhaustDelivery(given)).toBe("exhausted");
    // However long nobody was there, some day it ends.
    await openedBefore(9);
    await old(sent, 20.1);
    await triedBefore(sent, 20);
    await changeDelivery(sent, "created_at = now() - interval '30 days'");
    expect(await deliver.exhaustDelivery(sent)).toBe("exhausted");
  });

  test("one that was held by the breaker all the time is exhausted without an attempt", async () => {
    const { deliver, endpointRow, waiting, changeEndpoint } = world;
    const { endpoint, delivery } = await waiting();
    await changeEndpoint(endpoint, "failures = 9, failing_since = now(), open_until = now() + interval '15 minutes'");
    await old(delivery, 20);
    expect(await deliver.exhaustDelivery(delivery)).toBe("exhausted");
    expect(await endpointRow(endpoint)).toMatchObject({ status: "enabled" });
  });

  test("an endpoint that took nothing for five days is disabled with the delivery that is exhausted then", async () => {
    const { deliver, endpointRow, waiting, told, changeEndpoint } = world;
    const { endpoint, deliveries } = await waiting(2);
    const [last, next] = deliveries as [MadeDelivery, MadeDelivery];
    const dead = "failures = 9, open_until = now(), failing_since = now() - interval '5 days'";
    await changeEndpoint(endpoint, dead);
    await old(last, 20);
    expect(await deliver.exhaustDelivery(last)).toBe("exhausted");
    const row = await endpointRow(endpoint);
    expect(row).toMatchObject({ status: "disabled", disabled_reason: "It took nothing for five days" });
    expect(told).toContain(`${endpoint.id} is disabled: It took nothing for five days`);
    expect(await deliver.attemptDelivery(next)).toBe("cancelled");
  });
});

test("what is due is taken once, the longest due first, and again only where nobody came to it within two minutes", async () => {
  const { receiver, deliveryRow, pool, rows, changeDelivery } = world;
  const own = await rows.organisation();
  const endpoint = await rows.endpoint(own, receiver.url("/due"));
  const deliveries = await rows.events([endpoint], 3);
  const [first, second, third] = deliveries as [MadeDelivery, MadeDelivery, MadeDelivery];
  await changeDelivery(first, "due_at = now() - interval '1 minute'");
  await changeDelivery(second, "due_at = now() - interval '2 minutes'");
  await changeDelivery(third, "due_at = now() + interval '1 minute'");
  const order = ({ body: _, ...rest }: MadeDelivery) => rest;
  expect(await takeDueDeliveries(pool, own, 1)).toEqual([order(second)]);
  const both = await Promise.all([takeDueDeliveries(pool, own, 10), takeDueDeliveries(pool, own, 10)]);
  expect(both.flat()).toEqual([order(first)]);
  expect(await takeDueDeliveries(pool, own, 10)).toEqual([]);
  expect(await deliveryRow(first)).toMatchObject({ state: "pending", in_ms: about(120_000) });
  await changeDelivery(third, "state = 'delivered', due_at = NULL, settled_at = now()");
  expect(await takeDueDeliveries(pool, own, 10)).toEqual([]);
});

test("an attempt is written whatever else is written to its endpoint and delivery at that moment", async () => {
  const { deliver, deliveryRow, attemptsOf, waiting, pool } = world;
  const { endpoint, delivery } = await waiting();
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    await client.query("UPDATE webhook_endpoints SET description = 'new' WHERE id = $1", [endpoint.id]);
    await client.query("UPDATE webhook_deliveries SET due_at = now() WHERE id = $1", [delivery.deliveryId]);
    const attempt = deliver.attemptDelivery(delivery);
    await until("it waits for the endpoint", async () => {
      const { rows: held } = await client.query(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      return held.length > 0;
    });
    await client.query("COMMIT");
    expect(await attempt).toBe("delivered");
  } finally {
    client.release();
  }
  expect(await deliveryRow(delivery)).toMatchObject({ state: "delivered", attempts: 1 });
  expect(await attemptsOf(delivery)).toHaveLength(1);
});

test("two attempts of one delivery at once, as after a worker was taken for dead, are both kept", async () => {
  const { receiver, deliver, attemptsOf, waiting, parts } = world;
  const { path, delivery } = await waiting();
  receiver.answer(path, { onceCame: 2 });
  const other = createDelivery(parts());
  expect(await Promise.all([deliver.attemptDelivery(delivery), other.attemptDelivery(delivery)])).toEqual([
    "delivered",
    "delivered",
  ]);
  expect((await attemptsOf(delivery)).map(({ number }) => number)).toEqual([1, 2]);
  expect(new Set(receiver.received(path).map(({ body }) => JSON.parse(body).id))).toEqual(new Set([delivery.eventId]));
});

test("what fails after another attempt was taken leaves the delivery as it was shown", async () => {
  const { deliver, deliveryRow, attemptsOf, waiting, record } = world;
  const { delivery } = await waiting();
  expect(await deliver.attemptDelivery(delivery)).toBe("delivered");
  const late = { status: 500, error: "the endpoint answered 500", verdict: "failed" } as const;
  expect((await record(delivery, late)).state).toBe("delivered");
  expect((await record(delivery, { status: 410, error: "410 Gone", verdict: "gone" })).state).toBe("delivered");
  const shown = { state: "delivered", attempts: 3, last_status: 200, last_error: null, due_at: null };
  expect(await deliveryRow(delivery)).toMatchObject(shown);
  expect((await attemptsOf(delivery)).map(({ status }) => status)).toEqual([200, 500, 410]);
});

test("what an address of before answers is nothing of the new one's: the delivery is sent there", async () => {
  const { receiver, deliver, deliveryRow, endpointRow, waiting, failed, told, record, changeEndpoint } = world;
  const { path, endpoint, deliveries } = await waiting(2);
  const [delivery, other] = deliveries as [MadeDelivery, MadeDelivery];
  receiver.answer(path, { status: 410, onceCame: 2 });
  const attempt = failed(delivery);
  await until("it was sent", async () => receiver.received(path).length === 1);
  await changeEndpoint(endpoint, `url = '${receiver.url(`${path}/new`)}'`);
  receiver.release(path);
  const thrown = { type: "EndpointFailed", message: "the endpoint answered 410", nextMs: 30_000 };
  expect(await attempt).toEqual(thrown);
  const well = { status: "enabled", disabled_reason: null, failures: 0, failing_since: null, open_until: null };
  expect(await endpointRow(endpoint)).toMatchObject(well);
  expect(told.filter((line) => line.startsWith(endpoint.id))).toEqual([]);
  const pending = { state: "pending", attempts: 1, last_status: 410, settled_at: null, in_ms: about(630_000) };
  expect(await deliveryRow(delivery)).toMatchObject(pending);
  // Neither worse nor better.
  const url = receiver.url(path);
  await record(other, { url, status: 500, error: "it failed", verdict: "failed" });
  expect(await endpointRow(endpoint)).toMatchObject(well);
  await changeEndpoint(endpoint, "failures = 3, failing_since = now()");
  expect((await record(other, { url })).state).toBe("delivered");
  expect(await endpointRow(endpoint)).toMatchObject({ failures: 3, failing_since: expect.any(Date) });
  expect(await deliver.attemptDelivery(delivery)).toBe("delivered");
  expect(receiver.received(`${path}/new`)).toHaveLength(1);
  expect(await endpointRow(endpoint)).toMatchObject(well);
});
