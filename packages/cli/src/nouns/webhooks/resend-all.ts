/** Sends a webhook endpoint all events that it has not received, in as many calls as needed. */
import { WebhookService } from "../../../../../src/gen/proto/billing/admin/v1/webhooks_pb.ts";
import { callJson } from "../../call-json.ts";
import type { Work } from "../../noun.ts";
import type { Json } from "../../output/message-json.ts";

const { method } = WebhookService;

/**
 * Calls until no events are left, and returns how many were sent. If a call fails, it writes the
 * event to continue after.
 */
export async function resendAll({ terminal, connection, request }: Work): Promise<Json> {
  let [resent, added] = [0, 0];
  let next = request;
  for (;;) {
    const answer = await callJson(connection, method.resendWebhookDeliveries, next).catch(
      (error: unknown) => {
        if (next !== request)
          terminal.err(`Continue with --after-event ${String(next.after_event)}\n`);
        throw error;
      },
    );
    resent += Number(answer.resent);
    added += Number(answer.added);
    if (typeof answer.last_event !== "string") return { resent, added };
    terminal.err(`${resent + added} so far …\n`);
    next = { ...request, after_event: answer.last_event };
  }
}
