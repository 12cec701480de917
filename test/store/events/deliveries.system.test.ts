/**
 * Deliveries in the database: which are due and claimed, when trying ends, and attempts that are
 * written while others write.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { longestPauseMs, wholeTimeMs } from "../../../src/domain/events/retry-schedule.ts";
import { createChanges } from "../../../src/store/admin/changes.ts";
import { createDeliveryStore } from "../../../src/store/admin/webhooks/webhook-deliveries.ts";
import { claimDeliveries, releaseDeliveries } from "../../../src/store/events/delivery-claims.ts";
import { findAllDueEndpoints, findDueEndpoints } from "../../../src/store/events/due-endpoints.ts";
import { createDelivery } from "../../../src/worker/activities/events/deliver-due.ts";
import { until } from "../../support/system.ts";
import type { MadeDelivery, MadeEndpoint } from "../../support/webhook-rows.ts";
import {
  about,
  type DeliveryWorld,
  deliveryWorld,
  justNow,
} from "../../worker/activities/delivery-fixture.ts";

let world: DeliveryWorld;

beforeAll(async () => {
  world = await deliveryWorld();
});

afterAll(() => world?.stop());

describe("after 20 hours", () => {
  const old = (delivery: MadeDelivery, hours: number) =>
    world.changeDelivery(delivery, `began_at = now() - ${hours} * interval '1 hour'`);
  const triedBefore = ({ deliveryId }: MadeDelivery, hours: number) =>
    world.pool.query(
      "UPDATE webhook_attempts SET at = now() - $2 * interval '1 hour' WHERE delivery_id = $1",
      [deliveryId, hours],
    );

  const exhaust = ({ organisationId, endpointId, deliveryId }: MadeDelivery) =>
    world.parts().store.exhaust({ organisationId, endpointId }, [deliveryId], {
      wholeMs: wholeTimeMs(30_000),
      awayMs: 2 * longestPauseMs(30_000) + 600_000,
    });

  test("a delivery that was tried is exhausted, and what a late attempt brought counts", async () => {
    const { receiver, attempt, deliveryRow, attemptsOf, waiting, changeDelivery } = world;
    const { path, delivery } = await waiting();
    receiver.answer(path, { status: 500 });
    await attempt(delivery);
    await triedBefore(delivery, 8);
    await old(delivery, 20.1);
    expect(await attempt(delivery)).toMatchObject({ exhausted: 1, failed: 0, nextInMs: null });
    expect(await deliveryRow(delivery)).toMatchObject({
      state: "exhausted",
      due_at: null,
      attempts: 1,
    });
    expect(receiver.received(path)).toHaveLength(1);
    // Asked for again: all begins anew.
    await changeDelivery(
      delivery,
      "state = 'pending', due_at = now(), finished_at = NULL, began_at = now()",
    );
    expect(await attempt(delivery)).toMatchObject({ failed: 1, nextInMs: about(30_000) });
    expect(await exhaust(delivery)).toMatchObject({ exhausted: 0, restarted: [] });
    receiver.answer(path, {});
    expect((await attempt(delivery)).delivered).toBe(1);
    expect((await attemptsOf(delivery)).map(({ number }) => number)).toEqual([1, 2, 3]);
  });

  test("nothing is due later: the last pause ends with them", async () => {
    const { receiver, attempt, deliveryRow, waiting } = world;
    const { path, delivery } = await waiting();
    receiver.answer(path, { status: 503, headers: { "retry-after": "14400" } });
    await attempt(delivery);
    await triedBefore(delivery, 4);
    await old(delivery, 19);
    await attempt(delivery);
    expect(await deliveryRow(delivery)).toMatchObject({
      state: "pending",
      in_ms: about(3_600_000),
    });
  });

  test("one that nobody tried, because no worker was there, has its 20 hours still", async () => {
    const { receiver, attempt, deliveryRow, waiting } = world;
    const { path, deliveries } = await waiting(2);
    const [tried, early] = deliveries as [MadeDelivery, MadeDelivery];
    receiver.answer(path, { status: 500 });
    await old(tried, 30);
    await old(early, 12);
    await attempt(tried);
    for (const each of deliveries) {
      expect(await deliveryRow(each)).toMatchObject({
        state: "pending",
        began_at: justNow,
        in_ms: about(30_000),
      });
    }
    await attempt(tried);
    expect(await deliveryRow(tried)).toMatchObject({ in_ms: about(90_000) });
  });

  test("one that was tried once, before all workers were away for long, has its 20 hours still, within 30 days", async () => {
    const { receiver, attempt, deliveryRow, waiting, changeDelivery, changeEndpoint } = world;
    const { path, endpoint, delivery } = await waiting();
    receiver.answer(path, { status: 500 });
    await attempt(delivery);
    const away = async () => {
      await triedBefore(delivery, 20);
      await old(delivery, 20.1);
    };
    await away();
    await attempt(delivery);
    expect(receiver.received(path)).toHaveLength(2);
    expect(await deliveryRow(delivery)).toMatchObject({
      state: "pending",
      began_at: justNow,
      in_ms: about(30_000),
    });
    // A breaker at which nobody was either is no reason, one that was tried meanwhile is.
    const openedBefore = (hours: number) =>
      changeEndpoint(
        endpoint,
        `failures = 9, failing_since = now(), open_until = now() - ${hours} * interval '1 hour'`,
      );
    await away();
    await openedBefore(9);
    expect(await exhaust(delivery)).toMatchObject({
      exhausted: 0,
      restarted: [delivery.deliveryId],
    });
    await away();
    await openedBefore(8);
    expect(await exhaust(delivery)).toMatchObject({ exhausted: 1, restarted: [] });
    // However long nobody was there, some day it ends.
    const [other] = (await waiting()).deliveries as [MadeDelivery];
    await old(other, 20.1);
    await changeDelivery(other, "created_at = now() - interval '30 days'");
    expect(await exhaust(other)).toMatchObject({ exhausted: 1 });
  });

  test("one that was held by the breaker all the time is exhausted without an attempt, also while that is open", async () => {
    const { receiver, deliver, endpointRow, deliveryRow, waiting, changeEndpoint } = world;
    const { path, endpoint, key, deliveries } = await waiting(2);
    const [over, other] = deliveries as [MadeDelivery, MadeDelivery];
    await changeEndpoint(
      endpoint,
      "failures = 9, failing_since = now(), open_until = now() + interval '15 minutes'",
    );
    await old(over, 20);
    expect(await deliver.deliverDue(key)).toMatchObject({ exhausted: 1, nextInMs: about(900_000) });
    expect((await deliveryRow(over)).state).toBe("exhausted");
    expect((await deliveryRow(other)).state).toBe("pending");
    expect(receiver.received(path)).toEqual([]);
    expect(await endpointRow(endpoint)).toMatchObject({ status: "enabled" });
  });

  test("an endpoint that took nothing for five days is disabled with the delivery that is exhausted then", async () => {
    const { deliver, endpointRow, deliveryRow, waiting, told, changeEndpoint } = world;
    const { endpoint, key, deliveries } = await waiting(2);
    const [last, next] = deliveries as [MadeDelivery, MadeDelivery];
    const dead =
      "failures = 9, open_until = now() + interval '1 minute', failing_since = now() - interval '5 days'";
    await changeEndpoint(endpoint, dead);
    await old(last, 20);
    await deliver.deliverDue(key);
    const row = await endpointRow(endpoint);
    expect(row).toMatchObject({
      status: "disabled",
      disabled_reason: "It took nothing for five days",
    });
    expect(told).toContain(`${endpoint.id} is disabled: It took nothing for five days`);
    expect(await deliver.deliverDue(key)).toMatchObject({ dropped: 1, nextInMs: null });
    expect((await deliveryRow(next)).state).toBe("cancelled");
  });
});

test("what is due is claimed once, the longest due first, given back as it was, and due again when a claim is over", async () => {
  const { receiver, deliveryRow, pool, rows, changeDelivery } = world;
  const own = await rows.organisation();
  const endpoint = await rows.endpoint(own, receiver.url("/due"));
  const deliveries = await rows.events([endpoint], 3);
  const [first, second, third] = deliveries as [MadeDelivery, MadeDelivery, MadeDelivery];
  await changeDelivery(first, "due_at = now() - interval '1 minute'");
  await changeDelivery(second, "due_at = now() - interval '2 minutes'");
  await changeDelivery(third, "due_at = now() + interval '1 minute'");
  const claim = async (limit: number) => claimDeliveries(pool, first, limit);
  const [claimed] = await claim(1);
  expect(claimed).toMatchObject({ id: second.deliveryId, body: second.body, tries: 0 });
  const both = await Promise.all([claim(10), claim(10)]);
  expect(both.flat().map(({ id }) => id)).toEqual([first.deliveryId]);
  expect(await claim(10)).toEqual([]);
  expect(await deliveryRow(first)).toMatchObject({ state: "pending", in_ms: about(60_000) });
  await releaseDeliveries(pool, first, claimed === undefined ? [] : [claimed]);
  expect(Number((await deliveryRow(second)).in_ms)).toBeLessThan(-60_000);
  // Somebody else is at it since: it is left to them.
  await claim(1);
  await releaseDeliveries(pool, first, claimed === undefined ? [] : [claimed]);
  expect(await claim(10)).toEqual([]);
  await changeDelivery(second, "due_at = now()");
  expect((await claim(10)).map(({ id }) => id)).toEqual([second.deliveryId]);
});

test("endpoints with something due are found, but for those whose breaker is open", async () => {
  const { receiver, pool, rows, changeEndpoint, changeDelivery } = world;
  const own = await rows.organisation();
  const made = await Promise.all(
    ["/a", "/b", "/c", "/d"].map((path) => rows.endpoint(own, receiver.url(path))),
  );
  const [due, later, held, off] = made as [MadeEndpoint, MadeEndpoint, MadeEndpoint, MadeEndpoint];
  const deliveries = await rows.events(made, 2);
  for (const each of deliveries.filter((one) => one.endpointId === later.id)) {
    await changeDelivery(each, "due_at = now() + interval '1 minute'");
  }
  const failing = "failures = 5, failing_since = now(), open_until = now()";
  await changeEndpoint(held, `${failing} + interval '1 minute'`);
  await changeEndpoint(
    off,
    `${failing} + interval '1 minute', status = 'disabled', disabled_at = now(), disabled_reason = 'No'`,
  );
  const found = async () => (await findDueEndpoints(pool, own)).map(({ endpointId }) => endpointId);
  const sorted = (...endpoints: MadeEndpoint[]) => endpoints.map(({ id }) => id).sort();
  expect(await found()).toEqual(sorted(due, off));
  await changeEndpoint(held, "open_until = now()");
  expect(await found()).toEqual(sorted(due, held, off));
  const [first] = await findAllDueEndpoints(pool, null, 1);
  const all = [first, ...(await findAllDueEndpoints(pool, first?.endpointId ?? null, 500))];
  const ofOwn = all.filter((one) => one?.organisationId === own).map((one) => one?.endpointId);
  expect(ofOwn).toEqual(sorted(due, held, off));
});

test("what waits because its endpoint's breaker is open is shown so to operators, and nothing else is", async () => {
  const { pool, waiting, changeDelivery, changeEndpoint, organisationId } = world;
  const { endpoint, deliveries } = await waiting(3);
  const [due, later, over] = deliveries as [MadeDelivery, MadeDelivery, MadeDelivery];
  await changeDelivery(later, "due_at = now() + interval '1 minute', last_error = 'own'");
  await changeDelivery(
    over,
    "state = 'exhausted', due_at = NULL, finished_at = now(), last_error = 'own'",
  );
  await changeDelivery(due, "last_status = 500, last_error = 'own'");
  const operators = createDeliveryStore(pool, createChanges(pool));
  const shown = async () => {
    const all = await Promise.all(
      [due, later, over].map(({ deliveryId: id }) => operators.get(organisationId, id)),
    );
    return all.map((one) => [one?.lastStatus, one?.lastError]);
  };
  expect(await shown()).toEqual([
    [500, "own"],
    [null, "own"],
    [null, "own"],
  ]);
  await changeEndpoint(
    endpoint,
    "failures = 6, failing_since = now(), open_until = now() + interval '1 minute'",
  );
  expect(await shown()).toEqual([
    [null, "not sent: the endpoint failed 6 times in a row"],
    [null, "own"],
    [null, "own"],
  ]);
});

test("attempts are written whatever else is written to their endpoint and deliveries at that moment", async () => {
  const { deliver, deliveryRow, attemptsOf, waiting, pool } = world;
  const { endpoint, key, deliveries } = await waiting(3);
  const [, delivery] = deliveries as [MadeDelivery, MadeDelivery];
  const client = await pool.connect();
  let done: Promise<unknown>;
  try {
    await client.query("BEGIN");
    await client.query("UPDATE webhook_endpoints SET description = 'new' WHERE id = $1", [
      endpoint.id,
    ]);
    done = deliver.deliverDue(key);
    await until("it waits for the endpoint", async () => {
      const { rows: held } = await client.query(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      return held.length > 0;
    });
    await client.query("UPDATE webhook_deliveries SET due_at = now() WHERE id = $1", [
      delivery.deliveryId,
    ]);
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

test("two attempts of one delivery at once, as after a worker was taken for dead, are both kept", async () => {
  const { receiver, deliver, attemptsOf, waiting, parts, changeDelivery } = world;
  const { path, key, delivery } = await waiting();
  receiver.answer(path, { onceCame: 2 });
  const first = deliver.deliverDue(key);
  await until("it was sent", async () => receiver.received(path).length === 1);
  // Its claim is over.
  await changeDelivery(delivery, "due_at = now()");
  await Promise.all([first, createDelivery(parts()).deliverDue(key)]);
  expect((await attemptsOf(delivery)).map(({ number }) => number)).toEqual([1, 2]);
  expect(new Set(receiver.received(path).map(({ body }) => JSON.parse(body).id))).toEqual(
    new Set([delivery.eventId]),
  );
});

test("what is resent while an attempt is under way that fails is sent again at once", async () => {
  const { receiver, deliver, deliveryRow, waiting, changeDelivery } = world;
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

test("records of the same deliveries in any order never wait for each other in a circle", async () => {
  const { parts, waiting, deliveryRow, endpointRow, changeEndpoint } = world;
  const { endpoint, key, deliveries } = await waiting(40);
  const { store } = parts();
  const began = String((await deliveryRow(deliveries[0] as MadeDelivery)).began_text);
  // Its health is not written, so that nothing but the deliveries is locked.
  await changeEndpoint(endpoint, "succeeded_at = now()");
  const { url } = await endpointRow(endpoint);
  const record = (order: readonly MadeDelivery[]) =>
    store.record(key, {
      attempts: order.map(({ deliveryId }) => ({
        deliveryId,
        beganAt: began,
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
  expect((await deliveryRow(deliveries[7] as MadeDelivery)).attempts).toBe(20);
});

test("what fails after another attempt was taken leaves the delivery as it was shown", async () => {
  const { deliver, deliveryRow, attemptsOf, waiting, record } = world;
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

test("what an address of before answers is nothing of the new one's: the delivery is sent there", async () => {
  const {
    receiver,
    deliver,
    attempt,
    deliveryRow,
    endpointRow,
    waiting,
    told,
    record,
    changeEndpoint,
  } = world;
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
  expect(told.filter((line) => line.startsWith(endpoint.id))).toEqual([]);
  const pending = {
    state: "pending",
    attempts: 1,
    last_status: 410,
    finished_at: null,
    in_ms: about(30_000),
  };
  expect(await deliveryRow(delivery)).toMatchObject(pending);
  // Neither worse nor better.
  const url = receiver.url(path);
  const [other] = (await world.rows.events([endpoint], 1)) as [MadeDelivery];
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
