/**
 * A long advance of a clock continues in a new run once its history is long. An advance requested
 * as another ends is begun by its workflow. Doubles replace the batches.
 */
import { randomUUID } from "node:crypto";
import { Client, Connection } from "@temporalio/client";
import { NativeConnection, Worker } from "@temporalio/worker";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { TestClockActivities } from "../../src/worker/activities/billing/test-clock.ts";
import { createStartWork, type StartWork } from "../../src/worker/temporal/start-work.ts";
import {
  billingQueue,
  type ClockProgressReport,
  clockWorkflowId,
  progressQuery,
} from "../../workflows/contract.ts";
import { until } from "../support/system.ts";
import { testTemporal } from "../support/temporal.ts";
import { quietRuntime } from "../support/temporal-runtime.ts";
import { bundled } from "./bundle.ts";
import { started } from "./started.ts";

/** More than the server lets into one history: six events each. */
const batches = Math.ceil(inject("longHistory") / 6) + 10;

const taskQueue = "billing";
const advances = new Map<string, TestClockActivities["advanceBatch"]>();
let connection: Connection;
let native: NativeConnection;
let client: Client;
let work: StartWork;
let stop: () => Promise<void>;

beforeAll(async () => {
  quietRuntime();
  const { address, namespace } = await testTemporal();
  [connection, native] = await Promise.all([
    Connection.connect({ address }),
    NativeConnection.connect({ address }),
  ]);
  client = new Client({ connection, namespace });
  work = createStartWork(client, taskQueue, () => false);
  const activities: TestClockActivities = {
    advanceBatch: async (order) => {
      const advanceBatch = advances.get(order.organisationId);
      if (advanceBatch === undefined) throw new Error("an unknown clock");
      return advanceBatch(order);
    },
  };
  const parts = { connection: native, namespace, activities };
  const workers = await Promise.all([
    Worker.create({ ...parts, taskQueue, ...bundled }),
    Worker.create({ ...parts, taskQueue: billingQueue(taskQueue) }),
  ]);
  const running = workers.map((worker) => worker.run());
  stop = async () => {
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
    await native.close();
    await connection.close();
  };
});

afterAll(() => stop?.());

/** The answer of a batch after so many. */
const progressOf = (performed: number): ClockProgressReport => ({
  from: "2026-04-01T00:00:00.000Z",
  target: "2031-04-01T00:00:00.000Z",
  now: "2030-01-01T00:00:00.000Z",
  performed,
  issued: performed,
  parked: 0,
});

test("an advance of many batches keeps its progress in a new run", async () => {
  const organisationId = randomUUID();
  let begun = 0;
  advances.set(organisationId, async () => {
    begun += 1;
    // The last one finds the clock there and reports nothing.
    return begun < batches
      ? { isThere: false, progress: progressOf(begun) }
      : { isThere: true, progress: null };
  });
  const handle = await started(client, clockWorkflowId(organisationId), () =>
    work.startClock(organisationId),
  );
  const first = await handle.describe();
  await handle.result();
  const last = await handle.describe();
  expect(last.runId).not.toBe(first.runId);
  expect(begun).toBe(batches);
  expect(await handle.query(progressQuery)).toEqual(progressOf(batches - 1));
  expect(last.searchAttributes).toMatchObject({
    OrganisationId: [organisationId],
    Outcome: ["done"],
  });
});

test("an advance requested during the last batch of another is begun by its run", async () => {
  const organisationId = randomUUID();
  let begun = 0;
  advances.set(organisationId, async () => {
    begun += 1;
    if (begun === 1) await until("it is heard", () => work.startClock(organisationId));
    return { isThere: true, progress: progressOf(begun) };
  });
  const handle = await started(client, clockWorkflowId(organisationId), () =>
    work.startClock(organisationId),
  );
  const { runId } = await handle.describe();
  await handle.result();
  expect((await handle.describe()).runId).toBe(runId);
  expect(begun).toBe(2);
  expect(await handle.query(progressQuery)).toEqual(progressOf(2));
});
