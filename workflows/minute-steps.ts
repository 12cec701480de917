/**
 * What each minute starts: billing, publishing, deliveries and ledger sync, side by side. Each step
 * pages through the database and starts a workflow for each object with something due. No step
 * awaits another, and each ends within the minute, so that a slow one delays nothing else.
 */
import { proxyActivities, rootCause, setCurrentDetails } from "@temporalio/workflow";
import type { BillingActivities } from "../src/worker/activities/billing/billing-run.ts";
import type { PublishingActivities } from "../src/worker/activities/events/publish-changes.ts";
import type { LedgerSyncActivities } from "../src/worker/activities/sync/ledger-sync.ts";
import type { DuePage, DuePageInput, RunResult } from "./contract.ts";
import { batches, maxStepMs } from "./policies.ts";
import { counted, countOf, endAs } from "./run-end.ts";

type StepActivities = Pick<BillingActivities, "startDue"> &
  Pick<PublishingActivities, "startChanged" | "startDeliveriesDue"> &
  Pick<LedgerSyncActivities, "startDueSyncs">;

/** A step: its activity, and what that starts for each `noun`. */
interface Step {
  readonly activity: keyof StepActivities;
  readonly work: string;
  readonly noun: string;
}

const steps: readonly Step[] = [
  { activity: "startDue", work: "billing", noun: "organisation" },
  { activity: "startChanged", work: "publishing", noun: "organisation" },
  { activity: "startDeliveriesDue", work: "deliveries", noun: "endpoint" },
  { activity: "startDueSyncs", work: "ledger sync", noun: "organisation" },
];

/** Starts all that is due. A step that fails is in the result, and the next minute repeats it. */
export async function startEverything(): Promise<RunResult> {
  const endMs = Date.now() + maxStepMs;
  const ends = await Promise.all(
    steps.map((step) => startAll(step, endMs).catch((error: unknown) => failed(step, error))),
  );
  const words = ends.flatMap((end) => end.words ?? []).join("; ") || "nothing was due";
  setCurrentDetails(words);
  return endAs(ends.some(({ isFailed }) => isFailed) ? "failed" : "done", words);
}

/** How a step ended. Without words nothing was due. */
interface StepEnd {
  readonly isFailed: boolean;
  readonly words: string | null;
}

/** Starts page after page until `endMs`, at which the activity of the page times out. */
async function startAll({ activity, work, noun }: Step, endMs: number): Promise<StepEnd> {
  let found = 0;
  let started = 0;
  for (let input: DuePageInput | null = { after: null }; input !== null; ) {
    const { [activity]: start } = proxyActivities<StepActivities>({
      ...batches,
      scheduleToCloseTimeout: Math.max(endMs - Date.now(), 1),
      summary: `start ${work} for each ${noun} that has something due`,
    });
    const page: DuePage = await start(input);
    found += page.found;
    started += page.started;
    input = page.next === null ? null : { after: page.next };
  }
  if (found === 0) return { isFailed: false, words: null };
  const all = started === found ? "" : `${counted(started)} of `;
  return { isFailed: false, words: `${work} of ${all}${countOf(found, noun)} started` };
}

function failed({ work }: Step, error: unknown): StepEnd {
  return { isFailed: true, words: `${work} not started: ${rootCause(error) ?? "unknown"}` };
}
