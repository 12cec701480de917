/**
 * The schedule belongs to a deployment: `npm run schedules` creates, changes and moves it. A worker
 * only checks it: it refuses another task queue, and logs and counts every other fault. ADMIN-27
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
import { checkSchedule } from "../../src/worker/temporal/schedule-watch.ts";
import { ensureSchedule, OtherQueue } from "../../src/worker/temporal/schedules.ts";
import {
  missingSearchAttributes,
  searchAttributes,
} from "../../src/worker/temporal/search-attributes.ts";
import { billingRunType, billingScheduleId } from "../../workflows/contract.ts";
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

const queue = async (): Promise<string> =>
  (await client.schedule.getHandle(billingScheduleId).describe()).action.taskQueue;

const metrics = async (): Promise<string> =>
  (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();

test("a worker of a healthy schedule starts and does a run without a warning", async () => {
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

test("a worker of another task queue refuses to start and changes nothing", async () => {
  await system.worker.stop();
  const started = system.worker.start({ TASK_QUEUE: "eco2" });
  await expect(started).rejects.toThrow("uses the task queue billing, this worker eco2");
  expect(system.worker.output()).toContain("TASK_QUEUE=eco2 npm run schedules -- --move");
  expect(system.worker.output()).not.toMatch(/^\s+at /m);
  expect(await queue()).toBe("billing");
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

test("the command of another task queue is refused too, unless it is to move it", async () => {
  const refused = await command({ TASK_QUEUE: "eco2" });
  expect([refused.code, refused.stdout]).toEqual([1, ""]);
  expect(refused.stderr).toContain("uses the task queue billing, this worker eco2");
  expect(refused.stderr).not.toMatch(/^\s+at /m);
  expect(await queue()).toBe("billing");
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

test("the command repairs the schedule, and an operator's pause stays", async () => {
  const schedule = client.schedule.getHandle(billingScheduleId);
  await schedule.pause("an incident is open");
  await schedule.update((before) => ({ ...before, spec: { intervals: [{ every: "1 day" }] } }));
  const { code, stdout } = await command({});
  expect([code, stdout]).toEqual([
    0,
    `billing-run (namespace ${system.temporal.namespace}) starts its runs on the task queue ` +
      "billing\n",
  ]);
  const { spec, state, policies } = await schedule.describe();
  expect(spec.intervals).toMatchObject([{ every: 60_000 }]);
  expect(policies.overlap).toBe(ScheduleOverlapPolicy.SKIP);
  expect(state).toMatchObject({ paused: true, note: "an incident is open" });
  await schedule.unpause();
});

test("the command moves the schedule and terminates runs of the former queue", async () => {
  const schedule = client.schedule.getHandle(billingScheduleId);
  // No worker is running, so this run would block the next one.
  // A trigger does nothing while the schedule still counts an earlier run, which it learns late.
  const running = async () => {
    const [run] = (await schedule.describe()).info.runningActions;
    if (run === undefined) await schedule.trigger();
    return run;
  };
  const left = await until("a run is left", running, 1_000);
  const { stdout } = await command({ TASK_QUEUE: "eco2" }, "--move");
  expect(stdout).toContain("starts its runs on the task queue eco2");
  expect(await queue()).toBe("eco2");
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
  await client.schedule.getHandle(billingScheduleId).pause("an incident is open");
  await system.worker.start({ TASK_QUEUE: "eco2" });
  const sample = (reason: string, value: number) =>
    `billing_schedule_trouble{schedule="${billingScheduleId}",reason="${reason}"} ${value}`;
  await until("it is shown", async () => (await metrics()).includes(sample("paused", 1)));
  expect(await metrics()).toContain(sample("missing", 0));
  expect(system.worker.output()).toContain(
    "the schedule billing-run is paused (an incident is open)",
  );
  expect((await client.schedule.getHandle(billingScheduleId).describe()).state.paused).toBe(true);
  expect((await fetch(`http://127.0.0.1:${metricsPort}/other`)).status).toBe(404);
});

test("a worker that starts before the schedule exists says so and works", async () => {
  await system.worker.stop();
  await client.schedule.getHandle(billingScheduleId).delete();
  await until("it is gone", async () => {
    const trouble = await checkSchedule(client, "eco2");
    return trouble?.reason === "missing";
  });
  await system.worker.start({ TASK_QUEUE: "eco2" });
  const sample = `billing_schedule_trouble{schedule="${billingScheduleId}",reason="missing"} 1`;
  await until("it is counted", async () => (await metrics()).includes(sample));
  expect(system.worker.output()).toContain(
    "the schedule billing-run is missing: npm run schedules creates it",
  );
  const handle = await client.workflow.start(billingRunType, {
    workflowId: "by-hand",
    taskQueue: "eco2",
  });
  await handle.result();
  await expect(client.schedule.getHandle(billingScheduleId).describe()).rejects.toThrow(
    ScheduleNotFoundError,
  );
  expect((await command({ TASK_QUEUE: "eco2" })).code).toBe(0);
  expect(await queue()).toBe("eco2");
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

/** A client of a new namespace, for one test. */
async function withNamespace(run: (client: Client) => Promise<void>): Promise<void> {
  const { address, namespace } = await testTemporal();
  const connection = await Connection.connect({ address });
  try {
    await run(new Client({ connection, namespace }));
  } finally {
    await connection.close();
  }
}

test("of two task queues that are set up at once, one gets the schedule", () =>
  withNamespace(async (own) => {
    const ends = await Promise.allSettled(["one", "two"].map((name) => ensureSchedule(own, name)));
    const refused = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
    expect(refused).toEqual([expect.any(OtherQueue)]);
    const winner = ends[0]?.status === "fulfilled" ? "one" : "two";
    const { action } = await own.schedule.getHandle(billingScheduleId).describe();
    expect(action.taskQueue).toBe(winner);
  }));

test("checkSchedule finds a late, paused, foreign and missing schedule", () =>
  withNamespace(async (own) => {
    await ensureSchedule(own, "mine");
    expect(await checkSchedule(own, "mine")).toBeNull();
    const inFiveMinutes = new Date(Date.now() + 5 * 60_000);
    expect(await checkSchedule(own, "mine", inFiveMinutes)).toMatchObject({ reason: "late" });
    const schedule = own.schedule.getHandle(billingScheduleId);
    await schedule.pause();
    expect(await checkSchedule(own, "mine")).toMatchObject({ reason: "paused" });
    await schedule.update(
      (before) => ({ ...before, action: { ...before.action, taskQueue: "theirs" } }) as never,
    );
    expect(await checkSchedule(own, "mine")).toMatchObject({ reason: "other_queue" });
    await expect(ensureSchedule(own, "mine")).rejects.toThrow(OtherQueue);
    await schedule.delete();
    await until("the deletion is seen", async () => {
      return (await checkSchedule(own, "mine"))?.reason === "missing";
    });
  }));
