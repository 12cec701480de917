/**
 * Webhook deliveries have a separate task queue. No task of a delivery enters the queue of other
 * work, and requests are answered while every delivery permit is taken and hundreds are pending.
 * The isolation of the queues is what is tested here. Latency, processor time and database
 * connections are not. WEBHOOK-4.
 */
import { randomBytes } from "node:crypto";
import { Client, Connection } from "@temporalio/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEncryption } from "../../src/store/database/encryption.ts";
import { createStartWork } from "../../src/worker/temporal/start-work.ts";
import { defaultTaskQueue, webhookQueue } from "../../workflows/contract.ts";
import { countDeliveries } from "../support/rows.ts";
import { startSystem, type TestSystem, until } from "../support/system.ts";
import { type SeededEndpoint, webhookBuilder } from "../support/webhook-builder.ts";
import { startReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";
import { type EndsBuilder, endPost, endsBuilder } from "./ends-builder.ts";

/** `TaskQueueType` of Temporal's API. */
const [workflowTasks, activityTasks] = [1, 2];

/** More than the places for endpoints that a worker has. */
const endpointCount = 250;

let system: TestSystem;
let ends: EndsBuilder;
let connection: Connection;
let client: Client;
let receiver: WebhookReceiver;
let endpoints: readonly SeededEndpoint[];

beforeAll(async () => {
  const key = randomBytes(32);
  // The endpoints' secrets are encrypted with a key of this test; the worker's own key encrypts
  // credentials.
  const env = {
    WEBHOOK_ADDRESSES: "development",
    SECRET_KEYS_BEFORE: key.toString("base64"),
    // As in service: no test here needs an answer to count as lost.
    LEDGER_CALL_SECONDS: "20",
  };
  system = await startSystem({ without: ["worker"], env });
  ends = endsBuilder(system);
  connection = await Connection.connect({ address: system.temporal.address });
  client = new Client({ connection, namespace: system.temporal.namespace });
  receiver = await startReceiver();
  // Nothing that is sent is answered.
  receiver.answer("/silent", { onceCame: Number.MAX_SAFE_INTEGER });
  const rows = webhookBuilder(system.pool, createEncryption(key));
  const organisations = await Promise.all(Array.from({ length: 25 }, () => rows.organisation()));
  endpoints = (
    await Promise.all(
      organisations.map(async (own) => {
        const created = Array.from({ length: endpointCount / 25 }, () =>
          rows.endpoint(own, receiver.url("/silent")),
        );
        const all = await Promise.all(created);
        await rows.events(all, 4);
        return all;
      }),
    )
  ).flat();
});

afterAll(async () => {
  receiver?.release("/silent");
  await receiver?.stop();
  await connection?.close();
  await system?.stop();
});

/** Tasks that wait in a queue. */
async function backlog(name: string, taskQueueType: number): Promise<number> {
  const { stats } = await client.workflowService.describeTaskQueue({
    namespace: system.temporal.namespace,
    taskQueue: { name },
    taskQueueType,
    reportStats: true,
  });
  return Number(stats?.approximateBacklogCount ?? 0);
}

test("deliveries put no task into the queue of other work", async () => {
  const work = createStartWork(client, defaultTaskQueue, () => false);
  const waiting = endpoints.values();
  const starter = async () => {
    for (const { organisationId, id } of waiting) {
      await until("it is started", () => work.startDeliveries({ organisationId, endpointId: id }));
    }
  };
  await Promise.all(Array.from({ length: 8 }, starter));
  await until("they wait for a worker", async () => {
    return (await backlog(webhookQueue(defaultTaskQueue), workflowTasks)) >= endpointCount;
  });
  // Only the schedules start runs there, each minute a few.
  for (const kind of [workflowTasks, activityTasks])
    expect(await backlog(defaultTaskQueue, kind)).toBeLessThan(endpointCount / 10);
});

test("requests are answered while every delivery permit is taken and hundreds wait", async () => {
  await system.worker.start();
  await until("all places are taken", async () => receiver.received("/silent").length >= 100);
  const own = await ends.builder.sandbox({ test_clock: "2026-04-16T12:00:00Z" });
  const { id } = await ends.builder.subscribe(own, { start_date: "2026-04-01" });
  const endable = { own, id };
  const units = { units: 14, prorate: true, effective_date: "2026-04-16" };
  const { change } = await ends.builder.changed(own, id, units);
  expect(change.invoice.ledger).toMatchObject({ sync_status: "synced" });
  const { path, body } = endPost(endable, "during");
  const ended = await system.ask("POST", path, { key: own.apiKey, idempotencyKey: "during", body });
  expect(ended.status, ended.text).toBe(200);
  const waiting = { state: "pending", attempts: 0 };
  expect(await countDeliveries(system.pool, waiting)).toBeGreaterThan(200);
  await ends.expectEnded(endable);
});
