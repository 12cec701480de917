/**
 * The loop of a piece of work that has a workflow of its own: rounds, until one says that nothing is left to do. What
 * a round finds is in the database, so that a second run, a restart or a repetition changes nothing.
 */
import { condition, continueAsNew, defineSignal, setCurrentDetails, setHandler } from "@temporalio/workflow";
import { type WorkBatch, wakeSignal } from "./contract.ts";
import { idleBatchMs, longestWaitMs } from "./policies.ts";
import { endAs, isLongRun } from "./run-end.ts";

const wake = defineSignal(wakeSignal);

/**
 * Ends when the work is settled, or when it can only be tried again after more than `longestWaitMs`. A start while it
 * runs is a signal: one that waits looks at once, and one that is about to end looks once more.
 */
export async function workInBatches<Input>(input: Input, work: (input: Input) => Promise<WorkBatch>): Promise<void> {
  let isWoken = false;
  let isRefused = false;
  setHandler(wake, () => {
    isWoken = true;
  });
  setCurrentDetails("the first attempt is under way");
  for (;;) {
    isWoken = false;
    const round = await work(input);
    setCurrentDetails(round.detail);
    isRefused ||= round.outcome === "refused";
    if (!isWoken) {
      if (round.state === "settled") return endAs(isRefused ? "refused" : round.outcome);
      const waitMs = round.nextInMs ?? 0;
      if (waitMs > longestWaitMs) return endAs("put_off");
      await condition(() => isWoken, Math.max(waitMs, idleBatchMs));
    }
    if (isLongRun()) await continueAsNew<(again: Input) => Promise<void>>(input);
  }
}
