/** Webhook endpoints and deliveries to messages: every member is listed, so that nothing is shown by accident. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type WebhookAttemptSchema,
  type WebhookDeliverySchema,
  WebhookDeliveryState,
  type WebhookEndpointSchema,
  WebhookEndpointStatus,
} from "../../gen/proto/billing/admin/v1/webhooks_pb.ts";
import type {
  AttemptView,
  DeliveryState,
  DeliveryView,
  WholeDelivery,
} from "../../store/admin/webhooks/webhook-deliveries.ts";
import type { EndpointView } from "../../store/admin/webhooks/webhook-endpoints.ts";
import { present, presentInstant } from "./present.ts";

/** Whether an endpoint is told anything. */
export const endpointStatuses: Readonly<Record<string, WebhookEndpointStatus>> = {
  enabled: WebhookEndpointStatus.ENABLED,
  disabled: WebhookEndpointStatus.DISABLED,
};

/** What became of a delivery. */
export const deliveryStates = {
  pending: WebhookDeliveryState.PENDING,
  delivered: WebhookDeliveryState.DELIVERED,
  exhausted: WebhookDeliveryState.EXHAUSTED,
  cancelled: WebhookDeliveryState.CANCELLED,
} as const satisfies Record<DeliveryState, WebhookDeliveryState>;

/** An endpoint without its secrets; a pause, and a secret of before, that are over are none. */
export function presentEndpoint(endpoint: EndpointView, now: Date): MessageInitShape<typeof WebhookEndpointSchema> {
  const toCome = (instant: Date | null) => (instant !== null && instant > now ? instant : null);
  return {
    id: endpoint.id,
    organisation: endpoint.organisationId,
    url: endpoint.url,
    description: endpoint.description,
    kinds: endpoint.kinds,
    status: endpointStatuses[endpoint.status] ?? WebhookEndpointStatus.UNSPECIFIED,
    ...present("disabledReason", endpoint.disabledReason),
    ...presentInstant("disabledAt", endpoint.disabledAt),
    ...presentInstant("previousSecretUntil", toCome(endpoint.previousUntil)),
    failures: endpoint.failures,
    ...presentInstant("failingSince", endpoint.failingSince),
    ...presentInstant("pausedUntil", toCome(endpoint.openUntil)),
    ...presentInstant("succeededAt", endpoint.succeededAt),
    created: endpoint.createdAt.toISOString(),
  };
}

/** A delivery as lists have it. */
export function presentDelivery(delivery: DeliveryView) {
  return {
    id: delivery.id,
    endpoint: delivery.endpointId,
    event: delivery.eventId,
    eventType: delivery.eventType,
    objectId: delivery.objectId,
    state: deliveryStates[delivery.state],
    attempts: delivery.attempts,
    ...present("lastStatus", delivery.lastStatus),
    ...present("lastError", delivery.lastError),
    began: delivery.beganAt.toISOString(),
    ...presentInstant("finishedAt", delivery.finishedAt),
    created: delivery.createdAt.toISOString(),
  } satisfies MessageInitShape<typeof WebhookDeliverySchema>;
}

/** A delivery with its attempts and what is sent. */
export function presentWhole(delivery: WholeDelivery): MessageInitShape<typeof WebhookDeliverySchema> {
  return { ...presentDelivery(delivery), tries: delivery.tries.map(presentAttempt), body: delivery.body };
}

function presentAttempt(attempt: AttemptView): MessageInitShape<typeof WebhookAttemptSchema> {
  return {
    number: attempt.number,
    at: attempt.at.toISOString(),
    latencyMs: attempt.latencyMs,
    ...present("status", attempt.status),
    ...present("error", attempt.error),
    ...present("answer", attempt.answer),
  };
}
