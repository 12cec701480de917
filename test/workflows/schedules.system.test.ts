/**
 * Schedules belong to a deployment: `npm run schedules` creates, changes and moves them. A worker
 * only checks them: it refuses another task queue, and logs and counts every other fault.
 */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  Client,
  Connection,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from "@temporalio/client";
import { msToTs } from "@temporalio/common/lib/time.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkSchedules } from "../../src/worker/temporal/schedule-watch.ts";
import { ensureSchedules, OtherQueue, scheduleIds } from "../../src/worker/temporal/schedules.ts";
import {
  missingSearchAttributes,
  searchAttributes,
} from "../../src/worker/temporal/search-attributes.ts";
import {
  billingRunType,
  billingScheduleId,
  ledgerSyncScheduleId,
  outboxScheduleId,
} from "../../workflows/contract.ts";
import { freePort } from "../support/ports.ts";
import { programPath } from "../support/process.ts";
import { startSystem, type TestSystem, until } from "../support/system.ts";
import { testTemporal } from "../support/temporal.ts";

let system: TestSystem;
let client: Client;
let metricsPort = 0;

beforeAll(async () => {
  metricsPort = await freePort();
  system = await startSystem({
    without: ["api"],
    env: { WORKER_PORT: String(metricsPort) },
    areSeparate: true,
  });
  const connection = await Connection.connect({ address: system.temporal.address });
  client = new Client({ connection, namespace: system.temporal.namespace });
});

afterAll(async () => {
  await client.connection.close();
  await system.stop();
});

const queues = (): Promise<string[]> =>
  Promise.all(
    scheduleIds.map(
      async (id) => (await client.schedule.getHandle(id).describe()).action.taskQueue,
    ),
  );

const metrics = async (): Promise<string> =>
  (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();

test("a worker of healthy schedules starts and does a run without a warning", async () => {
  await until("its first check is done", async () =>
    (await metrics()).includes("billing_schedule_trouble{"),
  );
  const schedule = client.schedule.getHandle(billingScheduleId);
  await schedule.trigger();
  const [action] = await until("a run has begun", async () => {
    const { recentActions } = (await schedule.describe()).info;
    return recentActions.length > 0 && recentActions;
  });
  await client.workflow.getHandle(action?.action.workflow.workflowId ?? "").result();
  const levels = system.worker
    .output()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).level);
  expect(new Set(levels), system.worker.output()).toEqual(new Set(["info"]));
});

test("a worker of another task queue refuses to start and changes no schedule", async () => {
  await system.worker.stop();
  const started = system.worker.start({ TASK_QUEUE: "eco2" });
  await expect(started).rejects.toThrow("use the task queue billing, this worker eco2");
  expect(system.worker.output()).toContain("TASK_QUEUE=eco2 npm run schedules -- --move");
  expect(system.worker.output()).not.toMatch(/^\s+at /m);
  expect(await queues()).toEqual(["billing", "billing", "billing"]);
});

/** Runs `npm run schedules`: its exit code and what it wrote. */
function command(
  env: NodeJS.ProcessEnv,
  ...args: readonly string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const settings = {
    ...process.env,
    TEMPORAL_ADDRESS: system.temporal.address,
    TEMPORAL_NAMESPACE: system.temporal.namespace,
    ...env,
  };
  const script = programPath("main/commands/schedules.ts");
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...args], { env: settings }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

test("the command of another task queue is refused too, unless it is to move them", async () => {
  const refused = await command({ TASK_QUEUE: "eco2" });
  expect([refused.code, refused.stdout]).toEqual([1, ""]);
  expect(refused.stderr).toContain("use the task queue billing, this worker eco2");
  expect(refused.stderr).not.toMatch(/^\s+at /m);
  expect(await queues()).toEqual(["billing", "billing", "billing"]);
});

test("the command names wrong settings, wrong options and an unreachable server", async () => {
  const wrong = await command({ TEMPORAL_TLS: "maybe", TEMPORAL_PAYLOAD_KEY: "hunter2" });
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toBe(
    "TEMPORAL_TLS=maybe must be one of true, false, 1, 0.\n" +
      "TEMPORAL_PAYLOAD_KEY must be 32 random bytes in base64 (openssl rand -base64 32).\n",
  );
  expect(await command({}, "--force")).toMatchObject({
    code: 2,
    stderr: "Usage: npm run schedules [-- --move]\n",
  });
  const nowhere = `127.0.0.1:${await freePort()}`;
  const away = await command({ TEMPORAL_ADDRESS: nowhere });
  expect(away.code).toBe(1);
  expect(away.stderr).toContain(`Temporal at ${nowhere}: `);
  // The library's own words alone would not say why.
  expect(away.stderr).toMatch(/Failed to describe schedule: .*(UNAVAILABLE|DEADLINE_EXCEEDED)/);
});

test("the command repairs a schedule, and an operator's pause stays", async () => {
  const schedule = client.schedule.getHandle(outboxScheduleId);
  await schedule.pause("an incident is open");
  await schedule.update((before) => ({ ...before, spec: { intervals: [{ every: "1 day" }] } }));
  const { code, stdout } = await command({});
  expect([code, stdout]).toEqual([
    0,
    `billing-run, outbox-relay, ledger-sync (namespace ${system.temporal.namespace}) start their ` +
      "runs on the task queue billing now\n",
  ]);
  const { spec, state, policies } = await schedule.describe();
  expect(spec.intervals).toMatchObject([{ every: 60_000 }]);
  expect(policies.overlap).toBe(ScheduleOverlapPolicy.SKIP);
  expect(state).toMatchObject({ paused: true, note: "an incident is open" });
  await schedule.unpause();
});

test("the command moves the schedules and terminates runs of the former queue", async () => {
  const schedule = client.schedule.getHandle(billingScheduleId);
  // No worker is running, so this run would block the next ones for ten minutes.
  // A trigger does nothing while the schedule still counts an earlier run, which it learns late.
  const running = async () => {
    const [run] = (await schedule.describe()).info.runningActions;
    if (run === undefined) await schedule.trigger();
    return run;
  };
  const left = await until("a run is left", running, 1_000);
  const { stdout } = await command({ TASK_QUEUE: "eco2" }, "--move");
  expect(stdout).toContain("start their runs on the task queue eco2 now");
  expect(await queues()).toEqual(["eco2", "eco2", "eco2"]);
  expect((await client.workflow.getHandle(left.workflow.workflowId).describe()).status.name).toBe(
    "TERMINATED",
  );
  await system.worker.start({ TASK_QUEUE: "eco2" });
  const done = async () => {
    const [last] = (await schedule.describe()).info.recentActions.slice(-1);
    if (last === undefined || last.action.workflow.workflowId === left.workflow.workflowId) {
      await schedule.trigger();
      return false;
    }
    const run = client.workflow.getHandle(last.action.workflow.workflowId);
    return (await run.describe()).status.name === "COMPLETED";
  };
  await until("a run of the new queue is done", done, 1_000);
});

test("a paused schedule is logged, counted and stays paused", async () => {
  await system.worker.stop();
  await client.schedule.getHandle(ledgerSyncScheduleId).pause("an incident is open");
  await system.worker.start({ TASK_QUEUE: "eco2" });
  const sample = (reason: string, value: number) =>
    `billing_schedule_trouble{schedule="${ledgerSyncScheduleId}",reason="${reason}"} ${value}`;
  await until("it is shown", async () => (await metrics()).includes(sample("paused", 1)));
  expect(await metrics()).toContain(sample("missing", 0));
  expect(system.worker.output()).toContain(
    "the schedule ledger-sync is paused (an incident is open)",
  );
  expect((await client.schedule.getHandle(ledgerSyncScheduleId).describe()).state.paused).toBe(
    true,
  );
  expect((await fetch(`http://127.0.0.1:${metricsPort}/other`)).status).toBe(404);
});

test("a worker that starts before the schedules exist says so and works", async () => {
  await system.worker.stop();
  for (const id of scheduleIds) await client.schedule.getHandle(id).delete();
  await until("they are gone", async () => {
    const troubles = await checkSchedules(client, "eco2");
    return troubles.every(({ reason }) => reason === "missing") && troubles.length === 3;
  });
  await system.worker.start({ TASK_QUEUE: "eco2" });
  for (const id of scheduleIds) {
    const sample = `billing_schedule_trouble{schedule="${id}",reason="missing"} 1`;
    await until(`${id} is counted`, async () => (await metrics()).includes(sample));
    expect(system.worker.output()).toContain(
      `the schedule ${id} is missing: npm run schedules creates it`,
    );
  }
  const handle = await client.workflow.start(billingRunType, {
    workflowId: "by-hand",
    taskQueue: "eco2",
  });
  await handle.result();
  await expect(client.schedule.getHandle(billingScheduleId).describe()).rejects.toThrow(
    ScheduleNotFoundError,
  );
  expect((await command({ TASK_QUEUE: "eco2" })).code).toBe(0);
  expect(await queues()).toEqual(["eco2", "eco2", "eco2"]);
});

test("the command registers missing search attributes, and a worker only warns", async () => {
  const connection = client.connection as Connection;
  const namespace = `test-${randomUUID()}`;
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: msToTs("1 day"),
  });
  await system.worker.stop();
  await system.worker.start({ TEMPORAL_NAMESPACE: namespace, TASK_QUEUE: "eco2" });
  await until("it is logged", async () =>
    system.worker
      .output()
      .includes(`search attributes are missing: ${searchAttributes.join(", ")}`),
  );
  expect(await missingSearchAttributes(connection, namespace)).toEqual(searchAttributes);
  const { code, stdout } = await command({ TEMPORAL_NAMESPACE: namespace, TASK_QUEUE: "eco2" });
  expect(code).toBe(0);
  expect(stdout).toContain(`search attributes were registered: ${searchAttributes.join(", ")}`);
  expect(await missingSearchAttributes(connection, namespace)).toEqual([]);
});

test("of two task queues that are set up at once, one gets all schedules", async () => {
  const { address, namespace } = await testTemporal();
  const connection = await Connection.connect({ address });
  const own = new Client({ connection, namespace });
  try {
    const ends = await Promise.allSettled(["one", "two"].map((name) => ensureSchedules(own, name)));
    const refused = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
    expect(refused).toEqual([expect.any(OtherQueue)]);
    const winner = ends[0]?.status === "fulfilled" ? "one" : "two";
    for (const id of scheduleIds)
      expect((await own.schedule.getHandle(id).describe()).action.taskQueue).toBe(winner);
  } finally {
    await connection.close();
  }
});

test("checkSchedules finds missing, paused, late and foreign schedules only", async () => {
  const { address, namespace } = await testTemporal();
  const connection = await Connection.connect({ address });
  const own = new Client({ connection, namespace });
  try {
    await ensureSchedules(own, "mine");
    expect(await checkSchedules(own, "mine")).toEqual([]);
    const inFiveMinutes = new Date(Date.now() + 5 * 60_000);
    const late = await checkSchedules(own, "mine", inFiveMinutes);
    expect(late.map(({ schedule, reason }) => [schedule, reason])).toEqual(
      scheduleIds.map((id) => [id, "late"]),
    );
    await own.schedule.getHandle(billingScheduleId).pause();
    await own.schedule.getHandle(ledgerSyncScheduleId).delete();
    const changes = own.schedule.getHandle(outboxScheduleId);
    await changes.update(
      (before) => ({ ...before, action: { ...before.action, taskQueue: "theirs" } }) as never,
    );
    const found = await until("the deletion is seen", async () => {
      const troubles = await checkSchedules(own, "mine");
      return troubles.length === 3 && troubles;
    });
    const reasons = Object.fromEntries(found.map(({ schedule, reason }) => [schedule, reason]));
    expect(reasons).toEqual({
      [billingScheduleId]: "paused",
      [outboxScheduleId]: "other_queue",
      [ledgerSyncScheduleId]: "missing",
    });
    // One foreign schedule is enough: the missing one is not created on this queue either.
    await expect(ensureSchedules(own, "mine")).rejects.toThrow(OtherQueue);
    await expect(own.schedule.getHandle(ledgerSyncScheduleId).describe()).rejects.toThrow(
      ScheduleNotFoundError,
    );
  } finally {
    await connection.close();
  }
});
