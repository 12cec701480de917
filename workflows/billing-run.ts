/**
 * Each minute a run starts all work that is due. The billing of an organisation performs what is
 * due in chunks until nothing is left. Due work is found in the database, so a second run, a
 * restart or a repetition changes nothing (PERIOD-4, EVENT-1, ADMIN-27).
 */
import {
  defineSignal,
  deprecatePatch,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from "@temporalio/workflow";
import type { BillingActivities } from "../src/worker/activities/billing/billing-run.ts";
import {
  type BillingProgress,
  billingQueue,
  type OrganisationBillingInput,
  type RunResult,
  wakeSignal,
} from "./contract.ts";
import { startEverything } from "./minute-steps.ts";
import { batches } from "./policies.ts";
import { continueInNewRun, counted, countOf, endAs, isLongRun } from "./run-end.ts";

const wake = defineSignal(wakeSignal);

/** Starts all work that is due. It waits for none of it. */
export async function billingRun(): Promise<RunResult> {
  // Runs of 1.0.0 have the marker of this patch.
  deprecatePatch("every-step");
  return startEverything();
}

/**
 * Bills one organisation until nothing billable is due. Later runs retry parked subscriptions
 * (POSTING-8). A start while it runs is a signal. Work that became due as it was about to end is
 * then performed without waiting for the next run.
 */
export async function organisationBilling({
  organisationId,
  progress,
}: OrganisationBillingInput): Promise<RunResult> {
  // Created here because its queue is that of the workflow's own worker.
  const { countDue, billBatch } = proxyActivities<BillingActivities>({
    ...batches,
    taskQueue: billingQueue(workflowInfo().taskQueue),
    summary: "perform what is due",
  });
  let isWoken = false;
  setHandler(wake, () => {
    isWoken = true;
  });
  const order = { organisationId };
  let {
    done,
    parked,
    issued = 0,
    total,
  }: BillingProgress = progress ?? { done: 0, parked: 0, total: await countDue(order) };
  for (;;) {
    isWoken = false;
    const batch = await billBatch(order);
    done += batch.done;
    parked += batch.parked;
    issued += batch.issued ?? 0;
    setCurrentDetails(describe({ done, parked, total }));
    if (!batch.isMore && !isWoken) break;
    if (isLongRun()) {
      await continueInNewRun<typeof organisationBilling>({
        organisationId,
        progress: { done, parked, issued, total },
      });
    }
  }
  const words = `${countOf(issued, "invoice")} issued, ${counted(parked)} parked`;
  return endAs(parked > 0 ? "parked" : "done", done === 0 ? "nothing was due" : words);
}

/**
 * `1,200 of about 3,000 renewed, 2 parked`. The total is approximate: more may become due
 * meanwhile.
 */
function describe({ done, parked, total }: BillingProgress): string {
  const most = counted(Math.max(total, done));
  return `${counted(done - parked)} of about ${most} renewed, ${counted(parked)} parked`;
}
