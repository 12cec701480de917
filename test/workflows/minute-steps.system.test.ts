/**
 * The steps of each minute on a real Temporal server. Their activities are doubles, so that a test
 * decides which of them is slow or fails. ADMIN-27
 */
import { Client, Connection } from "@temporalio/client";
import { ApplicationFailure } from "@temporalio/common";
import { tsToMs } from "@temporalio/common/lib/time.js";
import { NativeConnection, Worker } from "@temporalio/worker";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkSchedule } from "../../src/worker/temporal/schedule-watch.ts";
import { ensureSchedule } from "../../src/worker/temporal/schedules.ts";
import {
  billingRunType,
  billingScheduleId,
  type DuePage,
  type DuePageInput,
} from "../../workflows/contract.ts";
import { until } from "../support/system.ts";
import { testTemporal } from "../support/temporal.ts";
import { quietRuntime } from "../support/temporal-runtime.ts";
import { bundled } from "./bundle.ts";
import { expectReplayable } from "./recorded-history.ts";

const taskQueue = "billing";

let connection: Connection;
let native: NativeConnection;
let worker: Worker;
let running: Promise<void>;
let client: Client;

type Start = (input: DuePageInput) => Promise<DuePage>;

const nothing: Start = async () => ({ found: 0, started: 0, next: null });

/** What each activity does. */
const activities: Record<string, Start> = {};

function decide(changes: Record<string, Start>): void {
  const names = ["startDue", "startChanged", "startDeliveriesDue", "startDueSyncs"];
  Object.assign(activities, Object.fromEntries(names.map((name) => [name, nothing])), changes);
}

beforeAll(async () => {
  quietRuntime();
  const { address, namespace } = await testTemporal();
  [connection, native] = await Promise.all([
    Connection.connect({ address }),
    NativeConnection.connect({ address }),
  ]);
  client = new Client({ connection, namespace });
  decide({});
  const doubles = Object.keys(activities).map((name) => [
    name,
    (input: DuePageInput) => activities[name]?.(input),
  ]);
  worker = await Worker.create({
    connection: native,
    namespace,
    taskQueue,
    ...bundled,
    activities: Object.fromEntries(doubles),
  });
  running = worker.run();
});

afterAll(async () => {
  worker?.shutdown();
  await running;
  await native?.close();
  await connection?.close();
});

const run = (workflowId: string) =>
  client.workflow.start(billingRunType, { workflowId, taskQueue, args: [] });

test("a run without due work says so", async () => {
  decide({});
  const result = await (await run("nothing")).result();
  expect(result).toEqual({ outcome: "done", words: "nothing was due" });
});

test("a run starts page after page, and says how much of each it started", async () => {
  const pages: (string | null)[] = [];
  decide({
    startDue: async ({ after }) => {
      pages.push(after);
      return { found: 600, started: 599, next: after === null ? "o" : null };
    },
    startDeliveriesDue: async () => ({ found: 1, started: 1, next: null }),
  });
  const result = await (await run("pages")).result();
  const words = "billing of 1,198 of 1,200 organisations started; deliveries of 1 endpoint started";
  expect(result).toEqual({ outcome: "done", words });
  expect(pages).toEqual([null, "o"]);
});

test("a slow step delays no other, and each is bounded below a minute", async () => {
  const done = new Set<string>();
  const other = (name: string): Record<string, Start> => ({
    [name]: async (input) => {
      done.add(name);
      return nothing(input);
    },
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  decide({
    ...other("startDue"),
    ...other("startChanged"),
    ...other("startDeliveriesDue"),
    startDueSyncs: async (input) => {
      await promise;
      return nothing(input);
    },
  });
  const handle = await run("slow");
  await until("the others are done", async () => done.size === 3);
  expect((await handle.describe()).status.name).toBe("RUNNING");
  resolve();
  await handle.result();
  const { events } = await handle.fetchHistory();
  const bounds = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
    scheduled ? [tsToMs(scheduled.scheduleToCloseTimeout)] : [],
  );
  expect(bounds).toHaveLength(4);
  expect(Math.max(...bounds)).toBeLessThan(60_000);
});

test("a step that fails is in the result and a fault of the schedule, and replays", async () => {
  decide({
    startDue: async () => ({ found: 2, started: 2, next: null }),
    startDueSyncs: async () => {
      throw ApplicationFailure.nonRetryable("the database is away");
    },
  });
  await ensureSchedule(client, taskQueue);
  const schedule = client.schedule.getHandle(billingScheduleId);
  const words = "billing of 2 organisations started; ledger sync not started: the database is away";
  const workflowId = await until("a run has ended", async () => {
    await schedule.trigger();
    const [action] = (await schedule.describe()).info.recentActions;
    const id = action?.action.workflow.workflowId;
    return id !== undefined && (await client.workflow.getHandle(id).describe()).closeTime && id;
  });
  const handle = client.workflow.getHandle(workflowId);
  expect(await handle.result()).toEqual({ outcome: "failed", words });
  expect((await handle.describe()).searchAttributes.Outcome).toEqual(["failed"]);
  expect(await checkSchedule(client, taskQueue)).toEqual({
    reason: "failed",
    words: `did not start everything in its last run: ${words}`,
  });
  await expectReplayable(client, workflowId, "minute-failed");
  decide({});
  await until("the next run ends the fault", async () => {
    await schedule.trigger();
    return (await checkSchedule(client, taskQueue)) === null;
  });
});
