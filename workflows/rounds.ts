/**
 * The loop of a piece of work that has a workflow of its own: rounds, until one says that nothing is left to do. What
 * a round finds is in the database, so that a second run, a restart or a repetition changes nothing.
 */
import {
  condition,
  continueAsNew,
  defineSignal,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from "@temporalio/workflow";
import { type WorkRound, wakeSignal } from "./contract.ts";
import { idleRoundMs, longestWaitMs } from "./policies.ts";

const wake = defineSignal(wakeSignal);

/** How the work ended, as an operator looks for it. */
export const outcomeKey = { name: "Outcome", type: "KEYWORD" } as const;

/**
 * Ends when the work is settled, or when it can only be tried again after more than `longestWaitMs`. A start while it
 * runs is a signal: one that waits looks at once, and one that is about to end looks once more.
 */
export async function workInRounds<Input>(input: Input, work: (input: Input) => Promise<WorkRound>): Promise<void> {
  let isWoken = false;
  setHandler(wake, () => {
    isWoken = true;
  });
  for (;;) {
    isWoken = false;
    const round = await work(input);
    setCurrentDetails(round.detail);
    if (!isWoken) {
      if (round.state === "settled") {
        upsertSearchAttributes([{ key: outcomeKey, value: round.outcome }]);
        return;
      }
      const waitMs = round.nextInMs ?? 0;
      if (waitMs > longestWaitMs) return;
      await condition(() => isWoken, Math.max(waitMs, idleRoundMs));
    }
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<(again: Input) => Promise<void>>(input);
  }
}
