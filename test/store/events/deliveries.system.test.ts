/**
 * Deliveries in the database: which are due and claimed, and when attempts end. WEBHOOK-2,
 * WEBHOOK-4.
 */
import { describe, expect } from "vitest";
import { maxPauseMs, wholeTimeMs } from "../../../src/domain/events/retry-schedule.ts";
import { createChanges } from "../../../src/store/admin/changes.ts";
import { createDeliveryHistory } from "../../../src/store/admin/webhooks/webhook-deliveries.ts";
import { claimDeliveries, releaseDeliveries } from "../../../src/store/events/delivery-claims.ts";
import { findAllDueEndpoints, findDueEndpoints } from "../../../src/store/events/due-endpoints.ts";
import type { SeededDelivery, SeededEndpoint } from "../../support/webhook-builder.ts";
import {
  about,
  type DeliveryFixture,
  justNow,
  deliveryTest as test,
} from "../../worker/activities/delivery-fixture.ts";

describe("after 20 hours", () => {
  const old = (fixture: DeliveryFixture, delivery: SeededDelivery, hours: number) =>
    fixture.changeDelivery(delivery, `began_at = now() - ${hours} * interval '1 hour'`);
  const triedBefore = (fixture: DeliveryFixture, { deliveryId }: SeededDelivery, hours: number) =>
    fixture.pool.query(
      "UPDATE webhook_attempts SET at = now() - $2 * interval '1 hour' WHERE delivery_id = $1",
      [deliveryId, hours],
    );

  const exhaust = (
    fixture: DeliveryFixture,
    { organisationId, endpointId, deliveryId }: SeededDelivery,
  ) =>
    fixture.parts().store.exhaust({ organisationId, endpointId }, [deliveryId], {
      wholeMs: wholeTimeMs(30_000),
      awayMs: 2 * maxPauseMs(30_000) + 600_000,
    });

  test("a delivery with an attempt is exhausted, and a late attempt still counts", async ({
    fixture,
  }) => {
    const { receiver, attempt, deliveryRow, attemptsOf, waiting, changeDelivery } = fixture;
    const { path, delivery } = await waiting();
    receiver.answer(path, { status: 500 });
    await attempt(delivery);
    await triedBefore(fixture, delivery, 8);
    await old(fixture, delivery, 20.1);
    expect(await attempt(delivery)).toMatchObject({ exhausted: 1, failed: 0, nextInMs: null });
    expect(await deliveryRow(delivery)).toMatchObject({
      state: "exhausted",
      due_at: null,
      attempts: 1,
    });
    expect(receiver.received(path)).toHaveLength(1);
    // A resend starts its time again.
    await changeDelivery(
      delivery,
      "state = 'pending', due_at = now(), finished_at = NULL, began_at = now()",
    );
    expect(await attempt(delivery)).toMatchObject({ failed: 1, nextInMs: about(30_000) });
    expect(await exhaust(fixture, delivery)).toMatchObject({ exhausted: 0, restarted: [] });
    receiver.answer(path, {});
    expect((await attempt(delivery)).delivered).toBe(1);
    expect((await attemptsOf(delivery)).map(({ number }) => number)).toEqual([1, 2, 3]);
  });

  test("no attempt is due: the last pause ends with them", async ({ fixture }) => {
    const { receiver, attempt, deliveryRow, waiting } = fixture;
    const { path, delivery } = await waiting();
    receiver.answer(path, { status: 503, headers: { "retry-after": "14400" } });
    await attempt(delivery);
    await triedBefore(fixture, delivery, 4);
    await old(fixture, delivery, 19);
    await attempt(delivery);
    expect(await deliveryRow(delivery)).toMatchObject({
      state: "pending",
      in_ms: about(3_600_000),
    });
  });

  test("a delivery without an attempt, because no worker ran, still has its 20 hours", async ({
    fixture,
  }) => {
    const { receiver, attempt, deliveryRow, waiting } = fixture;
    const { path, deliveries } = await waiting(2);
    const [tried, early] = deliveries as [SeededDelivery, SeededDelivery];
    receiver.answer(path, { status: 500 });
    await old(fixture, tried, 30);
    await old(fixture, early, 12);
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

  test("a delivery whose workers were away for long has its 20 hours, within 30 days", async ({
    fixture,
  }) => {
    const { receiver, attempt, deliveryRow, waiting, changeDelivery, changeEndpoint } = fixture;
    const { path, endpoint, delivery } = await waiting();
    receiver.answer(path, { status: 500 });
    await attempt(delivery);
    const away = async () => {
      await triedBefore(fixture, delivery, 20);
      await old(fixture, delivery, 20.1);
    };
    await away();
    await attempt(delivery);
    expect(receiver.received(path)).toHaveLength(2);
    expect(await deliveryRow(delivery)).toMatchObject({
      state: "pending",
      began_at: justNow,
      in_ms: about(30_000),
    });
    // A breaker without a probe since does not explain the gap. One with a probe does.
    const openedBefore = (hours: number) =>
      changeEndpoint(
        endpoint,
        `failures = 9, failing_since = now(), open_until = now() - ${hours} * interval '1 hour'`,
      );
    await away();
    await openedBefore(9);
    expect(await exhaust(fixture, delivery)).toMatchObject({
      exhausted: 0,
      restarted: [delivery.deliveryId],
    });
    await away();
    await openedBefore(8);
    expect(await exhaust(fixture, delivery)).toMatchObject({ exhausted: 1, restarted: [] });
    // A delivery of 30 days ends in any case.
    const [other] = (await waiting()).deliveries as [SeededDelivery];
    await old(fixture, other, 20.1);
    await changeDelivery(other, "created_at = now() - interval '30 days'");
    expect(await exhaust(fixture, other)).toMatchObject({ exhausted: 1 });
  });

  test("a delivery that waited for an open breaker is exhausted without an attempt", async ({
    fixture,
  }) => {
    const { receiver, deliver, endpointRow, deliveryRow, waiting, changeEndpoint } = fixture;
    const { path, endpoint, key, deliveries } = await waiting(2);
    const [over, other] = deliveries as [SeededDelivery, SeededDelivery];
    await changeEndpoint(
      endpoint,
      "failures = 9, failing_since = now(), open_until = now() + interval '15 minutes'",
    );
    await old(fixture, over, 20);
    expect(await deliver.deliverDue(key)).toMatchObject({ exhausted: 1, nextInMs: about(900_000) });
    expect((await deliveryRow(over)).state).toBe("exhausted");
    expect((await deliveryRow(other)).state).toBe("pending");
    expect(receiver.received(path)).toEqual([]);
    expect(await endpointRow(endpoint)).toMatchObject({ status: "enabled" });
  });

  test("an endpoint that accepted nothing for five days is disabled", async ({ fixture }) => {
    const { deliver, endpointRow, deliveryRow, waiting, reports, changeEndpoint } = fixture;
    const { endpoint, key, deliveries } = await waiting(2);
    const [last, next] = deliveries as [SeededDelivery, SeededDelivery];
    const dead = `failures = 9, open_until = now() + interval '1 minute',
      failing_since = now() - interval '5 days'`;
    await changeEndpoint(endpoint, dead);
    await old(fixture, last, 20);
    await deliver.deliverDue(key);
    const row = await endpointRow(endpoint);
    expect(row).toMatchObject({
      status: "disabled",
      disabled_reason: "It took nothing for five days",
    });
    expect(reports).toContain(`${endpoint.id} is disabled: It took nothing for five days`);
    expect(await deliver.deliverDue(key)).toMatchObject({ dropped: 1, nextInMs: null });
    expect((await deliveryRow(next)).state).toBe("cancelled");
  });
});

test("a due delivery is claimed once, the longest due first, and released as it was", async ({
  fixture,
}) => {
  const { receiver, deliveryRow, pool, rows, changeDelivery } = fixture;
  const own = await rows.organisation();
  const endpoint = await rows.endpoint(own, receiver.url("/due"));
  const deliveries = await rows.events([endpoint], 3);
  const [first, second, third] = deliveries as [SeededDelivery, SeededDelivery, SeededDelivery];
  await changeDelivery(first, "due_at = now() - interval '1 minute'");
  await changeDelivery(second, "due_at = now() - interval '2 minutes'");
  await changeDelivery(third, "due_at = now() + interval '1 minute'");
  const claim = async (limit: number) => claimDeliveries(pool, first, limit);
  const [claimed] = await claim(1);
  expect(claimed).toMatchObject({ id: second.deliveryId, body: second.body, tries: 0 });
  const both = await Promise.all([claim(10), claim(10)]);
  expect(both.flat().map(({ id }) => id)).toEqual([first.deliveryId]);
  expect(await claim(10)).toEqual([]);
  const { rows: claims } = await pool.query(
    "SELECT claimed_until - now() > interval '50 seconds' AS held FROM webhook_deliveries " +
      "WHERE id = ANY ($1)",
    [[first.deliveryId, second.deliveryId]],
  );
  expect(claims).toEqual([{ held: true }, { held: true }]);
  await releaseDeliveries(pool, first, claimed === undefined ? [] : [claimed]);
  expect(Number((await deliveryRow(second)).in_ms)).toBeLessThan(-60_000);
  // Another process has claimed it since, and keeps it.
  await claim(1);
  await releaseDeliveries(pool, first, claimed === undefined ? [] : [claimed]);
  expect(await claim(10)).toEqual([]);
  await changeDelivery(second, "claimed_until = now()");
  expect((await claim(10)).map(({ id }) => id)).toEqual([second.deliveryId]);
});

test("a claim writes no index", async ({ fixture }) => {
  const { pool, waiting } = fixture;
  const { key } = await waiting(3);
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const updatesWithoutIndex = async (): Promise<number> => {
      const { rows } = await client.query(
        "SELECT pg_stat_get_xact_tuples_hot_updated('webhook_deliveries'::regclass)::int AS count",
      );
      return rows[0].count;
    };
    const before = await updatesWithoutIndex();
    expect(await claimDeliveries(client, key, 3)).toHaveLength(3);
    expect(await updatesWithoutIndex()).toBe(before + 3);
  } finally {
    await client.query("ROLLBACK");
    client.release();
  }
});

test("endpoints with due deliveries are found, except those with an open breaker", async ({
  fixture,
}) => {
  const { receiver, pool, rows, changeEndpoint, changeDelivery } = fixture;
  const own = await rows.organisation();
  const endpoints = await Promise.all(
    ["/a", "/b", "/c", "/d"].map((path) => rows.endpoint(own, receiver.url(path))),
  );
  const [due, later, held, off] = endpoints as [
    SeededEndpoint,
    SeededEndpoint,
    SeededEndpoint,
    SeededEndpoint,
  ];
  const deliveries = await rows.events(endpoints, 2);
  for (const each of deliveries.filter((one) => one.endpointId === later.id)) {
    await changeDelivery(each, "due_at = now() + interval '1 minute'");
  }
  const failing = "failures = 5, failing_since = now(), open_until = now()";
  await changeEndpoint(held, `${failing} + interval '1 minute'`);
  await changeEndpoint(
    off,
    `${failing} + interval '1 minute', status = 'disabled', disabled_at = now(),
      disabled_reason = 'No'`,
  );
  const found = async () => (await findDueEndpoints(pool, own)).map(({ endpointId }) => endpointId);
  const sorted = (...some: SeededEndpoint[]) => some.map(({ id }) => id).sort();
  expect(await found()).toEqual(sorted(due, off));
  await changeEndpoint(held, "open_until = now()");
  expect(await found()).toEqual(sorted(due, held, off));
  const [first] = await findAllDueEndpoints(pool, null, 1);
  const all = [first, ...(await findAllDueEndpoints(pool, first?.endpointId ?? null, 500))];
  const ofOwn = all.filter((one) => one?.organisationId === own).map((one) => one?.endpointId);
  expect(ofOwn).toEqual(sorted(due, held, off));
});

test("operators see that a due delivery waits for an open breaker", async ({ fixture }) => {
  const { pool, waiting, changeDelivery, changeEndpoint, organisationId } = fixture;
  const { endpoint, deliveries } = await waiting(3);
  const [due, later, over] = deliveries as [SeededDelivery, SeededDelivery, SeededDelivery];
  await changeDelivery(later, "due_at = now() + interval '1 minute', last_error = 'own'");
  await changeDelivery(
    over,
    "state = 'exhausted', due_at = NULL, finished_at = now(), last_error = 'own'",
  );
  await changeDelivery(due, "last_status = 500, last_error = 'own'");
  const operators = createDeliveryHistory(pool, createChanges(pool));
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
