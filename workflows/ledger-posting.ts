/**
 * Posts one organisation's waiting documents in batches, until nothing new has come for ten
 * seconds. Every commit that leaves a document waiting signals it. Work is found in the database,
 * so an extra or missing signal, a restart or a second run changes nothing. This is the group
 * commit of the ledger (POSTING-3).
 */
import {
  condition,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from "@temporalio/workflow";
import type { PostingActivities } from "../src/worker/activities/posting/posting.ts";
import {
  type OrganisationInput,
  type PostingBatch,
  type RunResult,
  wakeSignal,
} from "./contract.ts";
import { batches, highVolume, idleBatchMs, lingerTime, maxWaitMs } from "./policies.ts";
import { continueInNewRun, counted, endAs, isLongRun } from "./run-end.ts";

const { postBatch } = proxyActivities<PostingActivities>({
  ...batches,
  summary: "post waiting documents",
});

const wake = defineSignal(wakeSignal);

/** Ends when no document waits, or when every waiting one is further off than `maxWaitMs`. */
export async function ledgerPosting(input: OrganisationInput): Promise<RunResult> {
  let dirty = true;
  let posted = 0;
  let refused = 0;
  const numbers: { posted: string[]; refused: string[] } = { posted: [], refused: [] };
  setHandler(wake, () => {
    dirty = true;
  });
  const post = async (): Promise<PostingBatch> => {
    const batch = await postBatch(input);
    posted += batch.posted;
    refused += batch.refused;
    numbers.posted.push(...(batch.numbers?.posted ?? []));
    numbers.refused.push(...(batch.numbers?.refused ?? []));
    setCurrentDetails(describe(batch, posted, refused));
    return batch;
  };
  const postHighVolume = async (): Promise<void> => {
    while (isHighVolume(await post()) && !isLongRun());
  };
  for (;;) {
    while (dirty) {
      dirty = false;
      const batch = await post();
      if (isHighVolume(batch)) {
        await Promise.all(Array.from({ length: batch.atOnce ?? 1 }, postHighVolume));
        dirty = true;
      } else if (batch.nextInMs !== null && !dirty) {
        if (batch.nextInMs > maxWaitMs)
          return endAs("rescheduled", describe(batch, posted, refused));
        const isProgress = batch.posted + batch.refused > 0;
        if (!isProgress || batch.nextInMs > 0) {
          await condition(() => dirty, Math.max(batch.nextInMs, isProgress ? 1 : idleBatchMs));
        }
        dirty = true;
      }
      if (isLongRun()) await continueInNewRun<typeof ledgerPosting>(input);
    }
    if (!(await condition(() => dirty, lingerTime))) {
      const [accepted, rejected] = [
        named(posted, "posted", numbers.posted),
        named(refused, "refused", numbers.refused),
      ];
      return endAs(refused > 0 ? "refused" : "done", `${accepted}, ${rejected}`);
    }
  }
}

/** Whether many documents can be sent now and the ledger is too slow for sequential batches. */
function isHighVolume({ posted, waiting, nextInMs, atOnce = 1 }: PostingBatch): boolean {
  return atOnce > 1 && posted > 0 && nextInMs === 0 && waiting >= highVolume;
}

/**
 * `12 waiting, 340 posted, 1 refused, paused until 10:32:05 UTC: minute limit`. Many are not
 * counted.
 */
function describe(
  { waiting, paused, nextInMs }: PostingBatch,
  posted: number,
  refused: number,
): string {
  const count = waiting < highVolume ? waiting : `${highVolume} or more`;
  const state = `${count} waiting, ${posted} posted, ${refused} refused`;
  if (paused === null) return state;
  const until = new Date(Date.now() + (nextInMs ?? 0))
    .toISOString()
    .slice("YYYY-MM-DDT".length, -".000Z".length);
  return `${state}, paused until ${until} UTC: ${paused}`;
}

/** `3 posted (INV-0001, INV-0002, …)`. Contacts have no number, and ten are named at most. */
function named(count: number, what: string, numbers: readonly string[]): string {
  const text = `${counted(count)} ${what}`;
  if (numbers.length === 0) return text;
  const shown = numbers.slice(0, 10);
  return `${text} (${shown.join(", ")}${shown.length < count ? ", …" : ""})`;
}
