/**
 * Checks each minute that the schedule exists, runs, uses this worker's task queue, is on time, and
 * that its last run started everything. It only warns, because an operator may have paused it on
 * purpose. Without the runs nothing is billed, published or synced, and no request fails.
 */
import {
  type Client,
  type ScheduleDescription,
  ScheduleNotFoundError,
  WorkflowNotFoundError,
} from "@temporalio/client";
import { billingScheduleId, type RunResult } from "../../../workflows/contract.ts";
import type { WorkerLog } from "./run-worker.ts";
import { messageOf } from "./schedules.ts";

/** The possible faults of the schedule. */
export const troubleReasons = [
  "missing",
  "paused",
  "other_queue",
  "late",
  "failed",
  "unknown",
] as const;

/** A fault of the schedule. `words` completes the sentence "the schedule billing-run …". */
export interface ScheduleTrouble {
  readonly reason: (typeof troubleReasons)[number];
  readonly words: string;
}

/** The interval of the schedule. */
const everyMs = 60_000;

/** A restart of the server costs two runs. A run lasts seconds, and the next one waits for it. */
const lateMs = 3 * 60_000;

/**
 * Faults that count only if two checks in a row find one: a schedule that was just resumed starts
 * its next run within a minute, and so does the run after one that found the database away.
 */
const passing: readonly ScheduleTrouble["reason"][] = ["late", "failed"];

type Runs = Pick<Client, "schedule" | "workflow">;

/** Returns the fault of the schedule at `now`. */
export async function checkSchedule(
  client: Runs,
  taskQueue: string,
  now = new Date(),
): Promise<ScheduleTrouble | null> {
  try {
    const described = await client.schedule.getHandle(billingScheduleId).describe();
    return troubleOf(described, taskQueue, now) ?? (await failureOf(client, described));
  } catch (error) {
    if (error instanceof ScheduleNotFoundError)
      return { reason: "missing", words: "is missing: npm run schedules creates it" };
    return { reason: "unknown", words: `could not be read: ${messageOf(error)}` };
  }
}

function troubleOf(
  { action, state, info }: ScheduleDescription,
  taskQueue: string,
  now: Date,
): ScheduleTrouble | null {
  if (action.taskQueue !== taskQueue) {
    const words = `uses the task queue ${action.taskQueue}, this worker ${taskQueue}`;
    return { reason: "other_queue", words };
  }
  if (state.paused) {
    const note = state.note || "without a note";
    return {
      reason: "paused",
      words: `is paused (${note}): it starts nothing until it is resumed`,
    };
  }
  const began = info.recentActions.at(-1)?.takenAt ?? info.createdAt;
  const minutes = Math.floor((now.getTime() - began.getTime()) / 60_000);
  return now.getTime() - began.getTime() <= lateMs
    ? null
    : { reason: "late", words: `has started no run for ${minutes} minutes` };
}

/** Returns what the last run that has ended did not start. */
async function failureOf(
  { workflow }: Runs,
  { info }: ScheduleDescription,
): Promise<ScheduleTrouble | null> {
  for (const { action } of info.recentActions.slice(-2).toReversed()) {
    const { workflowId, firstExecutionRunId } = action.workflow;
    const run = workflow.getHandle<() => Promise<RunResult | null>>(
      workflowId,
      firstExecutionRunId,
    );
    try {
      const { status, searchAttributes } = await run.describe();
      if (status.name === "RUNNING") continue;
      if (status.name !== "COMPLETED") {
        const words = `did nothing in its last run, which is ${status.name}: ${workflowId}`;
        return { reason: "failed", words };
      }
      if (searchAttributes.Outcome?.[0] !== "failed") return null;
      const words = `did not start everything in its last run: ${(await run.result())?.words}`;
      return { reason: "failed", words };
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
  return null;
}

/** `onCheck` gets the fault of each check, or null. */
interface ScheduleWatchSettings {
  readonly log: WorkerLog;
  readonly onCheck: (trouble: ScheduleTrouble | null) => void;
}

/** Checks at once and each minute until stopped, and logs a warning for a fault each time. */
export function watchSchedule(
  client: Runs,
  taskQueue: string,
  { log, onCheck }: ScheduleWatchSettings,
): { stop(): void } {
  let before: ScheduleTrouble | null = null;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const check = async (): Promise<void> => {
    const found = await checkSchedule(client, taskQueue);
    if (stopped) return;
    const isNew =
      found !== null && passing.includes(found.reason) && before?.reason !== found.reason;
    before = found;
    const trouble = isNew ? null : found;
    if (trouble !== null) {
      const { reason, words } = trouble;
      const schedule = billingScheduleId;
      log.warn({ schedule, reason }, `the schedule ${schedule} ${words}`);
    }
    onCheck(trouble);
    timer = setTimeout(check, everyMs);
  };
  void check();
  return {
    stop: () => {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
