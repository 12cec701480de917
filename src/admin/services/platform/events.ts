/** EventService of the admin API: what webhook endpoints receive. ADMIN-11, EVENT-5 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { EventSchema, EventService } from "../../../gen/proto/billing/admin/v1/events_pb.ts";
import type { StoredEvent } from "../../../store/admin/platform/events.ts";
import { membersOf } from "../../present/present.ts";
import { readInstantOf } from "../../present/read-values.ts";
import {
  type AdminDependencies,
  type AdminImplementation,
  pageOf,
  required,
  requireOrganisation,
} from "../dependencies.ts";

/**
 * Implements the service. Refuses `organisation_not_found`, `event_not_found`, and
 * `invalid_parameter` for a `since` or `until` that is no instant.
 */
export function eventService(
  deps: Pick<AdminDependencies, "store">,
): AdminImplementation<typeof EventService> {
  const { events } = deps.store.platform;
  return {
    listEvents: async (request) => {
      const { id } = await requireOrganisation(deps, request.organisation);
      const search = {
        ...request,
        since: readInstantOf("since", request.since),
        until: readInstantOf("until", request.until),
      };
      const { data, hasMore } = await events.list(id, search, pageOf(request));
      return { data: data.map(presentEvent), hasMore };
    },
    getEvent: async ({ organisation, id }) => {
      const owner = await requireOrganisation(deps, organisation);
      const event = required(await events.get(owner.id, id), "event_not_found");
      return { event: presentEvent(event), body: event.body };
    },
  };
}

function presentEvent(event: StoredEvent): MessageInitShape<typeof EventSchema> {
  return { ...membersOf(event), created: event.createdAt.toISOString() };
}
