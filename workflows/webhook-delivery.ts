/**
 * The delivery of one event to one webhook endpoint: attempts, which the engine repeats for about 20 hours, and then the end of trying. How it
 * stands is in the database, so that a second run, a restart or a repetition changes nothing but that a receiver may be sent an event twice.
 */
import {
  ActivityFailure,
  continueAsNew,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  workflowInfo,
} from "@temporalio/workflow";
import type { DeliveryActivities } from "../src/activities/deliver.ts";
import { type DeliveryOutcome, type WebhookDeliveryInput, webhookQueue } from "./contract.ts";
import { databaseRound, webhookAttempts } from "./policies.ts";
import { endAs } from "./run-end.ts";

const { exhaustDelivery } = proxyActivities<DeliveryActivities>({
  ...databaseRound,
  summary: "give up after the last attempt",
});

const endings: Readonly<Record<DeliveryOutcome, string>> = {
  delivered: "the endpoint took it",
  exhausted: "given up after the last attempt",
  cancelled: "not sent: the endpoint is disabled",
};

/** Ends when the endpoint took the event, when it is disabled, or when the time for attempts is over. */
export async function webhookDelivery(input: WebhookDeliveryInput): Promise<void> {
  // Made in here, because its queue is that of the workflow's own worker.
  const { attemptDelivery } = proxyActivities<DeliveryActivities>({
    ...webhookAttempts(input.firstPauseMs),
    taskQueue: webhookQueue(workflowInfo().taskQueue),
    summary: "send the event to the endpoint",
  });
  setCurrentDetails("the endpoint has not taken it yet");
  let outcome: DeliveryOutcome | null;
  try {
    outcome = await attemptDelivery(input);
  } catch (error) {
    if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
    outcome = await exhaustDelivery(input);
  }
  // It was asked for again meanwhile, or nobody was there to try.
  if (outcome === null) return continueAsNew<typeof webhookDelivery>(input);
  setCurrentDetails(endings[outcome]);
  endAs(outcome);
}
