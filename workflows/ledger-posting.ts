/**
 * Posts one organisation's waiting documents in batches, until nothing new has come for ten
 * seconds. Every commit that leaves a document waiting signals it. Work is found in the database,
 * so an extra or missing signal, a restart or a second run changes nothing. This is the group
 * commit of the ledger (POSTING-3).
 */
import {
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from "@temporalio/workflow";
import type { PostingActivities } from "../src/worker/activities/posting/posting.ts";
import { type LedgerPostingInput, type PostingBatch, wakeSignal } from "./contract.ts";
import { highVolume, idleBatchMs, ledgerBatch, lingerTime, longestWaitMs } from "./policies.ts";
import { endAs, isLongRun } from "./run-end.ts";

const { postBatch } = proxyActivities<PostingActivities>({
  ...ledgerBatch,
  summary: "settle what waits",
});

const wake = defineSignal(wakeSignal);

/** Ends when no document waits, or when every waiting one is further off than `longestWaitMs`. */
export async function ledgerPosting(input: LedgerPostingInput): Promise<void> {
  let dirty = true;
  let settled = 0;
  let refused = 0;
  setHandler(wake, () => {
    dirty = true;
  });
  const settle = async (): Promise<PostingBatch> => {
    const round = await postBatch(input);
    settled += round.settled;
    refused += round.refused;
    setCurrentDetails(describe(round, settled, refused));
    return round;
  };
  const postHighVolume = async (): Promise<void> => {
    while (isHighVolume(await settle()) && !isLongRun());
  };
  for (;;) {
    while (dirty) {
      dirty = false;
      const round = await settle();
      if (isHighVolume(round)) {
        await Promise.all(Array.from({ length: round.atOnce ?? 1 }, postHighVolume));
        dirty = true;
      } else if (round.nextInMs !== null && !dirty) {
        if (round.nextInMs > longestWaitMs) return endAs("put_off");
        const isProgress = round.settled + round.refused > 0;
        if (!isProgress || round.nextInMs > 0) {
          await condition(() => dirty, Math.max(round.nextInMs, isProgress ? 1 : idleBatchMs));
        }
        dirty = true;
      }
      if (isLongRun()) await continueAsNew<typeof ledgerPosting>(input);
    }
    if (!(await condition(() => dirty, lingerTime))) return endAs(refused > 0 ? "refused" : "done");
  }
}

/** Whether many documents can be sent now and the ledger is too slow for sequential batches. */
function isHighVolume({ settled, waiting, nextInMs, atOnce = 1 }: PostingBatch): boolean {
  return atOnce > 1 && settled > 0 && nextInMs === 0 && waiting >= highVolume;
}

/** `12 waiting, 340 settled, 1 refused, paused until 10:32:05 UTC: minute limit`. */
function describe(
  { waiting, paused, nextInMs }: PostingBatch,
  settled: number,
  refused: number,
): string {
  const state = `${waiting} waiting, ${settled} settled, ${refused} refused`;
  if (paused === null) return state;
  const until = new Date(Date.now() + (nextInMs ?? 0))
    .toISOString()
    .slice("YYYY-MM-DDT".length, -".000Z".length);
  return `${state}, paused until ${until} UTC: ${paused}`;
}
