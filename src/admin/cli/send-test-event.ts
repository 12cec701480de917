/** Sending a webhook endpoint a test event and, where that is wanted, waiting for what it answers. */
import { setTimeout as wait } from "node:timers/promises";
import { WebhookService } from "../../gen/proto/billing/admin/v1/webhooks_pb.ts";
import type { Json } from "./message-json.ts";
import type { Work } from "./noun.ts";
import { callJson } from "./run-verb.ts";
import { waitSeconds } from "./wait-seconds.ts";

const { method } = WebhookService;

/** How long `--wait` waits where no seconds are given: an attempt takes 15 at most, and Temporal may be away for a moment. */
const defaultWaitSeconds = 60;

/** Between two looks: a receiver mostly answers at once. */
const lookEveryMs = 500;

/**
 * Sends the event and answers its delivery; with `--wait` once the endpoint was asked for the first time, with what it answered, or the time
 * is up. A later attempt is not waited for: what failed once is what an operator wants to see.
 */
export async function sendTestEvent({ terminal, connection, request, extra }: Work): Promise<Json> {
  const seconds = waitSeconds(extra.wait, defaultWaitSeconds);
  let delivery = await callJson(connection, method.sendTestEvent, request);
  if (seconds === null) return delivery;
  const one = { organisation: request.organisation ?? "", id: delivery.id ?? "" };
  const end = performance.now() + seconds * 1000;
  terminal.err("Waiting for the endpoint …\n");
  for (;;) {
    delivery = await callJson(connection, method.getWebhookDelivery, one);
    if (delivery.state !== "pending" || delivery.attempts !== 0 || performance.now() >= end) return delivery;
    await wait(lookEveryMs);
  }
}
