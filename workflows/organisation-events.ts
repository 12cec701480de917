/**
 * The publishing of an organisation's changes. Work is found in the database, so a second run, a
 * restart or a repetition changes nothing (EVENT-1).
 */
import { proxyActivities, setCurrentDetails, workflowInfo } from "@temporalio/workflow";
import type { PublishingActivities } from "../src/worker/activities/events/publish-changes.ts";
import { billingQueue, type OrganisationEventsInput, type RunResult } from "./contract.ts";
import { batches } from "./policies.ts";
import { continueInNewRun, counted, endAs, isLongRun } from "./run-end.ts";

/** Publishes one organisation's changes up to a time and starts the deliveries to each endpoint. */
export async function organisationEvents(input: OrganisationEventsInput): Promise<RunResult> {
  // On the queue of billing: a large billing run leaves much to publish, and neither may take every
  // connection.
  const { publishBatch } = proxyActivities<PublishingActivities>({
    ...batches,
    taskQueue: billingQueue(workflowInfo().taskQueue),
    summary: "combine changes into events, and start their deliveries",
  });
  let { published = 0, started = 0 } = input;
  for (;;) {
    const batch = await publishBatch(input);
    published += batch.published;
    started = Math.max(started, batch.started);
    const words =
      `published ${counted(published)} events, ` +
      `started deliveries to ${counted(started)} endpoints`;
    setCurrentDetails(words);
    if (!batch.isMore) return endAs("done", words);
    if (isLongRun())
      await continueInNewRun<typeof organisationEvents>({ ...input, published, started });
  }
}
