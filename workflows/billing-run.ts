/**
 * Billing. Each minute a run finds the organisations with something due and starts a workflow for
 * each, which performs it in chunks until nothing is left. Due work is found in the database, so a
 * second run, a restart or a repetition changes nothing (PERIOD-4).
 */
import {
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from "@temporalio/workflow";
import type { BillingActivities } from "../src/worker/activities/billing/billing-run.ts";
import {
  type BillingProgress,
  billingQueue,
  type DuePageInput,
  type OrganisationBillingInput,
  wakeSignal,
} from "./contract.ts";
import { databaseBatch } from "./policies.ts";
import { continueInNewRun, counted, endAs, isLongRun } from "./run-end.ts";

const { startDue } = proxyActivities<BillingActivities>({
  ...databaseBatch,
  summary: "start the billing of organisations that have something due",
});

const wake = defineSignal(wakeSignal);

/**
 * Starts the billing of every organisation with something due. It waits for no organisation, so
 * that one with much to do does not delay those that follow.
 */
export async function billingRun(): Promise<void> {
  let found = 0;
  let started = 0;
  let input: DuePageInput = { after: null };
  for (;;) {
    const page = await startDue(input);
    found += page.found;
    started += page.started;
    setCurrentDetails(
      `${counted(found)} organisations have something due, ` +
        `billing of ${counted(started)} is started`,
    );
    if (page.next === null) return endAs("done");
    input = { after: page.next };
  }
}

/**
 * Bills one organisation until nothing billable is due. Later runs retry parked subscriptions
 * (POSTING-8). A start while it runs is a signal. Work that became due as it was about to end is
 * then performed without waiting for the next run.
 */
export async function organisationBilling({
  organisationId,
  progress,
}: OrganisationBillingInput): Promise<void> {
  // Created here because its queue is that of the workflow's own worker.
  const { countDue, billBatch } = proxyActivities<BillingActivities>({
    ...databaseBatch,
    taskQueue: billingQueue(workflowInfo().taskQueue),
    summary: "perform what is due",
  });
  let isWoken = false;
  setHandler(wake, () => {
    isWoken = true;
  });
  const order = { organisationId };
  let { done, parked, total } = progress ?? {
    done: 0,
    parked: 0,
    total: await countDue(order),
  };
  for (;;) {
    isWoken = false;
    const batch = await billBatch(order);
    done += batch.done;
    parked += batch.parked;
    setCurrentDetails(describe({ done, parked, total }));
    if (!batch.isMore && !isWoken) break;
    if (isLongRun()) {
      await continueInNewRun<typeof organisationBilling>({
        organisationId,
        progress: { done, parked, total },
      });
    }
  }
  endAs(parked > 0 ? "parked" : "done");
}

/**
 * `1,200 of about 3,000 renewed, 2 parked`. The total is approximate: more may become due
 * meanwhile.
 */
function describe({ done, parked, total }: BillingProgress): string {
  const most = counted(Math.max(total, done));
  return `${counted(done - parked)} of about ${most} renewed, ${counted(parked)} parked`;
}
