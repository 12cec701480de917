/**
 * WebhookService: endpoints that receive events, their deliveries, and resends. WEBHOOK-2,
 * WEBHOOK-3
 */
import { eventTypes } from "../../../domain/events/event.ts";
import { Refusal } from "../../../domain/refusal.ts";
import type {
  UpdateWebhookEndpointRequest,
  WebhookService,
} from "../../../gen/proto/billing/admin/v1/webhooks_pb.ts";
import { wordOf } from "../../../present/enums.ts";
import type { DeliveryView } from "../../../store/admin/webhooks/webhook-deliveries.ts";
import { urlFault } from "../../../webhooks/address.ts";
import { newSecret } from "../../../webhooks/sign.ts";
import { deliveryStates, endpointStatuses } from "../../present/enums.ts";
import { membersOf } from "../../present/present.ts";
import { readInstantOf, requireInstant } from "../../present/read-values.ts";
import { presentDelivery, presentEndpoint } from "../../present/webhooks.ts";
import {
  type AdminCall,
  type AdminDependencies,
  type AdminImplementation,
  actorOf,
  identityOf,
  pageOf,
  required,
  requireOrganisation,
  requireSame,
} from "../dependencies.ts";

type Implementation = AdminImplementation<typeof WebhookService>;

/**
 * Implements the service. Refuses `organisation_not_found`, `webhook_endpoint_not_found`,
 * `webhook_delivery_not_found`, `invalid_parameter`. Refuses `invalid_state` if too many endpoints
 * are enabled, if a third secret would sign, or if a disabled endpoint should receive something.
 */
export function webhookService(deps: AdminDependencies): Implementation {
  return {
    ...endpointMethods(deps),
    ...switches(deps),
    ...deliveryMethods(deps),
    ...resends(deps),
  };
}

function endpointMethods(deps: AdminDependencies) {
  const { endpoints } = deps.store;
  return {
    createWebhookEndpoint: async (request, call) => {
      const { id: organisationId } = await requireOrganisation(deps, request.organisation);
      const { url, description, kinds } = request;
      requireUrl(deps, url);
      requireKinds(kinds);
      const secret = newSecret();
      const endpoint = {
        id: identityOf(call, "webhook_endpoint"),
        url,
        description,
        kinds,
        secret,
      };
      const { created, isNew } = await endpoints.create(actorOf(call), organisationId, endpoint);
      requireSame(isNew || (created.organisationId === organisationId && created.url === url));
      return { endpoint: presentEndpoint(created, new Date()), secret: isNew ? secret : "" };
    },
    getWebhookEndpoint: async ({ organisation, id }) => {
      const owner = await requireOrganisation(deps, organisation);
      return {
        endpoint: presentEndpoint(requireEndpoint(await endpoints.get(owner.id, id)), new Date()),
      };
    },
    listWebhookEndpoints: async (request) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const { data, hasMore } = await endpoints.list(
        id,
        wordOf(endpointStatuses, request.status),
        pageOf(request),
      );
      const now = new Date();
      return { data: data.map((endpoint) => presentEndpoint(endpoint, now)), hasMore };
    },
    updateWebhookEndpoint: async (request, call) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const { url, description } = request;
      if (url !== undefined) requireUrl(deps, url);
      const changes = { url, description, kinds: changedKinds(request) };
      const endpoint = requireEndpoint(
        await endpoints.update(actorOf(call), id, request.id, changes),
      );
      // Deliveries that waited because of the previous address go to the new one at once.
      if (url !== undefined)
        await deps.startDeliveries({ organisationId: id, endpointId: endpoint.id });
      return { endpoint: presentEndpoint(endpoint, new Date()) };
    },
  } satisfies Partial<Implementation>;
}

function switches(deps: AdminDependencies) {
  const { endpoints } = deps.store;
  return {
    rotateWebhookSecret: async ({ organisation, id, dropPrevious, dropCurrent }, call) => {
      const owner = await requireOrganisation(deps, organisation);
      const secret = newSecret();
      const rotation = { secret, dropPrevious, dropCurrent };
      const endpoint = requireEndpoint(
        await endpoints.rotate(actorOf(call), owner.id, id, rotation),
      );
      return { endpoint: presentEndpoint(endpoint, new Date()), secret };
    },
    enableWebhookEndpoint: async ({ organisation, id }, call) => {
      const owner = await requireOrganisation(deps, organisation);
      const endpoint = requireEndpoint(await endpoints.enable(actorOf(call), owner.id, id));
      await deps.startDeliveries({ organisationId: owner.id, endpointId: endpoint.id });
      return { endpoint: presentEndpoint(endpoint, new Date()) };
    },
    disableWebhookEndpoint: async ({ organisation, id, reason }, call) => {
      const owner = await requireOrganisation(deps, organisation);
      const endpoint = requireEndpoint(
        await endpoints.disable(actorOf(call), owner.id, id, reason),
      );
      return { endpoint: presentEndpoint(endpoint, new Date()) };
    },
  } satisfies Partial<Implementation>;
}

function deliveryMethods(deps: AdminDependencies) {
  const { deliveries } = deps.store;
  return {
    listWebhookDeliveries: async (request) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const filters = {
        ...request,
        state: wordOf(deliveryStates, request.state),
        since: readInstantOf("since", request.since),
        until: readInstantOf("until", request.until),
      };
      const { data, hasMore } = await deliveries.list(id, filters, pageOf(request));
      return { data: data.map(presentDelivery), hasMore };
    },
    getWebhookDelivery: async ({ organisation, id }) => {
      const owner = await requireOrganisation(deps, organisation);
      const { body, tries, ...delivery } = requireDelivery(await deliveries.get(owner.id, id));
      return { delivery: { ...presentDelivery(delivery), body, tries: tries.map(membersOf) } };
    },
  } satisfies Partial<Implementation>;
}

function resends(deps: AdminDependencies) {
  const { deliveries } = deps.store;
  return {
    sendTestEvent: async ({ organisation, id }, call) => {
      const owner = await requireOrganisation(deps, organisation);
      const test = { endpointId: id, eventId: testEventId(call) };
      const sent = requireEndpoint(await deliveries.sendTest(actorOf(call), owner.id, test));
      return { delivery: presentDelivery(await start(deps, owner.id, sent)) };
    },
    resendWebhookDelivery: async ({ organisation, id }, call) => {
      const owner = await requireOrganisation(deps, organisation);
      const sent = requireDelivery(await deliveries.resend(actorOf(call), owner.id, id));
      return { delivery: presentDelivery(await start(deps, owner.id, sent)) };
    },
    resendWebhookDeliveries: async (request, call) => {
      const { id: organisationId } = await requireOrganisation(deps, request.organisation);
      const { id: endpointId, includeDelivered, afterEvent = null, kinds } = request;
      const since = requireInstant("since", request.since);
      const until = readInstantOf("until", request.until);
      requireKinds(kinds);
      // The limit holds for the first call of a series. The calls after it carry `after_event`.
      if (afterEvent === null && Date.now() - since.getTime() > retentionMs) {
        throw new Refusal(
          "invalid_parameter",
          "since must be at most 30 days ago: older events are deleted",
          "since",
        );
      }
      const events = { endpointId, since, until, kinds, includeDelivered, afterEvent };
      const counts = requireEndpoint(
        await deliveries.resendSince(actorOf(call), organisationId, events),
      );
      const { resent, added, lastEvent } = counts;
      const endpoint = { organisationId, endpointId: endpointId.toLowerCase() };
      if (resent + added > 0) await deps.startDeliveries(endpoint);
      return lastEvent === null ? { resent, added } : { resent, added, lastEvent };
    },
  } satisfies Partial<Implementation>;
}

/** After this time events are deleted. EVENT-5 */
const retentionMs = 30 * 24 * 60 * 60 * 1000;

/** One call has one test event, also if its first try was interrupted. */
const testEventId = (call: AdminCall) => identityOf(call, "test_event");

/** Starts the delivery and returns it as it was before. */
async function start(
  deps: AdminDependencies,
  organisationId: string,
  deliveryId: string,
): Promise<DeliveryView> {
  const found = await deps.store.deliveries.get(organisationId, deliveryId);
  const { body: _, tries: __, ...delivery } = requireDelivery(found);
  const { state, endpointId } = delivery;
  if (state === "pending") await deps.startDeliveries({ organisationId, endpointId });
  return delivery;
}

function requireEndpoint<T>(found: T | null): T {
  return required(found, "webhook_endpoint_not_found");
}

function requireDelivery<T>(found: T | null): T {
  return required(found, "webhook_delivery_not_found");
}

function requireUrl({ webhookAddresses }: AdminDependencies, url: string): void {
  const fault = urlFault(url, webhookAddresses);
  if (fault !== null) throw new Refusal("invalid_parameter", `url ${fault}`, "url");
}

function requireKinds(kinds: readonly string[]): void {
  const known: readonly string[] = eventTypes;
  const wrong = kinds.findIndex((kind) => !known.includes(kind));
  if (wrong < 0) return;
  const param = `kinds.${wrong}`;
  throw new Refusal("invalid_parameter", `${param} must be one of ${eventTypes.join(", ")}`, param);
}

function changedKinds({ kinds, allKinds }: UpdateWebhookEndpointRequest): string[] | undefined {
  requireKinds(kinds);
  if (!allKinds) return kinds.length === 0 ? undefined : kinds;
  if (kinds.length === 0) return [];
  throw new Refusal("invalid_parameter", "kinds and all_kinds exclude each other", "all_kinds");
}
