/**
 * Delivers webhooks, from due to accepted: the relay starts events to endpoints in this process;
 * they are signed, sent and recorded. Once with ten living endpoints, and once with two of ten
 * dead, to see the speed of the others. The floor is the same bodies over bare HTTP. Then the calls
 * that platforms wait for, alone and during 5,000 events for two endpoints.
 *
 * Aim: 1,000 deliveries a second on the embedded engine, no fewer with dead endpoints. Creations,
 * amendments and ends take at most twice as long at the median as without webhooks, and never over
 * three seconds.
 */
import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import { Agent, request } from "undici";
import {
  type SeededDelivery,
  type SeededEndpoint,
  webhookBuilder,
} from "../test/support/webhook-builder.ts";
import { startReceiver, type WebhookReceiver } from "../test/support/webhook-receiver.ts";
import { billingScheduleId } from "../workflows/contract.ts";
import { cpuSecondsUsed } from "./support/cpu.ts";
import { median, printFigure } from "./support/figure.ts";
import { type CallTimes, callUntil } from "./support/platform-calls.ts";
import { isShort } from "./support/short.ts";
import { addKeys, type MeasuredSystem, startMeasuredSystem } from "./support/system.ts";

/** The number of events. `npm run bench -- webhooks 100` takes a tenth. */
const allEvents = 1_000;

const endpointCount = 10;

/** The events that wait during the calls of platforms, and the number of their endpoints. */
const [waitingEvents, waitingEndpoints] = [5_000, 2];

/** How long calls are measured alone. */
const aloneMs = 20_000;

/** The time limit for the relay's start. It also runs each minute. */
const scanMs = 90_000;

/**
 * The time without a request after which the missing ones count as lost. A delivery that was
 * claimed and not sent is repeated within two minutes.
 */
const silenceMs = 240_000;

/** Concurrent requests of the floor: what the worker's limits at ten endpoints allow. */
const floorAtOnce = 50;

interface Measurement {
  readonly deliveriesPerSecond: number;
  readonly cpuMsOfEach: number;
  readonly floorPerSecond: number;
}

function countOf(receiver: WebhookReceiver, paths: readonly string[]): number {
  return paths.reduce((sum, path) => sum + receiver.received(path).length, 0);
}

/** Sends the same bodies by bare requests. Returns requests a second. */
async function measureFloor(receiver: WebhookReceiver, bodies: readonly string[]): Promise<number> {
  const dispatcher = new Agent({ connections: floorAtOnce });
  const waiting = bodies.values();
  const url = receiver.url("/floor");
  const startedMs = performance.now();
  const sender = async () => {
    for (const body of waiting) {
      const answer = await request(url, { dispatcher, method: "POST", body });
      await answer.body.dump();
    }
  };
  await Promise.all(Array.from({ length: floorAtOnce }, sender));
  const seconds = (performance.now() - startedMs) / 1000;
  await dispatcher.close();
  return bodies.length / seconds;
}

/**
 * Waits until the paths have so many requests. Returns the seconds between the first and the last,
 * and the processor time between them.
 */
async function watch(receiver: WebhookReceiver, paths: readonly string[], count: number) {
  const endMs = performance.now() + scanMs;
  while (countOf(receiver, paths) === 0) {
    assert.ok(performance.now() < endMs, "no scan has started anything");
    await wait(5);
  }
  const [firstMs, cpuBefore] = [performance.now(), cpuSecondsUsed(null)];
  let [came, cameMs] = [0, firstMs];
  while (came < count) {
    await wait(20);
    const now = countOf(receiver, paths);
    if (now > came) [came, cameMs] = [now, performance.now()];
    assert.ok(performance.now() - cameMs < silenceMs, `${count - came} of ${count} are lost`);
  }
  return { seconds: (cameMs - firstMs) / 1000, cpuSeconds: cpuSecondsUsed(null) - cpuBefore };
}

/** Rejects unless each living endpoint received each event once, and each delivery is recorded. */
async function requireEachOnce(
  { pool }: MeasuredSystem,
  receiver: WebhookReceiver,
  living: readonly { readonly path: string; readonly endpoint: SeededEndpoint }[],
  deliveries: readonly SeededDelivery[],
): Promise<void> {
  for (const { path, endpoint } of living) {
    const wanted = deliveries
      .filter(({ endpointId }) => endpointId === endpoint.id)
      .map(({ eventId }) => eventId);
    const ids = receiver.received(path).map(({ body }) => JSON.parse(body).id as string);
    assert.deepEqual(ids.toSorted(), wanted.toSorted(), `${path} was not sent each event once`);
  }
  const text = `SELECT count(*)::int AS open FROM webhook_deliveries WHERE endpoint_id = ANY ($1)
    AND (state <> 'delivered' OR attempts <> 1)`;
  const ids = living.map(({ endpoint }) => endpoint.id);
  for (let left = 1, tries = 0; left > 0; tries += 1) {
    assert.ok(tries < 100, `${left} deliveries are not written down`);
    left = (await pool.query<{ open: number }>(text, [ids])).rows[0]?.open ?? 0;
    if (left > 0) await wait(100);
  }
}

/** Creates the endpoints of a new organisation, each at its own path. */
async function createEndpoints(
  { pool, encryption }: MeasuredSystem,
  receiver: WebhookReceiver,
  count: number,
) {
  const rows = webhookBuilder(pool, encryption);
  const organisationId = await rows.organisation();
  const endpoints = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const path = `/${index}`;
      return { path, endpoint: await rows.endpoint(organisationId, receiver.url(path)) };
    }),
  );
  const addEvents = (events: number) =>
    rows.events(
      endpoints.map(({ endpoint }) => endpoint),
      events,
    );
  return { organisationId, endpoints, addEvents };
}

async function measure(
  system: MeasuredSystem,
  events: number,
  deadCount: number,
): Promise<Measurement> {
  const receiver = await startReceiver();
  try {
    const { organisationId, endpoints, addEvents } = await createEndpoints(
      system,
      receiver,
      endpointCount,
    );
    const [dead, living] = [endpoints.slice(0, deadCount), endpoints.slice(deadCount)];
    // The first one is silent until the sender's deadline, the others fail.
    for (const [index, { path }] of dead.entries()) {
      receiver.answer(path, index === 0 ? { onceCame: Number.MAX_SAFE_INTEGER } : { status: 500 });
    }
    const deliveries = await addEvents(events);
    // Autovacuum does this within a minute. Until then statements are planned for the few rows of
    // before, and read them all.
    await system.pool.query("VACUUM ANALYZE");
    await system.runSchedule(billingScheduleId);
    const paths = living.map(({ path }) => path);
    const count = events * living.length;
    const { seconds, cpuSeconds } = await watch(receiver, paths, count);
    await requireEachOnce(system, receiver, living, deliveries);
    // Deliveries that still go to dead endpoints must not disturb the next measurement.
    await system.pool.query(
      `UPDATE webhook_endpoints SET status = 'disabled', disabled_at = now(),
        disabled_reason = 'measured' WHERE organisation_id = $1`,
      [organisationId],
    );
    const bodies = deliveries.slice(0, 5_000).map(({ body }) => body);
    const floorPerSecond = await measureFloor(receiver, bodies);
    return {
      deliveriesPerSecond: count / seconds,
      cpuMsOfEach: (1000 * cpuSeconds) / count,
      floorPerSecond,
    };
  } finally {
    await receiver.stop();
  }
}

/** Measures calls of platforms, first alone and then for as long as deliveries wait. */
async function measureDuringDeliveries(system: MeasuredSystem, events: number) {
  const receiver = await startReceiver();
  try {
    const caller = await system.organisation("Calls");
    const keys = await addKeys(system.pool, caller.organisationId, 50);
    const warmMs = performance.now() + 3_000;
    await callUntil(system, caller, keys, () => performance.now() > warmMs);
    await system.pool.query("VACUUM ANALYZE");
    const aloneEndMs = performance.now() + aloneMs;
    const alone = await callUntil(system, caller, keys, () => performance.now() > aloneEndMs);
    const { endpoints, addEvents } = await createEndpoints(system, receiver, waitingEndpoints);
    const deliveries = await addEvents(events);
    const paths = endpoints.map(({ path }) => path);
    const count = events * endpoints.length;
    const watched = watch(receiver, paths, count);
    while (countOf(receiver, paths) === 0) await Promise.race([wait(5), watched]);
    const during = await callUntil(system, caller, keys, () => countOf(receiver, paths) >= count);
    const { seconds } = await watched;
    await requireEachOnce(system, receiver, endpoints, deliveries);
    return { alone, during, deliveriesPerSecond: count / seconds };
  } finally {
    await receiver.stop();
  }
}

function printDuring(alone: CallTimes, during: CallTimes): void {
  for (const kind of ["creations", "amendments", "ends"] as const) {
    printFigure(`webhooks_during_${kind}_p50`, median(during[kind]), "ms", median(alone[kind]));
    printFigure(
      `webhooks_during_${kind}_worst`,
      Math.max(...during[kind]),
      "ms",
      Math.max(...alone[kind]),
    );
  }
}

/** Figures by the number of dead endpoints. */
const kinds = [
  ["webhooks_alive", 0],
  ["webhooks_two_of_ten_dead", 2],
] as const;

/** Measures all of it and prints the figures. */
export async function run(): Promise<void> {
  const events = Number(process.argv[3] ?? allEvents);
  const system = await startMeasuredSystem();
  try {
    // The worker's first deliveries compile its code.
    await measure(system, 10, 0);
    for (const [name, deadCount] of isShort ? kinds.slice(0, 1) : kinds) {
      const { deliveriesPerSecond, cpuMsOfEach, floorPerSecond } = await measure(
        system,
        events,
        deadCount,
      );
      printFigure(name, deliveriesPerSecond, "deliveries/s", floorPerSecond);
      printFigure(`${name}_cpu`, cpuMsOfEach, "ms");
    }
    if (isShort) return;
    const { alone, during, deliveriesPerSecond } = await measureDuringDeliveries(
      system,
      (waitingEvents * events) / allEvents,
    );
    printDuring(alone, during);
    printFigure("webhooks_during_calls", deliveriesPerSecond, "deliveries/s");
  } finally {
    await system.stop();
  }
}
