/**
 * Billing: each minute a run asks which organisations have something due, and starts the workflow of each, which performs it chunk by
 * chunk until nothing is left. What is due is found in the database, so that a second run, a restart or a repetition changes nothing.
 */
import {
  continueAsNew,
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
import { endAs, isLongRun } from "./run-end.ts";

const { startDue } = proxyActivities<BillingActivities>({
  ...databaseBatch,
  summary: "start the billing of organisations that have something due",
});

const wake = defineSignal(wakeSignal);

/** One run. It waits for no organisation: one with much to do must not hold up those that come later. */
export async function billingRun(): Promise<void> {
  let found = 0;
  let started = 0;
  let input: DuePageInput = { after: null };
  for (;;) {
    const round = await startDue(input);
    found += round.found;
    started += round.started;
    setCurrentDetails(`${counted(found)} organisations have something due, billing of ${counted(started)} is started`);
    if (round.next === null) return endAs("done");
    input = { after: round.next };
  }
}

/**
 * One organisation, until nothing is due that could be performed; what was set aside is tried again by later ones. A start while it runs is
 * a signal: what became due while it was about to end is performed too, and has not to wait for the next run.
 */
export async function organisationBilling({ organisationId, progress }: OrganisationBillingInput): Promise<void> {
  // Made in here, because its queue is that of the workflow's own worker.
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
  let { done, setAside, total } = progress ?? { done: 0, setAside: 0, total: await countDue(order) };
  for (;;) {
    isWoken = false;
    const round = await billBatch(order);
    done += round.done;
    setAside += round.setAside;
    setCurrentDetails(describe({ done, setAside, total }));
    if (!round.isMore && !isWoken) break;
    if (isLongRun()) {
      await continueAsNew<typeof organisationBilling>({ organisationId, progress: { done, setAside, total } });
    }
  }
  endAs(setAside > 0 ? "set_aside" : "done");
}

/** `1,200 of about 3,000 renewed, 2 set aside`: more may become due while it is at it. */
function describe({ done, setAside, total }: BillingProgress): string {
  return `${counted(done - setAside)} of about ${counted(Math.max(total, done))} renewed, ${counted(setAside)} set aside`;
}

function counted(count: number): string {
  return count.toLocaleString("en");
}
