/** Sends a webhook endpoint a test event. With `--wait` it waits for the endpoint's response. */
import { WebhookService } from "../../../../../src/gen/proto/billing/admin/v1/webhooks_pb.ts";
import { callJson } from "../../call-json.ts";
import type { Work } from "../../noun.ts";
import type { Json } from "../../output/message-json.ts";
import { poll, waitSeconds } from "../../wait.ts";

const { method } = WebhookService;

/**
 * The default of `--wait`. An attempt takes at most 15 seconds, and Temporal may be
 * unreachable for a moment.
 */
const defaultWaitSeconds = 60;

/** The interval between two reads. A receiver mostly answers at once. */
const pollEveryMs = 500;

/**
 * Sends the event and returns its delivery. With `--wait` it returns the delivery after the first
 * attempt, or when the time is up. It does not wait for later attempts: an operator wants to see
 * the first failure.
 */
export async function sendTestEvent({ terminal, connection, request, extra }: Work): Promise<Json> {
  const seconds = waitSeconds(extra.wait, defaultWaitSeconds);
  const delivery = await callJson(connection, method.sendTestEvent, request);
  if (seconds === null) return delivery;
  const one = { organisation: request.organisation ?? "", id: delivery.id ?? "" };
  const read = () => callJson(connection, method.getWebhookDelivery, one);
  terminal.err("Waiting for the endpoint …\n");
  return poll(await read(), {
    seconds,
    everyMs: pollEveryMs,
    isPending: ({ state, attempts }) => state === "pending" && attempts === 0,
    read,
  });
}
