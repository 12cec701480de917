/**
 * Telling platforms what changed: each minute a run asks which organisations have changes that were
 * marked, and starts the telling of each, and which endpoints have deliveries due, and starts
 * those. What is to be told is found in the database, so that a second run, a restart or a
 * repetition changes nothing.
 */
import { continueAsNew, proxyActivities, setCurrentDetails, workflowInfo } from "@temporalio/workflow";
import type { PublishingActivities } from "../src/worker/activities/events/publish-changes.ts";
import { billingQueue, type DuePage, type DuePageInput, type OrganisationEventsInput } from "./contract.ts";
import { databaseBatch } from "./policies.ts";
import { endAs, isLongRun } from "./run-end.ts";

const { startDeliveriesDue } = proxyActivities<PublishingActivities>({
  ...databaseBatch,
  summary: "start the deliveries to endpoints that have some due",
});

const { startChanged } = proxyActivities<PublishingActivities>({
  ...databaseBatch,
  summary: "start the telling of organisations where something changed",
});

/** One run. It waits for no organisation. */
export async function changeScan(): Promise<void> {
  let found = 0;
  let started = 0;
  let input: DuePageInput = { after: null };
  for (;;) {
    const round = await startChanged(input);
    found += round.found;
    started += round.started;
    setCurrentDetails(
      `${counted(found)} organisations have something to be told, telling of ${counted(started)} is started`,
    );
    if (round.next === null) break;
    input = { after: round.next };
  }
  // Attempts whose pause is over, and starts that were missed: what is told starts its own.
  for (let page: DuePageInput | null = { after: null }; page !== null; ) {
    const { next }: DuePage = await startDeliveriesDue(page);
    page = next === null ? null : { after: next };
  }
  endAs("done");
}

/**
 * One organisation, until all that changed by then is told, and the deliveries to each endpoint are
 * started.
 */
export async function organisationEvents(input: OrganisationEventsInput): Promise<void> {
  // On the queue of billing: what bills many organisations at once has many of them to be told, and neither may take all connections.
  const { publishBatch } = proxyActivities<PublishingActivities>({
    ...databaseBatch,
    taskQueue: billingQueue(workflowInfo().taskQueue),
    summary: "combine changes into events, and start their deliveries",
  });
  let { told = 0, started = 0 } = input;
  for (;;) {
    const round = await publishBatch(input);
    told += round.told;
    started = Math.max(started, round.started);
    setCurrentDetails(`told ${counted(told)} events, started deliveries to ${counted(started)} endpoints`);
    if (!round.isMore) return endAs("done");
    if (isLongRun()) await continueAsNew<typeof organisationEvents>({ ...input, told, started });
  }
}

function counted(count: number): string {
  return count.toLocaleString("en");
}
