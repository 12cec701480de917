/**
 * Attempts are recorded while other processes write to their endpoint and deliveries. WEBHOOK-5.
 */
import { expect } from "vitest";
import { createDelivery } from "../../../src/worker/activities/events/deliver-due.ts";
import { lockWaits, tables } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import type { SeededDelivery } from "../../support/webhook-builder.ts";
import { about, deliveryTest as test } from "../../worker/activities/delivery-fixture.ts";

test("attempts are recorded despite concurrent writes to endpoint and deliveries", async ({
  fixture,
}) => {
  const { deliver, deliveryRow, attemptsOf, waiting, pool } = fixture;
  const { endpoint, key, deliveries } = await waiting(3);
  const [, delivery] = deliveries as [SeededDelivery, SeededDelivery];
  const client = await pool.connect();
  let done: Promise<unknown>;
  try {
    await client.query("BEGIN");
    await tables(client).webhookEndpoint.updateMany({
      where: { id: endpoint.id },
      data: { description: "new" },
    });
    done = deliver.deliverDue(key);
    // Outside the transaction, which would read the same state of the activity again.
    await until("it waits for the endpoint", async () => (await lockWaits(pool)) > 0);
    await tables(client).webhookDelivery.updateMany({
      where: { id: delivery.deliveryId },
      data: { dueAt: new Date() },
    });
    await client.query("COMMIT");
  } finally {
    client.release();
  }
  expect(await done).toMatchObject({ delivered: 3, nextInMs: null });
  for (const each of deliveries) {
    expect(await deliveryRow(each)).toMatchObject({ state: "delivered", attempts: 1 });
    expect(await attemptsOf(each)).toHaveLength(1);
  }
});

test("two concurrent attempts of one delivery are both recorded", async ({ fixture }) => {
  const { receiver, deliver, attemptsOf, waiting, parts, changeDelivery } = fixture;
  const { path, key, delivery } = await waiting();
  receiver.answer(path, { onceCame: 2 });
  const first = deliver.deliverDue(key);
  await until("it was sent", async () => receiver.received(path).length === 1);
  // Its claim has expired.
  await changeDelivery(delivery, "claimed_until = now()");
  await Promise.all([first, createDelivery(parts()).deliverDue(key)]);
  expect((await attemptsOf(delivery)).map(({ number }) => number)).toEqual([1, 2]);
  expect(new Set(receiver.received(path).map(({ body }) => JSON.parse(body).id))).toEqual(
    new Set([delivery.eventId]),
  );
});

test("a delivery that is resent during a failing attempt is sent again at once", async ({
  fixture,
}) => {
  const { receiver, deliver, deliveryRow, waiting, changeDelivery } = fixture;
  const { path, key, delivery } = await waiting();
  receiver.answer(path, (nth) =>
    nth === 1 ? { status: 500, onceCame: Number.MAX_SAFE_INTEGER } : {},
  );
  const done = deliver.deliverDue(key);
  await until("it was sent", async () => receiver.received(path).length === 1);
  await changeDelivery(delivery, "began_at = now(), due_at = now()");
  receiver.release(path);
  expect(await done).toMatchObject({ failed: 1, delivered: 1 });
  expect(await deliveryRow(delivery)).toMatchObject({ state: "delivered", attempts: 2 });
});

test("records of the same deliveries in any order never deadlock", async ({ fixture }) => {
  const { parts, waiting, deliveryRow, endpointRow, changeEndpoint } = fixture;
  const { endpoint, key, deliveries } = await waiting(40);
  const { store } = parts();
  const began = String((await deliveryRow(deliveries[0] as SeededDelivery)).began_text);
  // The endpoint's health is not written, so that only the deliveries are locked.
  await changeEndpoint(endpoint, "succeeded_at = now()");
  const { url } = await endpointRow(endpoint);
  const record = (order: readonly SeededDelivery[]) =>
    store.record(key, {
      attempts: order.map(({ deliveryId }) => ({
        deliveryId,
        beganAt: began,
        claimedUntil: began,
        agoMs: 0,
        latencyMs: 1,
        status: 200,
        error: null,
        answer: "",
        verdict: "delivered",
        pauseMs: 1,
        restarts: false,
      })),
      url: String(url),
      isProbe: false,
      breakerSteps: [0, 0, 0, 0, 1],
      wholeMs: 1,
    });
  for (let times = 0; times < 10; times += 1)
    await Promise.all([record(deliveries), record(deliveries.toReversed())]);
  expect((await deliveryRow(deliveries[7] as SeededDelivery)).attempts).toBe(20);
});

test("an attempt that fails after a successful one leaves the delivery delivered", async ({
  fixture,
}) => {
  const { deliver, deliveryRow, attemptsOf, waiting, record } = fixture;
  const { key, delivery } = await waiting();
  expect((await deliver.deliverDue(key)).delivered).toBe(1);
  await record(delivery, { status: 500, error: "the endpoint answered 500", verdict: "failed" });
  await record(delivery, { status: 410, error: "410 Gone", verdict: "gone" });
  const shown = {
    state: "delivered",
    attempts: 3,
    last_status: 200,
    last_error: null,
    due_at: null,
  };
  expect(await deliveryRow(delivery)).toMatchObject(shown);
  expect((await attemptsOf(delivery)).map(({ status }) => status)).toEqual([200, 500, 410]);
});

test("an answer of a previous address does not count for the new one", async ({ fixture }) => {
  const {
    receiver,
    deliver,
    attempt,
    deliveryRow,
    endpointRow,
    waiting,
    reports,
    record,
    changeEndpoint,
  } = fixture;
  const { path, endpoint, key, delivery } = await waiting();
  receiver.answer(path, { status: 410, onceCame: 2 });
  const done = deliver.deliverDue(key);
  await until("it was sent", async () => receiver.received(path).length === 1);
  await changeEndpoint(endpoint, `url = '${receiver.url(`${path}/new`)}'`);
  receiver.release(path);
  expect((await done).nextInMs).toEqual(about(30_000));
  const well = {
    status: "enabled",
    disabled_reason: null,
    failures: 0,
    failing_since: null,
    open_until: null,
  };
  expect(await endpointRow(endpoint)).toMatchObject(well);
  expect(reports.filter((line) => line.startsWith(endpoint.id))).toEqual([]);
  const pending = {
    state: "pending",
    attempts: 1,
    last_status: 410,
    finished_at: null,
    in_ms: about(30_000),
  };
  expect(await deliveryRow(delivery)).toMatchObject(pending);
  // The health changes in neither direction.
  const url = receiver.url(path);
  const [other] = (await fixture.rows.events([endpoint], 1)) as [SeededDelivery];
  await record(other, { url, status: 500, error: "it failed", verdict: "failed" });
  expect(await endpointRow(endpoint)).toMatchObject(well);
  await changeEndpoint(endpoint, "failures = 3, failing_since = now()");
  expect((await record(other, { url })).delivered).toBe(1);
  expect(await endpointRow(endpoint)).toMatchObject({
    failures: 3,
    failing_since: expect.any(Date),
  });
  expect((await attempt(delivery)).delivered).toBe(1);
  expect(receiver.received(`${path}/new`)).toHaveLength(1);
  expect(await endpointRow(endpoint)).toMatchObject(well);
});
