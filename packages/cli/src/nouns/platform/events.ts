/** `billing events`: what the webhook endpoints of an organisation receive. ADMIN-11 */
import { EventService } from "../../../../../src/gen/proto/billing/admin/v1/events_pb.ts";
import type { Noun } from "../../noun.ts";
import { tail } from "./forward-events.ts";

const { method } = EventService;

/** Lists and shows events. */
export const events: Noun = {
  name: "events",
  summary: "Find the events of the last 30 days and show them",
  verbs: [
    {
      name: "list",
      method: method.listEvents,
      summary: "List events, newest first.",
      examples: [
        "events list --type invoice.paid --since 2026-03-01T00:00:00Z",
        "events list --object 0199a0b2-6666-7000-8000-000000000001",
      ],
      fields: {
        type: "only events of this type, such as invoice.paid",
        object: "only events of the object with this id",
        since: "only events published at this time or later",
        until: "only events published before this time",
      },
      columns: ["id", "created", "type", "object_id", "sequence"],
    },
    tail,
    {
      name: "get",
      method: method.getEvent,
      summary: "Show an event with the body that endpoints receive.",
      examples: ["events get 0199a0b2-9999-7000-8000-000000000001"],
      places: ["id"],
    },
  ],
};
