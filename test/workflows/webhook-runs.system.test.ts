/**
 * Deliveries in the real service: attempts over the 20 hours, which are shortened, workers killed
 * at each step, dead endpoints, and what an operator sees of the runs, whose histories must replay.
 * With RECORD_HISTORIES set they are stored.
 */
import { randomBytes } from "node:crypto";
import type { Client } from "@temporalio/client";
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";
import { expect } from "vitest";
import { verifyWebhook } from "../../packages/client/src/webhook.ts";
import { pauseAfter } from "../../src/domain/events/retry-schedule.ts";
import { createEncryption } from "../../src/store/database/encryption.ts";
import { createStartWork } from "../../src/worker/temporal/start-work.ts";
import {
  billingScheduleId,
  defaultTaskQueue,
  deliveriesWorkflowId,
  webhookQueue,
} from "../../workflows/contract.ts";
import { deliveryCrashPoints } from "../support/crash-points.ts";
import { perFile, started } from "../support/file-fixture.ts";
import { systemTest } from "../support/fixtures.ts";
import { deliveriesOf, tables } from "../support/rows.ts";
import { type TestSystem, until } from "../support/system.ts";
import {
  type SeededDelivery,
  type SeededEndpoint,
  webhookBuilder,
} from "../support/webhook-builder.ts";
import { startReceiver } from "../support/webhook-receiver.ts";
import { expectReplayable } from "./recorded-history.ts";

/** Then 20 hours are 48 seconds, and four hours are ten. */
const firstPauseMs = 20;

let refused: Made;

interface Made {
  readonly path: string;
  readonly endpoint: SeededEndpoint;
  readonly delivery: SeededDelivery;
}

const key = randomBytes(32);

const test = systemTest
  .extend("settings", perFile, {
    without: ["api", "worker"],
    env: {
      WEBHOOK_ADDRESSES: "development",
      SECRET_KEY: key.toString("base64"),
      WEBHOOK_RETRY_MILLISECONDS: String(firstPauseMs),
    },
  })
  .extend("rows", perFile, ({ system }) => webhookBuilder(system.pool, createEncryption(key)))
  .extend(
    "receiver",
    perFile,
    started(startReceiver, (receiver) => receiver.stop()),
  )
  .extend("organisationId", perFile, ({ rows }) => rows.organisation())
  .extend(
    "start",
    perFile,
    ({ client, organisationId }) =>
      async ({ id: endpointId }: SeededEndpoint): Promise<void> => {
        const work = createStartWork(client, defaultTaskQueue, () => false);
        await until("it is started", () => work.startDeliveries({ organisationId, endpointId }));
      },
  )
  /** An endpoint at a new path with a delivery, which is started. */
  .extend(
    "made",
    perFile,
    ({ rows, receiver, organisationId, start }) =>
      async (path: string): Promise<Made> => {
        const endpoint = await rows.endpoint(organisationId, receiver.url(path));
        const [delivery] = await rows.events([endpoint], 1);
        if (delivery === undefined) throw new Error("there is no delivery");
        await start(endpoint);
        return { path, endpoint, delivery };
      },
  );

const runOf = (client: Client, { id }: SeededEndpoint) =>
  client.workflow.getHandle(deliveriesWorkflowId(id));

async function rowOf(system: TestSystem, { delivery }: Made) {
  const [row] = await deliveriesOf(system.pool, { id: delivery.deliveryId });
  if (row === undefined) throw new Error("there is no delivery");
  return row;
}

const untilState = (system: TestSystem, one: Made, state: string) =>
  until(
    `the delivery to ${one.path} is ${state}`,
    async () => (await rowOf(system, one)).state === state,
  );

test("a worker killed at any step leaves each delivery done, with the same event", async ({
  system,
  client,
  receiver,
  made,
}) => {
  const killed: Made[] = [];
  for (const point of deliveryCrashPoints) {
    // It may die before it reports that it is ready, so its start is not awaited.
    void system.worker.start({ BILLING_CRASH_AT: point }).catch(() => undefined);
    killed.push(await made(`/${point}`));
    await system.worker.exited();
  }
  // As if the minute of their claims were over.
  await tables(system.pool).webhookDelivery.updateMany({ data: { claimedUntil: new Date() } });
  await system.worker.start();
  // The last tests' subject takes its time meanwhile.
  receiver.answer("/refusing", { status: 500, body: "the endpoint's own words" });
  refused = await made("/refusing");
  for (const one of killed) {
    await untilState(system, one, "delivered");
    const came = receiver.received(one.path);
    expect(came.length).toBeGreaterThan(0);
    for (const { body, headers } of came) {
      expect(body).toBe(one.delivery.body);
      const header = headers["billing-signature"] as string;
      const verdict = await verifyWebhook({ header, body, secret: one.endpoint.secret });
      expect(verdict).toMatchObject({ ok: true });
    }
    await until(
      "its run has ended",
      async () => (await runOf(client, one.endpoint).describe()).status.name === "COMPLETED",
    );
    expect((await runOf(client, one.endpoint).describe()).searchAttributes).toMatchObject({
      Outcome: ["done"],
    });
  }
  // What was answered as the worker died was written nowhere.
  const sent = killed.reduce((sum, { path }) => sum + receiver.received(path).length, 0);
  expect(sent).toBeGreaterThan(killed.length);
});

test("deliveries to two dead endpoints of ten do not delay the others", async ({
  system,
  client,
  rows,
  receiver,
  organisationId,
  start,
}) => {
  const paths = Array.from({ length: 10 }, (_, index) => `/endpoint-${index}`);
  const [failing, hanging] = paths as [string, string];
  receiver.answer(failing, { status: 500 });
  receiver.answer(hanging, { afterMs: 2_000, hangUp: true });
  const endpoints = await Promise.all(
    paths.map((path) => rows.endpoint(organisationId, receiver.url(path))),
  );
  const deliveries = await rows.events(endpoints, 20);
  await Promise.all(endpoints.map(start));
  const statesOf = async ({ id }: SeededEndpoint) => {
    const found = await deliveriesOf(system.pool, { endpointId: id });
    return found.map(({ state }) => state);
  };
  const [dead, living] = [endpoints.slice(0, 2), endpoints.slice(2)];
  for (const endpoint of living) {
    await until("it has all its events", async () =>
      (await statesOf(endpoint)).every((state) => state === "delivered"),
    );
  }
  for (const endpoint of dead) expect(await statesOf(endpoint)).not.toContain("delivered");
  const wanted = new Set(deliveries.map(({ eventId }) => eventId));
  for (const path of paths.slice(2)) {
    expect(new Set(receiver.received(path).map(({ body }) => JSON.parse(body).id))).toEqual(wanted);
  }
  expect(receiver.maxAtOnce(hanging)).toBeLessThanOrEqual(5);
  const [endpoint] = living as [SeededEndpoint];
  await expectReplayable(client, deliveriesWorkflowId(endpoint.id), "deliveries");
  const { searchAttributes } = await runOf(client, endpoint).describe();
  expect(searchAttributes).toMatchObject({
    OrganisationId: [organisationId],
    EndpointId: [endpoint.id],
    JobKind: ["deliver_events"],
    Outcome: ["done"],
  });
});

test("an endpoint that refuses is retried with growing pauses until it is exhausted", async ({
  system,
  client,
  receiver,
}) => {
  await untilState(system, refused, "exhausted");
  await expectReplayable(client, deliveriesWorkflowId(refused.endpoint.id), "deliveries-exhausted");
  const attempts = await tables(system.pool).webhookAttempt.findMany({
    where: { deliveryId: refused.delivery.deliveryId },
    orderBy: { number: "asc" },
    select: { at: true },
  });
  // Eleven on a machine that has the time.
  expect(attempts.length).toBeGreaterThanOrEqual(3);
  expect(attempts.length).toBeLessThanOrEqual(11);
  expect(receiver.received(refused.path)).toHaveLength(attempts.length);
  for (const [index, { at }] of attempts.slice(1).entries()) {
    const pauseMs = at.getTime() - (attempts[index]?.at.getTime() ?? 0);
    expect(pauseMs).toBeGreaterThanOrEqual(pauseAfter(index + 1, firstPauseMs, 1) - 5);
  }
  const history = await runOf(client, refused.endpoint).fetchHistory();
  const text = historyToJSON(history);
  const payloads = [...text.matchAll(/"data": ?"([^"]+)"/g)].map(([, data = ""]) =>
    Buffer.from(data, "base64").toString(),
  );
  const shown = [text, ...payloads].join("\n");
  for (const secret of [refused.endpoint.secret, receiver.url(refused.path), "own words", "Zoë"]) {
    expect(shown).not.toContain(secret);
  }
  const metadata = await runOf(client, refused.endpoint).query<{ currentDetails: string }>(
    "__temporal_workflow_metadata",
  );
  expect(metadata.currentDetails).toMatch(
    /^0 delivered, \d+ attempts failed, 1 exhausted, 0 cancelled$/,
  );
});

test("a delivery whose run was lost is started again by the next relay", async ({
  system,
  client,
  receiver,
  made,
}) => {
  receiver.answer("/lost", { status: 503, headers: { "retry-after": "3600" } });
  const lost = await made("/lost");
  await until("it was tried", async () => (await rowOf(system, lost)).attempts > 0);
  await runOf(client, lost.endpoint).terminate("lost with its server");
  receiver.answer("/lost", {});
  await tables(system.pool).webhookDelivery.updateMany({
    where: { id: lost.delivery.deliveryId },
    data: { dueAt: new Date() },
  });
  await client.schedule.getHandle(billingScheduleId).trigger();
  await untilState(system, lost, "delivered");
});

test("a run that waits for its next attempt is woken by new due deliveries", async ({
  system,
  client,
  receiver,
  made,
  start,
}) => {
  receiver.answer("/waits", { status: 503, headers: { "retry-after": "3600" } });
  const waits = await made("/waits");
  await until("it was tried", async () => (await rowOf(system, waits)).attempts > 0);
  await until("it waits", async () => {
    const { events } = await runOf(client, waits.endpoint).fetchHistory();
    return (events ?? []).some((one) => one.timerStartedEventAttributes);
  });
  const { runId } = await runOf(client, waits.endpoint).describe();
  receiver.answer("/waits", {});
  await tables(system.pool).webhookDelivery.updateMany({
    where: { id: waits.delivery.deliveryId },
    data: { dueAt: new Date() },
  });
  await start(waits.endpoint);
  await untilState(system, waits, "delivered");
  expect((await runOf(client, waits.endpoint).describe()).runId).toBe(runId);
});

test("every task of a delivery is on the queue of webhooks", async ({ client }) => {
  const queue = webhookQueue(defaultTaskQueue);
  let tasks = 0;
  for await (const { workflowId, runId } of client.workflow.list({
    query: "WorkflowType = 'endpointDeliveries'",
  })) {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    for (const event of events ?? []) {
      const given =
        event.workflowExecutionStartedEventAttributes?.taskQueue ??
        event.workflowTaskScheduledEventAttributes?.taskQueue ??
        event.activityTaskScheduledEventAttributes?.taskQueue;
      if (given === undefined || given === null) continue;
      // A worker's own, for the runs that it has in memory, says whose it is.
      expect(given.normalName || given.name).toBe(queue);
      tasks += 1;
    }
  }
  expect(tasks).toBeGreaterThan(30);
});
