/**
 * Presents webhook endpoints and deliveries as messages. Every member is listed, so that nothing is
 * exposed by accident.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type WebhookAttemptSchema,
  type WebhookDeliverySchema,
  type WebhookEndpointSchema,
  WebhookEndpointStatus,
} from "../../gen/proto/billing/admin/v1/webhooks_pb.ts";
import type {
  AttemptView,
  DeliveryView,
  WholeDelivery,
} from "../../store/admin/webhooks/webhook-deliveries.ts";
import type { EndpointView } from "../../store/admin/webhooks/webhook-endpoints.ts";
import { deliveryStates, endpointStatuses } from "./enums.ts";
import { present, presentInstant } from "./present.ts";

/**
 * An endpoint without its secrets. A pause that is over is left out, and so is an expired previous
 * secret.
 */
export function presentEndpoint(
  endpoint: EndpointView,
  now: Date,
): MessageInitShape<typeof WebhookEndpointSchema> {
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

/** A delivery as lists show it. */
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

/** A delivery with its attempts and the body that is sent. */
export function presentWhole(
  delivery: WholeDelivery,
): MessageInitShape<typeof WebhookDeliverySchema> {
  return {
    ...presentDelivery(delivery),
    tries: delivery.tries.map(presentAttempt),
    body: delivery.body,
  };
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
