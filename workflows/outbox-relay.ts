/**
 * The relay. Each minute a run starts the publishing of every organisation with outbox entries, and
 * the deliveries of every endpoint with some due. Work is found in the database, so a second run, a
 * restart or a repetition changes nothing (EVENT-1).
 */
import { proxyActivities, setCurrentDetails, workflowInfo } from "@temporalio/workflow";
import type { PublishingActivities } from "../src/worker/activities/events/publish-changes.ts";
import {
  billingQueue,
  type DuePage,
  type DuePageInput,
  type OrganisationEventsInput,
} from "./contract.ts";
import { databaseBatch } from "./policies.ts";
import { continueInNewRun, counted, endAs, isLongRun } from "./run-end.ts";

const { startDeliveriesDue } = proxyActivities<PublishingActivities>({
  ...databaseBatch,
  summary: "start the deliveries to endpoints that have some due",
});

const { startChanged } = proxyActivities<PublishingActivities>({
  ...databaseBatch,
  summary: "start the publishing of organisations with outbox entries",
});

/** Starts publishing and deliveries. It waits for no organisation. */
export async function outboxRelay(): Promise<void> {
  let found = 0;
  let started = 0;
  let input: DuePageInput = { after: null };
  for (;;) {
    const page = await startChanged(input);
    found += page.found;
    started += page.started;
    setCurrentDetails(
      `${counted(found)} organisations have outbox entries, ` +
        `publishing of ${counted(started)} is started`,
    );
    if (page.next === null) break;
    input = { after: page.next };
  }
  // Retries whose pause is over, and missed starts. Publishing starts its own deliveries.
  for (let due: DuePageInput | null = { after: null }; due !== null; ) {
    const { next }: DuePage = await startDeliveriesDue(due);
    due = next === null ? null : { after: next };
  }
  endAs("done");
}

/** Publishes one organisation's changes up to a time and starts the deliveries to each endpoint. */
export async function organisationEvents(input: OrganisationEventsInput): Promise<void> {
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
    setCurrentDetails(
      `published ${counted(published)} events, started deliveries to ${counted(started)} endpoints`,
    );
    if (!batch.isMore) return endAs("done");
    if (isLongRun())
      await continueInNewRun<typeof organisationEvents>({ ...input, published, started });
  }
}
