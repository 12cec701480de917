/** Presents webhook endpoints and deliveries as messages. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type WebhookDeliverySchema,
  type WebhookEndpointSchema,
  WebhookEndpointStatus,
} from "../../gen/proto/billing/admin/v1/webhooks_pb.ts";
import type { DeliveryView } from "../../store/admin/webhooks/webhook-deliveries.ts";
import type { EndpointView } from "../../store/admin/webhooks/webhook-endpoints.ts";
import { deliveryStates, endpointStatuses } from "./enums.ts";
import { membersOf } from "./present.ts";

/**
 * An endpoint without its secrets. A pause that is over is left out, and so is an expired previous
 * secret.
 */
export function presentEndpoint(
  endpoint: EndpointView,
  now: Date,
): MessageInitShape<typeof WebhookEndpointSchema> {
  const toCome = (instant: Date | null) =>
    instant !== null && instant > now ? instant.toISOString() : undefined;
  return {
    ...membersOf(endpoint),
    organisation: endpoint.organisationId,
    status: endpointStatuses[endpoint.status] ?? WebhookEndpointStatus.UNSPECIFIED,
    previousSecretUntil: toCome(endpoint.previousUntil),
    pausedUntil: toCome(endpoint.openUntil),
    created: endpoint.createdAt.toISOString(),
  };
}

/** A delivery as lists show it. */
export function presentDelivery(delivery: DeliveryView) {
  return {
    ...membersOf(delivery),
    endpoint: delivery.endpointId,
    event: delivery.eventId,
    state: deliveryStates[delivery.state],
    began: delivery.beganAt.toISOString(),
    created: delivery.createdAt.toISOString(),
  } satisfies MessageInitShape<typeof WebhookDeliverySchema>;
}
