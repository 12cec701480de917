/**
 * The publishing of an organisation, and the relay that the previous version's schedule starts.
 * Work is found in the database, so a second run, a restart or a repetition changes nothing
 * (EVENT-1).
 */
import { proxyActivities, setCurrentDetails, workflowInfo } from "@temporalio/workflow";
import type { PublishingActivities } from "../src/worker/activities/events/publish-changes.ts";
import {
  billingQueue,
  type DuePage,
  type DuePageInput,
  type OrganisationEventsInput,
  type RunResult,
} from "./contract.ts";
import { databaseBatch } from "./policies.ts";
import { continueInNewRun, counted, countOf, endAs, isLongRun } from "./run-end.ts";

const { startDeliveriesDue } = proxyActivities<PublishingActivities>({
  ...databaseBatch,
  summary: "start the deliveries to endpoints that have some due",
});

const { startChanged } = proxyActivities<PublishingActivities>({
  ...databaseBatch,
  summary: "start the publishing of organisations with outbox entries",
});

/** Starts publishing and deliveries. It waits for no organisation. */
export async function outboxRelay(): Promise<RunResult> {
  let found = 0;
  for (let input: DuePageInput | null = { after: null }; input !== null; ) {
    const page: DuePage = await startChanged(input);
    found += page.found;
    input = page.next === null ? null : { after: page.next };
  }
  // Retries whose pause is over, and missed starts. Publishing starts its own deliveries.
  for (let due: DuePageInput | null = { after: null }; due !== null; ) {
    const { next }: DuePage = await startDeliveriesDue(due);
    due = next === null ? null : { after: next };
  }
  return endAs("done", `${countOf(found, "organisation")} had outbox entries`);
}

/** Publishes one organisation's changes up to a time and starts the deliveries to each endpoint. */
export async function organisationEvents(input: OrganisationEventsInput): Promise<RunResult> {
  // On the queue of billing: a large billing run leaves much to publish, and neither may take every
  // connection.
  const { publishBatch } = proxyActivities<PublishingActivities>({
    ...databaseBatch,
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
