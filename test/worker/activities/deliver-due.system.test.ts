/**
 * The activity of an endpoint's deliveries, with a real database and a real receiver: what is sent
 * and recorded, and when the next attempt is due. WEBHOOK-2 to WEBHOOK-6. Its workflow is tested in
 * `test/workflows/webhook-runs.system.test.ts`.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifyWebhook } from "../../../packages/client/src/webhook.ts";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { createPoster } from "../../../src/webhooks/post.ts";
import { createDelivery } from "../../../src/worker/activities/events/deliver-due.ts";
import { freePort } from "../../support/ports.ts";
import { countDeliveries } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import type { SeededDelivery, SeededEndpoint } from "../../support/webhook-builder.ts";
import { about, createDeliveryFixture, type DeliveryFixture, justNow } from "./delivery-fixture.ts";

let fixture: DeliveryFixture;

beforeAll(async () => {
  fixture = await createDeliveryFixture();
});

afterAll(() => fixture?.stop());

const nothing = { delivered: 0, failed: 0, exhausted: 0, dropped: 0, nextInMs: null };

test("an event is sent as it was stored, signed, and its attempt is recorded", async () => {
  const { receiver, deliver, deliveryRow, endpointRow, attemptsOf, waiting } = fixture;
  const { path, endpoint, key, delivery } = await waiting();
  receiver.answer(path, {
    status: 202,
    body: "Thank you\0, Zoë",
    headers: { "content-type": "text/plain" },
  });
  expect(await deliver.deliverDue(key)).toEqual({ ...nothing, delivered: 1 });
  const [request] = receiver.received(path);
  expect(request?.body).toBe(delivery.body);
  expect(request?.headers["content-type"]).toBe("application/json; charset=utf-8");
  const header = String(request?.headers["billing-signature"]);
  const received = { header, body: delivery.body, secret: endpoint.secret };
  expect(await verifyWebhook(received)).toMatchObject({ ok: true });
  expect(header).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
  const shown = {
    state: "delivered",
    attempts: 1,
    due_at: null,
    last_status: 202,
    last_error: null,
  };
  expect(await deliveryRow(delivery)).toMatchObject(shown);
  const answered = { number: 1, status: 202, error: null, answer: "Thank you, Zoë" };
  expect(await attemptsOf(delivery)).toEqual([
    { ...answered, latency_ms: expect.any(Number), at: justNow },
  ]);
  const well = { failures: 0, failing_since: null, open_until: null, succeeded_at: justNow };
  expect(await endpointRow(endpoint)).toMatchObject(well);
  expect(await deliver.deliverDue(key)).toEqual(nothing);
  expect(receiver.received(path)).toHaveLength(1);
});

test("each attempt is signed again, with two secrets for a time after a rotation", async () => {
  const { receiver, attempt, attemptsOf, waiting, rows, changeEndpoint } = fixture;
  const { path, endpoint, delivery } = await waiting();
  receiver.answer(path, { status: 500, body: "no" });
  await attempt(delivery);
  const newest = await rows.rotate(endpoint, 3600);
  await attempt(delivery);
  await changeEndpoint(endpoint, "previous_until = now()");
  receiver.answer(path, {});
  expect((await attempt(delivery)).delivered).toBe(1);
  const requests = receiver.received(path);
  expect(requests.map(({ body }) => body)).toEqual([delivery.body, delivery.body, delivery.body]);
  const isSigned = async ({ headers, body }: (typeof requests)[number], secret: string) =>
    (await verifyWebhook({ header: String(headers["billing-signature"]), body, secret })).ok;
  const verdicts = await Promise.all(
    requests.map((one) =>
      Promise.all([endpoint.secret, newest].map((secret) => isSigned(one, secret))),
    ),
  );
  expect(verdicts).toEqual([
    [true, false],
    [true, true],
    [false, true],
  ]);
  const signatures = requests.map(
    ({ headers }) => String(headers["billing-signature"]).split("v1=").length - 1,
  );
  expect(signatures).toEqual([1, 2, 1]);
  expect((await attemptsOf(delivery)).map(({ status, error }) => [status, error])).toEqual([
    [500, "the endpoint answered 500"],
    [500, "the endpoint answered 500"],
    [200, null],
  ]);
});

test("a failed delivery is due again after 0.5, 1.5, 4.5 and 13.5 minutes", async () => {
  const { receiver, attempt, deliveryRow, attemptsOf, waiting, changeEndpoint } = fixture;
  const { path, endpoint, delivery } = await waiting();
  receiver.answer(path, {
    status: 302,
    headers: { location: receiver.url("/elsewhere") },
    body: "elsewhere",
  });
  expect(await attempt(delivery)).toEqual({ ...nothing, failed: 1, nextInMs: about(30_000) });
  expect(receiver.received("/elsewhere")).toEqual([]);
  const error = "the endpoint answered 302, and redirects are not followed";
  const redirected = {
    state: "pending",
    attempts: 1,
    last_status: 302,
    last_error: error,
    in_ms: about(30_000),
  };
  expect(await deliveryRow(delivery)).toMatchObject(redirected);
  receiver.answer(path, { hangUp: true });
  expect((await attempt(delivery)).nextInMs).toEqual(about(90_000));
  expect(await deliveryRow(delivery)).toMatchObject({
    last_status: null,
    last_error: expect.any(String),
  });
  await changeEndpoint(endpoint, `url = 'http://127.0.0.1:${await freePort()}/'`);
  expect((await attempt(delivery)).nextInMs).toEqual(about(270_000));
  // An address of a private network is refused like one that does not answer.
  await changeEndpoint(endpoint, "url = 'http://10.0.0.1/hook'");
  expect((await attempt(delivery)).nextInMs).toEqual(about(810_000));
  const [, , , refused] = await attemptsOf(delivery);
  expect(refused).toMatchObject({
    status: null,
    answer: null,
    error: "the address must be of the public network",
  });
});

test("Retry-After of 429 and 503 moves the next attempt, by four hours at most", async () => {
  const { receiver, attempt, deliveryRow, endpointRow, waiting } = fixture;
  const { path, endpoint, delivery } = await waiting();
  const after = async (status: number, seconds: string) => {
    receiver.answer(path, { status, headers: { "retry-after": seconds } });
    await attempt(delivery);
    return (await deliveryRow(delivery)).in_ms;
  };
  expect(await after(429, "120")).toEqual(about(120_000));
  expect(await after(503, "86400")).toEqual(about(4 * 3_600_000));
  expect(await after(500, "3600")).toEqual(about(270_000));
  expect(await after(429, "1")).toEqual(about(810_000));
  expect(await endpointRow(endpoint)).toMatchObject({ failures: 4 });
});

test("410 Gone disables the endpoint and ends its deliveries without a request", async () => {
  const { receiver, deliver, deliveryRow, endpointRow, waiting, reports, changeEndpoint, record } =
    fixture;
  const { path, endpoint, key, deliveries } = await waiting(20);
  const [, other] = deliveries as [SeededDelivery, SeededDelivery];
  receiver.answer(path, { status: 410 });
  expect(await deliver.deliverDue(key)).toEqual({ ...nothing, dropped: 20 });
  expect(await endpointRow(endpoint)).toMatchObject({
    status: "disabled",
    disabled_reason: "410 Gone",
  });
  expect(reports).toContain(`${endpoint.id} is disabled: 410 Gone`);
  // The concurrent requests were sent, and nothing after them.
  const sent = receiver.received(path).length;
  expect(sent).toBeLessThanOrEqual(5);
  const states = await Promise.all(deliveries.map((each) => deliveryRow(each)));
  expect(states.every(({ state, due_at: due }) => state === "cancelled" && due === null)).toBe(
    true,
  );
  expect(
    states.filter(({ attempts, last_status: status }) => attempts === 1 && status === 410),
  ).toHaveLength(sent);
  // A second answer of a concurrent request changes neither reason nor time.
  const before = await endpointRow(endpoint);
  await changeEndpoint(endpoint, "disabled_reason = 'By hand'");
  const saved = await record(other, { status: 410, error: "410 Gone", verdict: "gone" });
  expect(saved).toEqual({ delivered: 0, dropped: 1, hasDisabled: false });
  const { disabled_at: disabledAt, disabled_reason: reason } = await endpointRow(endpoint);
  expect([disabledAt, reason]).toEqual([before.disabled_at, "By hand"]);
});

describe("an endpoint's breaker", () => {
  test("opens after five consecutive failures, and a probe goes first after its time", async () => {
    const { receiver, deliver, deliveryRow, endpointRow, waiting, changeEndpoint } = fixture;
    const { path, endpoint, key, deliveries } = await waiting(30);
    receiver.answer(path, { status: 500 });
    expect((await deliver.deliverDue(key)).nextInMs).toEqual(about(60_000));
    expect(await endpointRow(endpoint)).toMatchObject({ failures: 5, in_ms: about(60_000) });
    // At most four more were on their way when the fifth failed.
    const sent = receiver.received(path).length;
    expect(sent).toBeLessThanOrEqual(9);
    expect(await deliver.deliverDue(key)).toMatchObject({ failed: 0, nextInMs: about(60_000) });
    expect(receiver.received(path)).toHaveLength(sent);
    const states = await Promise.all(deliveries.map((each) => deliveryRow(each)));
    // They stay due, so that they are sent as soon as the breaker closes.
    expect(
      states.filter(({ attempts, in_ms: ms }) => attempts === 0 && Number(ms) <= 0),
    ).toHaveLength(30 - sent);

    await changeEndpoint(endpoint, "open_until = now()");
    expect(await deliver.deliverDue(key)).toMatchObject({ failed: 1, nextInMs: about(120_000) });
    expect(receiver.received(path)).toHaveLength(sent + 1);
    expect(await endpointRow(endpoint)).toMatchObject({ failures: 6, in_ms: about(120_000) });

    await changeEndpoint(endpoint, "open_until = now()");
    receiver.answer(path, {});
    const { delivered, nextInMs } = await deliver.deliverDue(key);
    expect(delivered).toBe(30 - sent - 1);
    expect(nextInMs).toEqual(about(30_000));
    expect(await endpointRow(endpoint)).toMatchObject({
      failures: 0,
      failing_since: null,
      open_until: null,
    });
  });

  test("delays a delivery of ten hours only until it closes", async () => {
    const { receiver, deliver, waiting, deliveryRow, changeDelivery, changeEndpoint } = fixture;
    const { path, endpoint, key, delivery } = await waiting();
    await changeDelivery(delivery, "began_at = now() - interval '10 hours'");
    await changeEndpoint(
      endpoint,
      "failures = 5, failing_since = now(), open_until = now() + interval '1 minute'",
    );
    expect(await deliver.deliverDue(key)).toEqual({ ...nothing, nextInMs: about(60_000) });
    expect(await deliveryRow(delivery)).toMatchObject({ state: "pending", attempts: 0 });
    await changeEndpoint(endpoint, "open_until = now()");
    expect(await deliver.deliverDue(key)).toEqual({ ...nothing, delivered: 1 });
    expect(receiver.received(path)).toHaveLength(1);
  });

  test("is passed by one probe of several concurrent processes", async () => {
    const { receiver, waiting, parts, changeEndpoint } = fixture;
    const { path, endpoint, key } = await waiting(8);
    receiver.answer(path, { status: 500, onceCame: 2 });
    await changeEndpoint(endpoint, "failures = 5, failing_since = now(), open_until = now()");
    const both = [1, 2].map(() => createDelivery(parts()).deliverDue(key));
    // The other process ends while the first waits for its answer, or before the first is sent.
    await Promise.race(both);
    await expect.poll(() => receiver.received(path)).toHaveLength(1);
    receiver.release(path);
    await Promise.all(both);
    expect(receiver.received(path)).toHaveLength(1);
  });

  test("counts no concurrent attempt after it opened, and is closed by a success", async () => {
    const { receiver, deliver, endpointRow, attemptsOf, waiting, parts, record } = fixture;
    const { path, endpoint, key, deliveries } = await waiting(10);
    // Two processes send five requests each: ten failures are on their way before the first is
    // recorded.
    receiver.answer(path, { status: 500, onceCame: 10 });
    await Promise.all([deliver.deliverDue(key), createDelivery(parts()).deliverDue(key)]);
    expect(receiver.received(path)).toHaveLength(10);
    expect(await endpointRow(endpoint)).toMatchObject({ failures: 5, in_ms: about(60_000) });
    for (const each of deliveries) expect(await attemptsOf(each)).toHaveLength(1);
    // It succeeds while the breaker is open, because it was sent before.
    expect(await record(deliveries[0] as SeededDelivery, {})).toMatchObject({ delivered: 1 });
    expect(await endpointRow(endpoint)).toMatchObject({ failures: 0, open_until: null });
  });
});

test("an endpoint gets at most five concurrent requests", async () => {
  const { receiver, deliver, waiting } = fixture;
  const { path, key } = await waiting(60);
  receiver.answer(path, { onceCame: 5 });
  expect(await deliver.deliverDue(key)).toEqual({ ...nothing, delivered: 60 });
  expect(receiver.maxAtOnce(path)).toBe(5);
});

test("a slow answer delays one of five requests, and no record of the others", async () => {
  const { receiver, deliver, deliveryRow, waiting } = fixture;
  const { path, key, deliveries } = await waiting(200);
  const slow = { onceCame: Number.MAX_SAFE_INTEGER };
  receiver.answer(path, (nth) => (nth === 3 ? slow : {}));
  const done = deliver.deliverDue(key);
  await until("all others are sent", async () => receiver.received(path).length === 200);
  await until("they are recorded", async () => {
    const states = await Promise.all(deliveries.map((each) => deliveryRow(each)));
    return states.filter(({ state }) => state === "delivered").length === 199;
  });
  receiver.release(path);
  expect(await done).toEqual({ ...nothing, delivered: 200 });
});

test("a stopping process sends nothing further and releases its claims", async () => {
  const { receiver, waiting, parts, deliveryRow } = fixture;
  const { path, key, deliveries } = await waiting(40);
  const stopping = new AbortController();
  receiver.answer(path, (nth) => (nth < 30 ? {} : { onceCame: Number.MAX_SAFE_INTEGER }));
  const done = createDelivery({ ...parts(), stopping: stopping.signal }).deliverDue(key);
  await until("five are under way", async () => receiver.received(path).length === 34);
  stopping.abort();
  receiver.release(path);
  expect(await done).toMatchObject({ delivered: 34, nextInMs: 0 });
  const rest = (await Promise.all(deliveries.map((each) => deliveryRow(each)))).filter(
    (row) => row.state === "pending",
  );
  expect(rest).toHaveLength(6);
  expect(rest.every(({ in_ms: ms, attempts }) => Number(ms) <= 0 && attempts === 0)).toBe(true);
});

test("two dead endpoints of ten delay no delivery to the others", async () => {
  const { receiver, rows, organisationId, parts, pool } = fixture;
  const paths = Array.from({ length: 10 }, () => `/${randomUUID()}`);
  const [failing, hanging] = paths as [string, string];
  receiver.answer(failing, { status: 500 });
  // It answers nothing until all others are done.
  receiver.answer(hanging, { onceCame: 6 });
  const endpoints = await Promise.all(
    paths.map((path) => rows.endpoint(organisationId, receiver.url(path))),
  );
  const deliveries = await rows.events(endpoints, 100);
  const poster = createPoster({ mode: "development", totalMs: 100_000 });
  const deliver = createDelivery({ ...parts(), poster });
  const done = endpoints.map(async ({ id }: SeededEndpoint) => {
    const key = { organisationId, endpointId: id };
    for (;;) if ((await deliver.deliverDue(key)).nextInMs !== 0) return;
  });
  await Promise.all(done.filter((_, index) => index !== 1));
  expect(receiver.received(hanging).length).toBeLessThanOrEqual(5);
  // At most four more were on their way when the breaker opened. Each minute one probe follows.
  expect(receiver.received(failing).length).toBeLessThan(15);
  const expected = new Set(deliveries.map(({ eventId }) => eventId));
  for (const path of paths.slice(2)) {
    expect(receiver.maxAtOnce(path)).toBeLessThanOrEqual(5);
    const ids = receiver.received(path).map(({ body }) => JSON.parse(body).id);
    expect(ids).toHaveLength(100);
    expect(new Set(ids)).toEqual(expected);
  }
  const endpointId = { in: endpoints.map(({ id }) => id) };
  const counts = ["delivered", "pending"].map((state) =>
    countDeliveries(pool, { endpointId, state }),
  );
  expect(await Promise.all(counts)).toEqual([800, 200]);
  expect(await countDeliveries(pool, { endpointId })).toBe(1_000);
  receiver.answer(hanging, {});
  receiver.release(hanging);
  await Promise.all(done);
  await poster.close();
});

test("a delivery that cannot be signed is not sent, and waits for the worker's key", async () => {
  const { receiver, attempt, deliveryRow, endpointRow, waiting, parts, reports, pool } = fixture;
  const { path, endpoint, delivery } = await waiting();
  const elsewhere = createDelivery(parts(createEncryption(randomBytes(32))));
  // With twice its age.
  expect(await attempt(delivery, elsewhere)).toEqual({ ...nothing, nextInMs: about(60_000) });
  expect(reports).toContain(`${endpoint.id} is undecryptable`);
  expect(receiver.received(path)).toEqual([]);
  const reason = "the endpoint's signing secret cannot be opened";
  expect(await deliveryRow(delivery)).toMatchObject({
    attempts: 0,
    last_error: reason,
    in_ms: about(60_000),
  });
  expect(await endpointRow(endpoint)).toMatchObject({ failures: 0 });
  // Another endpoint's secret cannot be decrypted for this one.
  const other = await waiting();
  await pool.query(
    `UPDATE webhook_endpoints SET encrypted_secret =
      (SELECT encrypted_secret FROM webhook_endpoints WHERE id = $1) WHERE id = $2`,
    [other.endpoint.id, endpoint.id],
  );
  await attempt(delivery);
  expect(receiver.received(path)).toEqual([]);
});

test("an endpoint that is deleted or another organisation's gets no request", async () => {
  const { receiver, deliver, deliveryRow, waiting, rows } = fixture;
  const { path, key, delivery } = await waiting();
  const stranger = await rows.organisation();
  expect(await deliver.deliverDue({ ...key, organisationId: stranger })).toEqual(nothing);
  expect(await deliver.deliverDue({ ...key, endpointId: randomUUID() })).toEqual(nothing);
  expect(receiver.received(path)).toEqual([]);
  expect(await deliveryRow(delivery)).toMatchObject({ state: "pending", attempts: 0 });
});

test("if the database fails, sent deliveries are recorded by a later statement", async () => {
  const { receiver, parts, waiting, deliver } = fixture;
  const { path, key } = await waiting();
  const { store } = parts();
  const away = { ...store, load: () => Promise.reject(new Error("it is away")) };
  await expect(createDelivery({ ...parts(), store: away }).deliverDue(key)).rejects.toThrow(
    "it is away",
  );
  let records = 0;
  const record: typeof store.record = async (...all) => {
    records += 1;
    if (records === 1) throw new Error("it is away");
    return store.record(...all);
  };
  const troubled = createDelivery({ ...parts(), store: { ...store, record } });
  expect(await troubled.deliverDue(key)).toEqual({ ...nothing, delivered: 1 });
  expect(await deliver.deliverDue(key)).toEqual(nothing);
  expect(receiver.received(path)).toHaveLength(1);
});
