/**
 * EventService: lists and retrieves events as they were sent. A key sees those of the objects that
 * its scopes read (EVENT-6, EVENT-7).
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type EventType,
  eventTypes,
  type ObjectKind,
  objectKindOf,
  objectKinds,
  readEventType,
} from "../domain/events/event.ts";
import { Refusal } from "../domain/refusal.ts";
import { readTimestamp } from "../domain/usage/parse.ts";
import type {
  EventSchema,
  EventService,
  ListEventsRequest,
} from "../gen/proto/billing/v1/events_pb.ts";
import type { EventBody, EventFilters } from "../store/events/list-events.ts";
import type { Collection, Tenant } from "../store/tenant.ts";
import type { Caller } from "../transport/rpc/caller.ts";
import type { Implementation } from "../transport/rpc/implementation.ts";
import type { Deps } from "./deps.ts";
import { getObject, listMethod } from "./reading.ts";

/** The scope that reads each kind of object. */
const readScopes: Readonly<Record<ObjectKind, string>> = {
  customer: "customers:read",
  subscription: "subscriptions:read",
  invoice: "invoices:read",
  credit_note: "credit_notes:read",
};

/** Returns the implementation of EventService. Refuses `event_not_found`, `insufficient_scope`. */
export function eventService(deps: Pick<Deps, "tenant">): Implementation<typeof EventService> {
  const get = getObject(deps, eventsOf, "event_not_found");
  return {
    listEvents: listMethod(deps, eventsOf, filtersOf, presentEvent),
    getEvent: async ({ id }, call) => ({ event: presentEvent(await get(id, call)) }),
  };
}

function eventsOf(tenant: Tenant, caller: Caller): Collection<EventBody, EventFilters> {
  return tenant.events({ kinds: kindsOf(caller), livemode: caller.livemode });
}

function kindsOf({ scopes }: Caller): readonly ObjectKind[] {
  return objectKinds.filter((kind) => scopes.has(readScopes[kind]));
}

function filtersOf(request: ListEventsRequest, caller: Caller): EventFilters {
  const { object, createdFrom, createdBefore } = request;
  return {
    types: typesOf(request, caller),
    objectId: object ?? null,
    createdFrom: createdFrom === undefined ? null : readTimestamp(createdFrom),
    createdBefore: createdBefore === undefined ? null : readTimestamp(createdBefore),
  };
}

/** Returns the kinds of events to list. Null if the key sees all kinds and asks for no other. */
function typesOf({ type }: ListEventsRequest, caller: Caller): readonly EventType[] | null {
  const kinds = kindsOf(caller);
  if (type.length > 0) return [...new Set(type.map((name) => requireType(name, kinds)))];
  if (kinds.length === objectKinds.length) return null;
  return eventTypes.filter((one) => kinds.includes(objectKindOf(one)));
}

function requireType(name: string, kinds: readonly ObjectKind[]): EventType {
  const type = readEventType(name);
  if (type === null) {
    const message = "type must name kinds of events, such as invoice.paid";
    throw new Refusal("invalid_parameter", message, "type");
  }
  const kind = objectKindOf(type);
  if (kinds.includes(kind)) return type;
  throw new Refusal("insufficient_scope", `The API key lacks the scope ${readScopes[kind]}`);
}

/** The members of an event's body. */
interface EventMembers {
  readonly id: string;
  readonly object: string;
  readonly type: string;
  readonly api_version: string;
  readonly created: string;
  readonly livemode: boolean;
  readonly sequence: number;
  readonly data: {
    readonly object: Record<string, never>;
    readonly previous_attributes: Record<string, never> | null;
  };
}

/** The members are for Connect and gRPC. REST writes the body as it is (EVENT-5). */
function presentEvent(body: EventBody): MessageInitShape<typeof EventSchema> {
  const { data, api_version, ...members } = JSON.parse(body) as EventMembers;
  const { object, previous_attributes } = data;
  const previous = previous_attributes === null ? {} : { previousAttributes: previous_attributes };
  return { ...members, apiVersion: api_version, data: { object, ...previous }, body };
}
