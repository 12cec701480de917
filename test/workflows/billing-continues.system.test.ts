/**
 * A long billing or relay continues in a new run once its history is long, and reports everything
 * that it has done; doubles replace its batches.
 */
import { randomUUID } from "node:crypto";
import { Client, Connection } from "@temporalio/client";
import { NativeConnection, Worker } from "@temporalio/worker";
import { expect, inject, test } from "vitest";
import { createStartWork } from "../../src/worker/temporal/start-work.ts";
import {
  type BillingBatch,
  billingQueue,
  billingWorkflowId,
  eventsWorkflowId,
  type PublishingBatch,
} from "../../workflows/contract.ts";
import { testTemporal } from "../support/temporal.ts";
import { quietRuntime } from "../support/temporal-runtime.ts";
import { bundled } from "./bundle.ts";
import { started } from "./started.ts";

/** More than the server lets into one history: six events each. */
const batches = Math.ceil(inject("longHistory") / 6) + 10;

const inWords = (count: number) => count.toLocaleString("en");

test("a billing and a relay of many batches keep their progress in a new run", async () => {
  quietRuntime();
  const { address, namespace } = await testTemporal();
  const [connection, native] = await Promise.all([
    Connection.connect({ address }),
    NativeConnection.connect({ address }),
  ]);
  const client = new Client({ connection, namespace });
  const taskQueue = "billing";
  let begun = 0;
  let counts = 0;
  let publishingBatches = 0;
  const activities = {
    publishBatch: async (): Promise<PublishingBatch> => {
      publishingBatches += 1;
      return { published: 10, started: 20, isMore: publishingBatches < batches };
    },
    countDue: async () => {
      counts += 1;
      return batches * 200;
    },
    billBatch: async (): Promise<BillingBatch> => {
      begun += 1;
      return { done: 200, parked: begun === 1 ? 1 : 0, isMore: begun < batches };
    },
  };
  const parts = { connection: native, namespace, activities };
  const workers = await Promise.all([
    Worker.create({ ...parts, taskQueue, ...bundled }),
    Worker.create({ ...parts, taskQueue: billingQueue(taskQueue) }),
  ]);
  const running = workers.map((worker) => worker.run());
  try {
    const organisationId = randomUUID();
    const work = createStartWork(client, taskQueue, () => false);
    const order = { organisationId, until: new Date().toISOString() };
    const handle = await started(client, billingWorkflowId(organisationId), () =>
      work.startBilling(organisationId),
    );
    const first = await handle.describe();
    const publishing = await started(client, eventsWorkflowId(organisationId), () =>
      work.startEvents(order),
    );
    const firstPublishing = await publishing.describe();
    await handle.result();
    const last = await handle.describe();
    expect(last.runId).not.toBe(first.runId);
    expect([begun, counts]).toEqual([batches, 1]);
    const { currentDetails } = await handle.query<{ currentDetails: string }>(
      "__temporal_workflow_metadata",
    );
    expect(currentDetails).toBe(
      `${inWords(batches * 200 - 1)} of about ${inWords(batches * 200)} renewed, 1 parked`,
    );
    expect(last.searchAttributes).toMatchObject({
      OrganisationId: [organisationId],
      Outcome: ["parked"],
    });
    await publishing.result();
    const lastPublishing = await publishing.describe();
    expect(lastPublishing.runId).not.toBe(firstPublishing.runId);
    expect(publishingBatches).toBe(batches);
    const shown = await publishing.query<{ currentDetails: string }>(
      "__temporal_workflow_metadata",
    );
    expect(shown.currentDetails).toBe(
      `published ${inWords(batches * 10)} events, started deliveries to 20 endpoints`,
    );
    expect(lastPublishing.searchAttributes).toMatchObject({
      OrganisationId: [organisationId],
      Outcome: ["done"],
    });
  } finally {
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
    await native.close();
    await connection.close();
  }
});
