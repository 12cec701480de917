/**
 * No worker of another task queue takes the schedules over, and their faults are logged and
 * counted.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client, Connection, ScheduleNotFoundError } from "@temporalio/client";
import { expect } from "vitest";
import { checkSchedules } from "../../src/worker/temporal/schedule-watch.ts";
import { ensureSchedules, OtherQueue, scheduleIds } from "../../src/worker/temporal/schedules.ts";
import {
  billingScheduleId,
  ledgerSyncScheduleId,
  outboxScheduleId,
} from "../../workflows/contract.ts";
import { perFile, started } from "../support/file-fixture.ts";
import { systemTest } from "../support/fixtures.ts";
import { freePort } from "../support/ports.ts";
import { until } from "../support/system.ts";
import { testTemporal } from "../support/temporal.ts";

const root = join(import.meta.dirname, "../..");
const test = systemTest
  .extend("metricsPort", perFile, started(freePort))
  .extend("settings", perFile, ({ metricsPort }) => ({
    without: ["api"] as const,
    env: { WORKER_PORT: String(metricsPort) },
  }));

const queues = (client: Client): Promise<string[]> =>
  Promise.all(
    scheduleIds.map(
      async (id) => (await client.schedule.getHandle(id).describe()).action.taskQueue,
    ),
  );

const metrics = async (metricsPort: number): Promise<string> =>
  (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();

test("a worker of healthy schedules starts without a warning", async ({ system, metricsPort }) => {
  await until("its first check is done", async () =>
    (await metrics(metricsPort)).includes("billing_schedule_trouble{"),
  );
  const levels = system.worker
    .output()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).level);
  expect(
    levels.filter((level) => level !== "info" && level !== 30),
    system.worker.output(),
  ).toEqual([]);
});

test("a worker of another task queue refuses to start and changes no schedule", async ({
  system,
  client,
}) => {
  await system.worker.stop();
  const started = system.worker.start({ TASK_QUEUE: "eco2" });
  await expect(started).rejects.toThrow("use the task queue billing, this worker eco2");
  expect(system.worker.output()).toContain("TASK_QUEUE=eco2 npm run schedules:move");
  expect(system.worker.output()).not.toMatch(/^\s+at /m);
  expect(await queues(client)).toEqual(["billing", "billing", "billing"]);
});

test("schedules:move moves the schedules and terminates runs of the former queue", async ({
  system,
  client,
}) => {
  const schedule = client.schedule.getHandle(billingScheduleId);
  // No worker is running, so this run would block the next ones for ten minutes.
  await schedule.trigger();
  const left = await until(
    "a run is left",
    async () => (await schedule.describe()).info.runningActions[0],
  );
  const env = {
    ...process.env,
    TEMPORAL_ADDRESS: system.temporal.address,
    TEMPORAL_NAMESPACE: system.temporal.namespace,
  };
  const { stdout } = await promisify(execFile)(process.execPath, ["tools/move-schedules.ts"], {
    cwd: root,
    env: { ...env, TASK_QUEUE: "eco2" },
  });
  expect(stdout).toContain("start their runs on the task queue eco2 now");
  expect(await queues(client)).toEqual(["eco2", "eco2", "eco2"]);
  expect((await client.workflow.getHandle(left.workflow.workflowId).describe()).status.name).toBe(
    "TERMINATED",
  );
  await system.worker.start({ TASK_QUEUE: "eco2" });
  await schedule.trigger();
  await until("a run of the new queue is done", async () => {
    const [last] = (await schedule.describe()).info.recentActions.slice(-1);
    if (last === undefined || last.action.workflow.workflowId === left.workflow.workflowId)
      return false;
    return (
      (await client.workflow.getHandle(last.action.workflow.workflowId).describe()).status.name ===
      "COMPLETED"
    );
  });
});

test("a paused schedule is logged, counted and stays paused", async ({
  system,
  client,
  metricsPort,
}) => {
  await system.worker.stop();
  await client.schedule.getHandle(ledgerSyncScheduleId).pause("an incident is open");
  await system.worker.start({ TASK_QUEUE: "eco2" });
  const sample = (reason: string, value: number) =>
    `billing_schedule_trouble{schedule="${ledgerSyncScheduleId}",reason="${reason}"} ${value}`;
  await until("it is shown", async () =>
    (await metrics(metricsPort)).includes(sample("paused", 1)),
  );
  expect(await metrics(metricsPort)).toContain(sample("missing", 0));
  expect(system.worker.output()).toContain(
    "the schedule ledger-sync is paused (an incident is open)",
  );
  expect((await client.schedule.getHandle(ledgerSyncScheduleId).describe()).state.paused).toBe(
    true,
  );
  expect((await fetch(`http://127.0.0.1:${metricsPort}/other`)).status).toBe(404);
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
