/** The events of an organisation: what happened to its objects, as its platform is sent it. */

import { useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { Page } from "../../design/page/page.tsx";
import { EmptyList, Filters } from "../../design/table/filters.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { Named } from "../../design/table/named.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { type Event, EventService } from "../../gen/billing/admin/v1/events_pb.ts";
import { eventWords } from "../../words/events.ts";
import { ObjectLink } from "./object-link.tsx";

const typed = [
  { key: "object", label: "object id" },
  { key: "type", label: "event" },
];

const columns: readonly Column<Event>[] = [
  {
    title: "Event",
    cell: ({ type, created }) => <Named name={eventWords(type)} sub={<Instant at={created} />} />,
  },
  {
    title: "Object",
    cell: ({ objectKind, objectId }) => <ObjectLink kind={objectKind} id={objectId} />,
  },
  { title: "Type", cell: ({ type }) => <code>{type}</code>, from: "tablet" },
];

/** Lists events, newest first. */
export function ActivityPage() {
  const { id: organisation } = useOrganisation();
  const search = useSearch({ from: "/signed-in/o/$organisation/activity" });
  const list = useList(EventService.method.listEvents, {
    organisation,
    limit: pageSize,
    startingAfter: search.after,
    type: search.type,
    object: search.object,
  });
  return (
    <Page title="Activity" lead="What happened, as the platform is sent it.">
      <Filters typed={typed} />
      <KeysetTable
        name="Events"
        list={list}
        columns={columns}
        idOf={({ id }) => id}
        to={({ id }) => ({ to: "/o/$organisation/activity/$id", params: { organisation, id } })}
        empty={
          <EmptyList filters={["type", "object"]}>
            <EmptyState title="Nothing has happened yet" docs="webhooks">
              Each change of an invoice, a subscription or another object is an event.
            </EmptyState>
          </EmptyList>
        }
      />
    </Page>
  );
}
