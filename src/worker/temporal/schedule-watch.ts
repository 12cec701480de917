/**
 * Checks each minute that the schedules exist, run, use this worker's task queue and are on time.
 * It only warns, because an operator may have paused a schedule on purpose. Without the runs
 * nothing is billed, published or synced, and no request fails.
 */
import { type Client, type ScheduleDescription, ScheduleNotFoundError } from "@temporalio/client";
import type { WorkerLog } from "./run-worker.ts";
import { isUnimplemented, messageOf, scheduleIds } from "./schedules.ts";

/** The possible faults of a schedule. */
export const troubleReasons = ["missing", "paused", "other_queue", "late", "unknown"] as const;

/** One fault of one schedule. `words` completes the sentence "the schedule X …". */
export interface ScheduleTrouble {
  readonly schedule: string;
  readonly reason: (typeof troubleReasons)[number];
  readonly words: string;
}

/** The interval of the schedules. */
const everyMs = 60_000;

/** A restart of the server costs two runs. A run lasts seconds, and the next one waits for it. */
const lateMs = 3 * 60_000;

/** Returns the faults of the schedules at `now`. Rejects if the server has no schedules at all. */
export async function checkSchedules(
  { schedule }: Pick<Client, "schedule">,
  taskQueue: string,
  now = new Date(),
): Promise<ScheduleTrouble[]> {
  const found = await Promise.all(
    scheduleIds.map(async (id): Promise<ScheduleTrouble | null> => {
      try {
        const trouble = troubleOf(await schedule.getHandle(id).describe(), taskQueue, now);
        return trouble === null ? null : { schedule: id, ...trouble };
      } catch (error) {
        if (error instanceof ScheduleNotFoundError) {
          return {
            schedule: id,
            reason: "missing",
            words: "is missing: npm run schedules creates it",
          };
        }
        if (isUnimplemented(error)) throw error;
        return { schedule: id, reason: "unknown", words: `could not be read: ${messageOf(error)}` };
      }
    }),
  );
  return found.filter((trouble) => trouble !== null);
}

function troubleOf(
  { action, state, info }: ScheduleDescription,
  taskQueue: string,
  now: Date,
): Omit<ScheduleTrouble, "schedule"> | null {
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

/** `onCheck` gets the faults of each check. */
interface ScheduleWatchSettings {
  readonly log: WorkerLog;
  readonly onCheck: (troubles: readonly ScheduleTrouble[]) => void;
}

/** Checks at once and each minute until stopped, and logs a warning for each fault each time. */
export function watchSchedules(
  client: Pick<Client, "schedule">,
  taskQueue: string,
  { log, onCheck }: ScheduleWatchSettings,
): { stop(): void } {
  let wasLate = new Set<string>();
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const check = async (): Promise<void> => {
    let found: ScheduleTrouble[];
    try {
      found = await checkSchedules(client, taskQueue);
    } catch {
      // The start of the worker has logged it already.
      return;
    }
    if (stopped) return;
    // Late twice in a row: a schedule that was just resumed starts its next run within a minute.
    const troubles = found.filter(
      ({ schedule, reason }) => reason !== "late" || wasLate.has(schedule),
    );
    wasLate = new Set(
      found.filter(({ reason }) => reason === "late").map(({ schedule }) => schedule),
    );
    for (const { schedule, reason, words } of troubles)
      log.warn({ schedule, reason }, `the schedule ${schedule} ${words}`);
    onCheck(troubles);
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
