/**
 * Worker versioning on the real server: two workers of different build ids in this process. Their
 * activity is a double, so that a test decides how long a run lasts.
 */
import { randomUUID } from "node:crypto";
import { Client, Connection } from "@temporalio/client";
import { NativeConnection, Worker } from "@temporalio/worker";
import { afterAll, beforeAll, expect, test } from "vitest";
import { versionOf } from "../../src/worker/temporal/run-worker.ts";
import { createStartWork } from "../../src/worker/temporal/start-work.ts";
import {
  billingScheduleId,
  ledgerWorkflowId,
  type OrganisationInput,
  type PostingBatch,
} from "../../workflows/contract.ts";
import { startSystem, until } from "../support/system.ts";
import { testTemporal } from "../support/temporal.ts";
import { quietRuntime } from "../support/temporal-runtime.ts";
import { bundled } from "./bundle.ts";
import { nothing } from "./posting-fixture.ts";

const deploymentName = "billing";
const taskQueue = "billing";

let address: string;
let native: NativeConnection;
let client: Client;
const stops: (() => Promise<void>)[] = [];

/** The build ids on which each organisation's batches ran, and what its next batch returns. */
const ranOn = new Map<string, string[]>();
const batches = new Map<string, PostingBatch>();

/** A document waits and cannot be tried for some seconds: the run waits for a wake-up. */
const waits: PostingBatch = { ...nothing, waiting: 1, nextInMs: 20_000 };

/** More is to be posted at once, so the history grows until the run continues in a new one. */
const busy: PostingBatch = { ...nothing, posted: 1, waiting: 1, nextInMs: 0 };

/** A worker without a version. */
const noVersion = "none";

/** Starts a worker of this build id, and returns what stops it. */
async function startWorker(buildId: string, { options }: Client): Promise<() => Promise<void>> {
  const worker = await Worker.create({
    connection: native,
    namespace: options.namespace,
    taskQueue,
    ...bundled,
    ...versionOf({ deployment: buildId === noVersion ? null : { name: deploymentName, buildId } }),
    activities: {
      postBatch: async ({ organisationId }: OrganisationInput): Promise<PostingBatch> => {
        ranOn.set(organisationId, [...(ranOn.get(organisationId) ?? []), buildId]);
        return batches.get(organisationId) ?? nothing;
      },
    },
  });
  const running = worker.run();
  const stop = async () => {
    if (worker.getState() === "RUNNING") worker.shutdown();
    await running;
  };
  stops.push(stop);
  return stop;
}

/** As `temporal worker deployment set-current-version` does, once the version's worker polls. */
async function setCurrent(buildId: string, { options, connection }: Client): Promise<void> {
  const version = { namespace: options.namespace, deploymentName, buildId };
  await until(`${buildId} is current`, () =>
    connection.workflowService
      .setWorkerDeploymentCurrentVersion({ ...version, identity: "test" })
      .then(
        () => true,
        () => false,
      ),
  );
}

beforeAll(async () => {
  quietRuntime();
  const temporal = await testTemporal();
  address = temporal.address;
  native = await NativeConnection.connect({ address });
  const connection = await Connection.connect({ address });
  client = new Client({ connection, namespace: temporal.namespace });
  await startWorker("one", client);
  await setCurrent("one", client);
  await startWorker("two", client);
});

afterAll(async () => {
  await Promise.all(stops.map((stop) => stop()));
  await native?.close();
  await client?.connection.close();
});

async function wake(organisationId: string, by = client): Promise<void> {
  const work = createStartWork(by, taskQueue, () => false);
  await until("it is woken", () => work.wake(organisationId));
}

test("a run stays on its version, and new runs begin on the current one", async () => {
  const [before, after] = [randomUUID(), randomUUID()];
  batches.set(before, waits);
  await wake(before);
  await until("the first batch ran", async () => ranOn.get(before)?.length === 1);

  await setCurrent("two", client);
  await wake(after);
  await until("the new run ran", async () => ranOn.get(after)?.length === 1);
  batches.set(before, nothing);
  await wake(before);
  await until("the earlier run ran again", async () => (ranOn.get(before)?.length ?? 0) > 1);

  expect(new Set(ranOn.get(before))).toEqual(new Set(["one"]));
  expect(ranOn.get(after)).toEqual(["two"]);
  for (const organisationId of [before, after]) {
    const handle = client.workflow.getHandle(ledgerWorkflowId(organisationId));
    await until("it has ended", async () => (await handle.describe()).status.name === "COMPLETED");
  }
});

test("a run that continues in a new one moves to the current version", async () => {
  const organisationId = randomUUID();
  await setCurrent("one", client);
  batches.set(organisationId, waits);
  await wake(organisationId);
  await until("the first batch ran", async () => ranOn.get(organisationId)?.length === 1);
  const handle = client.workflow.getHandle(ledgerWorkflowId(organisationId));
  const { runId } = await handle.describe();

  await setCurrent("two", client);
  batches.set(organisationId, busy);
  await wake(organisationId);
  await until("it continues in a new run", async () => (await handle.describe()).runId !== runId);
  batches.set(organisationId, nothing);
  await until("the new run has ended", async () => {
    return (await handle.describe()).status.name === "COMPLETED";
  });

  const versions = ranOn.get(organisationId) ?? [];
  expect(versions.at(-1)).toBe("two");
  expect(versions.lastIndexOf("one")).toBeLessThan(versions.indexOf("two"));
});

test("a run of workers without a version continues on the first current one", async () => {
  const { namespace } = await testTemporal();
  const own = new Client({ connection: client.connection, namespace });
  const organisationId = randomUUID();
  const stop = await startWorker(noVersion, own);
  batches.set(organisationId, waits);
  await wake(organisationId, own);
  await until("the first batch ran", async () => ranOn.get(organisationId)?.length === 1);

  await startWorker("one", own);
  await setCurrent("one", own);
  await stop();
  batches.set(organisationId, nothing);
  await wake(organisationId, own);
  await until("the next batch ran", async () => (ranOn.get(organisationId)?.length ?? 0) > 1);
  expect(ranOn.get(organisationId)?.slice(0, 2)).toEqual([noVersion, "one"]);
});

test("a worker with a build id polls all queues, and works once it is current", async () => {
  const buildId = "1.4.0";
  const system = await startSystem({
    without: ["api"],
    env: { TEMPORAL_WORKER_BUILD_ID: buildId },
    areSeparate: true,
  });
  try {
    const { namespace } = system.temporal;
    const runs = new Client({ connection: client.connection, namespace });
    await setCurrent(buildId, runs);
    const service = runs.connection.workflowService;
    const names = await until("all queues are polled", async () => {
      const { versionTaskQueues } = await service.describeWorkerDeploymentVersion({
        namespace,
        deploymentVersion: { deploymentName, buildId },
      });
      const found = new Set(versionTaskQueues.map(({ name }) => name));
      return found.size === 3 && found;
    });
    expect([...names].toSorted()).toEqual(["billing", "billing-renewals", "billing-webhooks"]);
    const schedule = runs.schedule.getHandle(billingScheduleId);
    await schedule.trigger();
    await until("a run has ended on this version", async () => {
      const [action] = (await schedule.describe()).info.recentActions;
      if (action === undefined) return false;
      const handle = runs.workflow.getHandle(action.action.workflow.workflowId);
      return (await handle.describe()).status.name === "COMPLETED";
    });
  } finally {
    await system.stop();
  }
});
