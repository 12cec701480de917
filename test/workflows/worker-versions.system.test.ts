/**
 * Worker versioning on the real server: two workers of different build ids in this process. Their
 * activity is a double, so that a test decides how long a run lasts.
 */
import { randomUUID } from "node:crypto";
import { Client, Connection } from "@temporalio/client";
import { NativeConnection, Worker } from "@temporalio/worker";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLedgerWork } from "../../src/worker/temporal/ledger-work.ts";
import { versionOf } from "../../src/worker/temporal/run-worker.ts";
import {
  billingScheduleId,
  type LedgerPostingInput,
  ledgerWorkflowId,
  type PostingBatch,
} from "../../workflows/contract.ts";
import { startSystem, until } from "../support/system.ts";
import { testTemporal } from "../support/temporal.ts";
import { quietRuntime } from "../support/temporal-runtime.ts";
import { bundle } from "./bundle.ts";
import { nothing } from "./posting-fixture.ts";

const deploymentName = "billing";
const taskQueue = "billing";

let native: NativeConnection;
let client: Client;
let namespace: string;
const stops: (() => Promise<void>)[] = [];

/** The build ids on which each organisation's batches ran, and what its next batch returns. */
const ranOn = new Map<string, string[]>();
const batches = new Map<string, PostingBatch>();

/** A document waits and cannot be tried for some seconds: the run waits for a wake-up. */
const waits: PostingBatch = { ...nothing, waiting: 1, nextInMs: 20_000 };

/** More is to be posted at once, so the history grows until the run continues in a new one. */
const busy: PostingBatch = { ...nothing, posted: 1, waiting: 1, nextInMs: 0 };

async function startVersion(buildId: string): Promise<void> {
  const worker = await Worker.create({
    connection: native,
    namespace,
    taskQueue,
    workflowBundle: { code: bundle },
    ...versionOf({ deployment: { name: deploymentName, buildId } }),
    activities: {
      postBatch: async ({ organisationId }: LedgerPostingInput): Promise<PostingBatch> => {
        ranOn.set(organisationId, [...(ranOn.get(organisationId) ?? []), buildId]);
        return batches.get(organisationId) ?? nothing;
      },
    },
  });
  const running = worker.run();
  stops.push(async () => {
    worker.shutdown();
    await running;
  });
}

/** As `temporal worker deployment set-current-version` does, once the version's worker polls. */
async function setCurrent(buildId: string, inNamespace = namespace): Promise<void> {
  const { workflowService } = client.connection as Connection;
  const version = { namespace: inNamespace, deploymentName, buildId };
  await until(`${buildId} is current`, () =>
    workflowService.setWorkerDeploymentCurrentVersion({ ...version, identity: "test" }).then(
      () => true,
      () => false,
    ),
  );
}

beforeAll(async () => {
  quietRuntime();
  const temporal = await testTemporal();
  namespace = temporal.namespace;
  const { address } = temporal;
  native = await NativeConnection.connect({ address });
  client = new Client({ connection: await Connection.connect({ address }), namespace });
  await startVersion("one");
  await setCurrent("one");
  await startVersion("two");
});

afterAll(async () => {
  await Promise.all(stops.map((stop) => stop()));
  await native?.close();
  await client?.connection.close();
});

async function wake(organisationId: string): Promise<void> {
  const work = createLedgerWork(client, taskQueue, () => undefined);
  await until("it is woken", () => work.wake(organisationId));
}

test("a run stays on its version, and new runs begin on the current one", async () => {
  const [before, after] = [randomUUID(), randomUUID()];
  batches.set(before, waits);
  await wake(before);
  await until("the first batch ran", async () => ranOn.get(before)?.length === 1);

  await setCurrent("two");
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
  await setCurrent("one");
  batches.set(organisationId, waits);
  await wake(organisationId);
  await until("the first batch ran", async () => ranOn.get(organisationId)?.length === 1);
  const handle = client.workflow.getHandle(ledgerWorkflowId(organisationId));
  const { runId } = await handle.describe();

  await setCurrent("two");
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

test("a worker with a build id polls all queues, and works once it is current", async () => {
  const buildId = "1.4.0";
  const system = await startSystem({
    without: ["api"],
    env: { TEMPORAL_WORKER_BUILD_ID: buildId },
  });
  try {
    const own = system.temporal.namespace;
    await setCurrent(buildId, own);
    const { workflowService } = client.connection as Connection;
    const names = await until("all queues are polled", async () => {
      const { versionTaskQueues } = await workflowService.describeWorkerDeploymentVersion({
        namespace: own,
        deploymentVersion: { deploymentName, buildId },
      });
      const found = new Set(versionTaskQueues.map(({ name }) => name));
      return found.size === 3 && found;
    });
    expect([...names].toSorted()).toEqual(["billing", "billing-renewals", "billing-webhooks"]);
    const runs = new Client({ connection: client.connection, namespace: own });
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
