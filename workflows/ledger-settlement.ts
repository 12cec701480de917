/**
 * One organisation's waiting documents: settles whatever waits, in groups, until ten seconds have brought nothing new.
 * Every commit that leaves a document waiting signals it; the work itself is found in the database, so that a signal more
 * or less, a restart or a second run changes nothing. The group commit of the ledger.
 */
import {
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from "@temporalio/workflow";
import type { SettlementActivities } from "../src/activities/settlement.ts";
import { type LedgerSettlementInput, type SettlementRound, wakeSignal } from "./contract.ts";
import { idleRoundMs, ledgerRound, lingerTime, longestWaitMs } from "./policies.ts";

const { settleRound } = proxyActivities<SettlementActivities>({ ...ledgerRound, summary: "settle what waits" });

const wake = defineSignal(wakeSignal);

/** Ends when nothing waits, or when what waits is further off than `longestWaitMs`. */
export async function ledgerSettlement(input: LedgerSettlementInput): Promise<void> {
  let dirty = true;
  let settled = 0;
  let refused = 0;
  setHandler(wake, () => {
    dirty = true;
  });
  for (;;) {
    while (dirty) {
      dirty = false;
      const round = await settleRound(input);
      settled += round.settled;
      refused += round.refused;
      setCurrentDetails(describe(round, settled, refused));
      if (round.nextInMs !== null && !dirty) {
        if (round.nextInMs > longestWaitMs) return;
        const isProgress = round.settled + round.refused > 0;
        if (!isProgress || round.nextInMs > 0) {
          await condition(() => dirty, Math.max(round.nextInMs, isProgress ? 1 : idleRoundMs));
        }
        dirty = true;
      }
      if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof ledgerSettlement>(input);
    }
    if (!(await condition(() => dirty, lingerTime))) return;
  }
}

function describe(round: SettlementRound, settled: number, refused: number): string {
  const state = `${round.waiting} waiting, ${settled} settled, ${refused} refused`;
  return round.paused === null ? state : `${state}, paused: ${round.paused}`;
}
