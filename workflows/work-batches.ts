/**
 * The loop of work that has its own workflow: batches, until one reports that nothing is left. Work
 * is found in the database, so a second run, a restart or a repetition changes nothing.
 */
import { condition, defineSignal, setCurrentDetails, setHandler } from "@temporalio/workflow";
import { type WorkBatch, wakeSignal } from "./contract.ts";
import { idleBatchMs, maxWaitMs } from "./policies.ts";
import { continueInNewRun, endAs, isLongRun } from "./run-end.ts";

const wake = defineSignal(wakeSignal);

/**
 * Runs batches until the work is done, or can be retried only after more than `maxWaitMs`. A
 * start while it runs is a signal: a waiting run checks at once, and one that is about to end
 * checks once more.
 */
export async function workInBatches<Input>(
  input: Input,
  work: (input: Input) => Promise<WorkBatch>,
): Promise<void> {
  let isWoken = false;
  let isRefused = false;
  setHandler(wake, () => {
    isWoken = true;
  });
  setCurrentDetails("the first attempt is under way");
  for (;;) {
    isWoken = false;
    const batch = await work(input);
    setCurrentDetails(batch.detail);
    isRefused ||= batch.outcome === "refused";
    if (!isWoken) {
      if (batch.state === "done") return endAs(isRefused ? "refused" : batch.outcome);
      const waitMs = batch.nextInMs ?? 0;
      if (waitMs > maxWaitMs) return endAs("rescheduled");
      await condition(() => isWoken, Math.max(waitMs, idleBatchMs));
    }
    if (isLongRun()) await continueInNewRun<(again: Input) => Promise<void>>(input);
  }
}
