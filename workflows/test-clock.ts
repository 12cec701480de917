/**
 * Advances a sandbox's test clock: batches move it from one due instant to the next and perform
 * what is due there. Target and progress are in the database, so a second run, a restart or a
 * repetition changes nothing (CLOCK-1).
 */
import {
  defineQuery,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from "@temporalio/workflow";
import type { TestClockActivities } from "../src/worker/activities/billing/test-clock.ts";
import {
  advanceSignal,
  billingQueue,
  type ClockProgressReport,
  progressQuery as progressName,
  type RunResult,
  type TestClockInput,
} from "./contract.ts";
import { batches } from "./policies.ts";
import { continueInNewRun, counted, endAs, isLongRun } from "./run-end.ts";

const advance = defineSignal(advanceSignal);
const progressQuery = defineQuery<ClockProgressReport | null>(progressName);

/** Ends when the clock is at its target and no further advance was requested meanwhile. */
export async function testClock({ progress: known, ...order }: TestClockInput): Promise<RunResult> {
  // Created here because its queue is that of the workflow's own worker.
  const { advanceBatch } = proxyActivities<TestClockActivities>({
    ...batches,
    taskQueue: billingQueue(workflowInfo().taskQueue),
    summary: "move the clock on and perform what is due",
  });
  let progress = known;
  let isRequested = true;
  setHandler(advance, () => {
    isRequested = true;
  });
  setHandler(progressQuery, () => progress);
  while (isRequested) {
    isRequested = false;
    for (;;) {
      const batch = await advanceBatch(order);
      progress = batch.progress ?? progress;
      if (progress !== null) setCurrentDetails(describe(progress));
      if (batch.isThere) break;
      if (isLongRun()) await continueInNewRun<typeof testClock>({ ...order, progress });
    }
  }
  if (progress === null) return endAs("done", "the clock was at its target");
  return endAs(progress.parked > 0 ? "parked" : "done", describe(progress));
}

/**
 * `2027-03-31T11:00:00.000Z on the way from … to …: 1,200 performed, 1,200 invoices issued,
 * 0 parked`.
 */
function describe({ from, target, now, performed, issued, parked }: ClockProgressReport): string {
  const place =
    now === target ? `${now}, from ${from}` : `${now} on the way from ${from} to ${target}`;
  const counts = [
    `${counted(performed)} performed`,
    `${counted(issued)} invoices issued`,
    `${counted(parked)} parked`,
  ];
  return `${place}: ${counts.join(", ")}`;
}
