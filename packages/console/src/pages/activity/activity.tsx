/** The events of an organisation: what happened to its objects, as its platform is sent it. */

import { useQuery } from "@connectrpc/connect-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { Disclosure } from "../../design/page/disclosure.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { Page, Skeleton } from "../../design/page/page.tsx";
import { EmptyList, Filters } from "../../design/table/filters.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { Named } from "../../design/table/named.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { type Event, EventService } from "../../gen/billing/admin/v1/events_pb.ts";
import { Json } from "./json.tsx";
import { ObjectLink } from "./object-link.tsx";

const typed = [
  { key: "object", label: "object id" },
  { key: "type", label: "event" },
];

const columns: readonly Column<Event>[] = [
  {
    title: "Event",
    cell: ({ type, id }) => (
      <>
        <Named name={type} sub={id} />
        <Body id={id} />
      </>
    ),
  },
  {
    title: "Object",
    cell: ({ objectKind, objectId }) => <ObjectLink kind={objectKind} id={objectId} />,
  },
  { title: "Time", cell: ({ created }) => <Instant at={created} />, from: "tablet" },
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

/** The body of an event, read when a person opens it. */
function Body({ id }: { readonly id: string }) {
  const { id: organisation } = useOrganisation();
  const [isOpen, setOpen] = useState(false);
  const read = useQuery(EventService.method.getEvent, { organisation, id }, { enabled: isOpen });
  return (
    <Disclosure title="Body" onOpen={() => setOpen(true)}>
      {read.error ? (
        <ErrorState error={read.error} />
      ) : read.data ? (
        <Json text={read.data.body} name="Body of the event" />
      ) : (
        <Skeleton />
      )}
    </Disclosure>
  );
}
