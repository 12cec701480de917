/**
 * Attempts to deliver events, on a real database and with a real receiver: what is sent, what is written of it, and when the next attempt is
 * wanted. The engine that makes them is in `test/workflows/webhook-runs.system.test.ts`.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import type { ApplicationFailure } from "@temporalio/common";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDelivery } from "../../src/activities/deliver.ts";
import { takeDueDeliveries } from "../../src/store/deliveries-due.ts";
import { createSealing } from "../../src/store/sealing.ts";
import { createPoster } from "../../src/webhooks/post.ts";
import { verifyWebhook } from "../../src/webhooks/verify.ts";
import { freePort } from "../support/ports.ts";
import type { MadeDelivery } from "../support/webhook-rows.ts";
import { about, type DeliveryWorld, deliveryWorld, justNow } from "./delivery-world.ts";

let world: DeliveryWorld;

beforeAll(async () => {
  world = await deliveryWorld();
});

afterAll(() => world?.stop());

test("an event is sent as the very bytes that were stored, signed now, and the delivery and its attempt say how it went", async () => {
  const { receiver, deliver, deliveryRow, endpointRow, attemptsOf, waiting } = world;
  const { path, endpoint, delivery } = await waiting();
  receiver.answer(path, { status: 202, body: "Thank you\0, Zoë", headers: { "content-type": "text/plain" } });
  expect(await deliver.attemptDelivery(delivery)).toBe("delivered");
  const [request] = receiver.received(path);
  expect(request?.body).toBe(delivery.body);
  expect(request?.headers["content-type"]).toBe("application/json; charset=utf-8");
  const header = String(request?.headers["billing-signature"]);
  expect(verifyWebhook({ header, body: delivery.body, secret: endpoint.secret })).toEqual({ ok: true });
  expect(header).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
  expect(await deliveryRow(delivery)).toMatchObject({
    state: "delivered",
    attempts: 1,
    due_at: null,
    last_status: 202,
    last_error: null,
  });
  const answered = { number: 1, status: 202, error: null, answer: "Thank you, Zoë" };
  expect(await attemptsOf(delivery)).toEqual([{ ...answered, latency_ms: expect.any(Number), at: expect.any(Date) }]);
  const well = { failures: 0, failing_since: null, open_until: null, succeeded_at: justNow };
  expect(await endpointRow(endpoint)).toMatchObject(well);
  // The engine may ask again: its worker was killed before it could tell.
  expect(await deliver.attemptDelivery(delivery)).toBe("delivered");
  expect(receiver.received(path)).toHaveLength(1);
});

test("each attempt is signed anew over the same bytes, by two secrets while the one before a rotation counts", async () => {
  const { receiver, deliver, attemptsOf, waiting, failed, rows, changeEndpoint } = world;
  const { path, endpoint, delivery } = await waiting();
  receiver.answer(path, { status: 500, body: "no" });
  await failed(delivery);
  const newest = await rows.rotate(endpoint, 3600);
  await failed(delivery);
  await changeEndpoint(endpoint, "previous_until = now()");
  receiver.answer(path, {});
  expect(await deliver.attemptDelivery(delivery)).toBe("delivered");
  const requests = receiver.received(path);
  expect(requests.map(({ body }) => body)).toEqual([delivery.body, delivery.body, delivery.body]);
  const verdicts = requests.map(({ headers, body }) =>
    [endpoint.secret, newest].map(
      (secret) => verifyWebhook({ header: String(headers["billing-signature"]), body, secret }).ok,
    ),
  );
  expect(verdicts).toEqual([
    [true, false],
    [true, true],
    [false, true],
  ]);
  expect(requests.map(({ headers }) => String(headers["billing-signature"]).split("v1=").length - 1)).toEqual([
    1, 2, 1,
  ]);
  expect((await attemptsOf(delivery)).map(({ status, error }) => [status, error])).toEqual([
    [500, "the endpoint answered 500"],
    [500, "the endpoint answered 500"],
    [200, null],
  ]);
});

test("what fails is tried after 0.5, 1.5, 4.5 minutes, and what it throws tells the engine nothing but a status", async () => {
  const { receiver, deliveryRow, attemptsOf, waiting, failed, changeEndpoint } = world;
  const { path, endpoint, delivery } = await waiting();
  receiver.answer(path, { status: 302, headers: { location: receiver.url("/elsewhere") }, body: "elsewhere" });
  const redirected = await failed(delivery);
  expect(redirected).toEqual({ type: "EndpointFailed", message: "the endpoint answered 302", nextMs: 30_000 });
  expect(receiver.received("/elsewhere")).toEqual([]);
  expect(await deliveryRow(delivery)).toMatchObject({
    state: "pending",
    attempts: 1,
    last_status: 302,
    last_error: "the endpoint answered 302, and redirects are not followed",
    in_ms: about(630_000),
  });
  receiver.answer(path, { hangUp: true });
  expect(await failed(delivery)).toEqual({ type: "EndpointFailed", message: "no answer came", nextMs: 90_000 });
  expect(await deliveryRow(delivery)).toMatchObject({ last_status: null, last_error: expect.any(String) });
  await changeEndpoint(endpoint, `url = 'http://127.0.0.1:${await freePort()}/'`);
  expect((await failed(delivery)).nextMs).toBe(270_000);
  expect(await attemptsOf(delivery)).toHaveLength(3);
  // An address of our own network is refused like one that does not answer.
  await changeEndpoint(endpoint, "url = 'http://10.0.0.1/hook'");
  expect(await failed(delivery)).toMatchObject({ message: "no answer came", nextMs: 810_000 });
  const [, , , refused] = await attemptsOf(delivery);
  expect(refused).toMatchObject({ status: null, answer: null, error: "the address must be of the public network" });
});

test("a busy endpoint says when to come again, four hours at most; other answers do not", async () => {
  const { receiver, deliveryRow, endpointRow, waiting, failed } = world;
  const { path, endpoint, delivery } = await waiting();
  const after = async (status: number, seconds: string) => {
    receiver.answer(path, { status, headers: { "retry-after": seconds } });
    return (await failed(delivery)).nextMs;
  };
  expect(await after(429, "120")).toBe(120_000);
  expect(await deliveryRow(delivery)).toMatchObject({ in_ms: about(720_000) });
  expect(await after(503, "86400")).toBe(4 * 3_600_000);
  expect(await after(500, "3600")).toBe(270_000);
  expect(await after(429, "1")).toBe(810_000);
  expect(await endpointRow(endpoint)).toMatchObject({ failures: 4 });
});

test("410 Gone disables the endpoint, and ends this delivery and what waits for it without a request", async () => {
  const { receiver, deliver, deliveryRow, endpointRow, waiting, told, changeEndpoint, record } = world;
  const { path, endpoint, deliveries } = await waiting(2);
  const [gone, other] = deliveries as [MadeDelivery, MadeDelivery];
  receiver.answer(path, { status: 410 });
  expect(await deliver.attemptDelivery(gone)).toBe("cancelled");
  expect(await endpointRow(endpoint)).toMatchObject({ status: "disabled", disabled_reason: "410 Gone" });
  expect(told).toContain(`${endpoint.id} is disabled: 410 Gone`);
  expect(await deliver.attemptDelivery(other)).toBe("cancelled");
  expect(receiver.received(path)).toHaveLength(1);
  expect(await deliveryRow(gone)).toMatchObject({ state: "cancelled", attempts: 1, last_status: 410, due_at: null });
  expect(await deliveryRow(other)).toMatchObject({ state: "cancelled", attempts: 0, due_at: null });
  // A second one that was under way changes neither reason nor time.
  const before = await endpointRow(endpoint);
  await changeEndpoint(endpoint, "disabled_reason = 'By hand'");
  const saved = await record(other, { status: 410, error: "410 Gone", verdict: "gone" });
  expect(saved).toEqual({ state: "cancelled", hasDisabled: false });
  const { disabled_at: disabledAt, disabled_reason: reason } = await endpointRow(endpoint);
  expect([disabledAt, reason]).toEqual([before.disabled_at, "By hand"]);
});

describe("an endpoint's breaker", () => {
  test("opens with five failures in a row: then nothing is sent, and one attempt goes first once its time is over", async () => {
    const { receiver, deliver, deliveryRow, endpointRow, waiting, failed, changeEndpoint } = world;
    const { path, endpoint, deliveries } = await waiting(12);
    receiver.answer(path, { status: 500 });
    const first = await Promise.all(deliveries.slice(0, 5).map((each) => failed(each)));
    expect(first.every(({ type }) => type === "EndpointFailed")).toBe(true);
    expect(await endpointRow(endpoint)).toMatchObject({ failures: 5, in_ms: about(60_000) });
    const [held] = deliveries.slice(5) as [MadeDelivery];
    const putOff = await failed(held);
    expect(putOff.type).toBe("EndpointPaused");
    expect(putOff.nextMs).toEqual(about(60_000));
    expect(receiver.received(path)).toHaveLength(5);
    expect(await deliveryRow(held)).toMatchObject({
      state: "pending",
      attempts: 0,
      last_error: "not sent: the endpoint failed 5 times in a row",
      in_ms: about(660_000),
    });

    await changeEndpoint(endpoint, "open_until = now()");
    const others = await Promise.all(deliveries.slice(5, 9).map((each) => failed(each)));
    expect(others.map(({ type }) => type).sort()).toEqual(["EndpointFailed", ...Array(3).fill("EndpointPaused")]);
    expect(receiver.received(path)).toHaveLength(6);
    expect(await endpointRow(endpoint)).toMatchObject({ failures: 6, in_ms: about(120_000) });

    await changeEndpoint(endpoint, "open_until = now()");
    receiver.answer(path, {});
    expect(await deliver.attemptDelivery(held)).toBe("delivered");
    expect(await endpointRow(endpoint)).toMatchObject({ failures: 0, failing_since: null, open_until: null });
    const rest = await Promise.all(deliveries.slice(9).map((each) => deliver.attemptDelivery(each)));
    expect(rest).toEqual(["delivered", "delivered", "delivered"]);
  });

  test("counts no attempt that was under way as it opened, and is closed by one that was taken", async () => {
    const { receiver, endpointRow, attemptsOf, waiting, failed, parts, record } = world;
    const { path, endpoint, deliveries } = await waiting(7);
    // Two processes, five attempts each at once: seven failures are on their way before the fifth is written.
    const [one, two] = [createDelivery(parts()), createDelivery(parts())];
    receiver.answer(path, { status: 500, onceCame: 7 });
    await Promise.all(deliveries.map((each, index) => failed(each, index < 5 ? one : two)));
    expect(receiver.received(path)).toHaveLength(7);
    expect(await endpointRow(endpoint)).toMatchObject({ failures: 5, in_ms: about(60_000) });
    expect((await attemptsOf(deliveries[6] as MadeDelivery)).length).toBe(1);
    // Taken while it is open: it was sent before.
    const saved = await record(deliveries[0] as MadeDelivery, {});
    expect(saved.state).toBe("delivered");
    expect(await endpointRow(endpoint)).toMatchObject({ failures: 0, open_until: null });
  });

  test("that stays open longer than a delivery's own pause holds it for as long", async () => {
    const { waiting, failed, changeDelivery, changeEndpoint } = world;
    const { endpoint, delivery } = await waiting();
    await changeEndpoint(endpoint, "failures = 9, failing_since = now(), open_until = now() + interval '15 minutes'");
    expect((await failed(delivery)).nextMs).toEqual(about(900_000));
    await changeDelivery(delivery, "began_at = now() - interval '1 hour'");
    expect((await failed(delivery)).nextMs).toBeGreaterThanOrEqual(7_200_000);
  });
});

test("an endpoint is sent five at once by a process; what waits is told when to ask, later and later", async () => {
  const { receiver, deliver, waiting } = world;
  const { path, deliveries } = await waiting(8);
  receiver.answer(path, { onceCame: 5 });
  const all = await Promise.allSettled(deliveries.map((each) => deliver.attemptDelivery(each)));
  const waits = all.flatMap((one) => (one.status === "rejected" ? [one.reason as ApplicationFailure] : []));
  expect(waits.map(({ type }) => type)).toEqual(["EndpointBusy", "EndpointBusy", "EndpointBusy"]);
  const delays = waits.map(({ nextRetryDelay }) => Number(nextRetryDelay));
  expect(delays.every((ms) => ms >= 100 && ms <= 1_000)).toBe(true);
  expect(delays.toSorted((a, b) => a - b)).toEqual(delays);
  expect(receiver.mostAtOnce(path)).toBe(5);
  const late = await Promise.all(deliveries.slice(5).map((each) => deliver.attemptDelivery(each)));
  expect(late).toEqual(["delivered", "delivered", "delivered"]);
});

test("a place counts as held until what was sent is written, however fast the status came, and not where nothing was", async () => {
  const { waiting, failed, parts, changeEndpoint } = world;
  const { endpoint, deliveries } = await waiting(2);
  const [sent, held] = deliveries as [MadeDelivery, MadeDelivery];
  const took: (number | undefined)[] = [];
  const answer = { kind: "answered", status: 200, retryAfterMs: null, answer: "", latencyMs: 0 } as const;
  const slow = createDelivery({
    ...parts(),
    poster: { post: () => wait(60, answer) },
    turns: { take: () => ({ kind: "taken", end: (tookMs) => took.push(tookMs) }) },
  });
  expect(await slow.attemptDelivery(sent)).toBe("delivered");
  expect(took[0]).toBeGreaterThan(50);
  await changeEndpoint(endpoint, "failures = 5, failing_since = now(), open_until = now() + interval '1 hour'");
  expect((await failed(held, slow)).type).toBe("EndpointPaused");
  expect(took[1]).toBeUndefined();
});

test("of a hundred events to ten endpoints, a thousand deliveries, two dead endpoints hold up none to the others", async () => {
  const { receiver, rows, organisationId, parts, pool } = world;
  const paths = Array.from({ length: 10 }, () => `/${randomUUID()}`);
  const [failing, hanging] = paths as [string, string];
  receiver.answer(failing, { status: 500 });
  // It has not answered the last of its first five when all others have long been done.
  receiver.answer(hanging, { onceCame: 6 });
  const endpoints = await Promise.all(paths.map((path) => rows.endpoint(organisationId, receiver.url(path))));
  const deliveries = await rows.events(endpoints, 100);
  const isAlive = ({ endpointId }: MadeDelivery) => endpoints.slice(2).some(({ id }) => id === endpointId);
  const work = atOnce(100);
  const poster = createPoster({ mode: "development", totalMs: 100_000 });
  const deliver = createDelivery({ ...parts(), poster });
  const over = new AbortController();
  const failures = new Map<string, number>();
  const done = deliveries.map(async (delivery) => {
    for (;;) {
      const outcome = await work(() => deliver.attemptDelivery(delivery).catch((error: ApplicationFailure) => error));
      if (outcome === "delivered") return;
      const { type, nextRetryDelay } = outcome as ApplicationFailure;
      const name = `${type} ${isAlive(delivery) ? "alive" : "dead"}`;
      failures.set(name, (failures.get(name) ?? 0) + 1);
      if (type !== "EndpointBusy") return;
      await wait(Number(nextRetryDelay), undefined, { signal: over.signal }).catch(() => undefined);
      if (over.signal.aborted) return;
    }
  });
  await Promise.all(done.filter((_, index) => isAlive(deliveries[index] as MadeDelivery)));
  expect(failures.get("EndpointFailed alive") ?? failures.get("EndpointPaused alive")).toBeUndefined();
  expect(receiver.received(hanging)).toHaveLength(5);
  // Four more were on their way as the breaker opened, at the most; one goes first each minute.
  expect(receiver.received(failing).length).toBeLessThan(15);
  const wanted = new Set(deliveries.map(({ eventId }) => eventId));
  for (const path of paths.slice(2)) {
    expect(receiver.mostAtOnce(path)).toBeLessThanOrEqual(5);
    const ids = receiver.received(path).map(({ body }) => JSON.parse(body).id);
    expect(ids).toHaveLength(100);
    expect(new Set(ids)).toEqual(wanted);
  }
  const text = `SELECT state, count(*)::int AS count FROM webhook_deliveries WHERE endpoint_id = ANY ($1) GROUP BY state ORDER BY state`;
  const { rows: counts } = await pool.query(text, [endpoints.map(({ id }) => id)]);
  expect(counts).toEqual([
    { state: "delivered", count: 800 },
    { state: "pending", count: 200 },
  ]);
  over.abort();
  receiver.release(hanging);
  await Promise.all(done);
  await poster.close();
});

/** So many at once, as a worker's process does; the rest waits for its turn. */
function atOnce(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    running += 1;
    try {
      return await work();
    } finally {
      running -= 1;
      waiting.shift()?.();
    }
  };
}

test("what cannot be signed is not sent, and waits for the worker's key", async () => {
  const { receiver, deliveryRow, endpointRow, waiting, failed, parts, told, pool } = world;
  const { path, endpoint, delivery } = await waiting();
  const elsewhere = createDelivery(parts(createSealing(randomBytes(32))));
  expect(await failed(delivery, elsewhere)).toMatchObject({ type: "SecretSealed", nextMs: expect.any(Number) });
  expect(told).toContain(`${endpoint.id} is sealed`);
  expect(receiver.received(path)).toEqual([]);
  expect(await deliveryRow(delivery)).toMatchObject({
    attempts: 0,
    last_error: "the endpoint's signing secret cannot be opened",
  });
  expect(await endpointRow(endpoint)).toMatchObject({ failures: 0 });
  // Another endpoint's secret is none of this one's.
  const other = await waiting();
  await pool.query(
    "UPDATE webhook_endpoints SET sealed_secret = (SELECT sealed_secret FROM webhook_endpoints WHERE id = $1) WHERE id = $2",
    [other.endpoint.id, endpoint.id],
  );
  expect((await failed(delivery)).type).toBe("SecretSealed");
});

test("what is another organisation's, or is no longer there, is sent to nobody", async () => {
  const { receiver, deliver, deliveryRow, waiting, pool, rows } = world;
  const { path, delivery } = await waiting();
  const stranger = await rows.organisation();
  expect(await deliver.attemptDelivery({ ...delivery, organisationId: stranger })).toBe("cancelled");
  expect(await deliver.exhaustDelivery({ ...delivery, organisationId: stranger })).toBe("cancelled");
  expect(await takeDueDeliveries(pool, stranger, 10)).toEqual([]);
  expect(await deliver.attemptDelivery({ ...delivery, deliveryId: randomUUID() })).toBe("cancelled");
  expect(receiver.received(path)).toEqual([]);
  expect(await deliveryRow(delivery)).toMatchObject({ state: "pending", attempts: 0 });
});

test("where the database cannot be asked the engine asks again in a minute", async () => {
  const { parts, waiting, failed } = world;
  const { delivery } = await waiting();
  const store = { ...parts().store, load: () => Promise.reject(new Error("it is away")) };
  const troubled = createDelivery({ ...parts(), store });
  expect(await failed(delivery, troubled)).toEqual({ type: "Trouble", message: "it is away", nextMs: 60_000 });
});
