/** One event: its object, and its body as receivers get it. */
import { useQuery } from "@connectrpc/connect-query";
import { useParams } from "@tanstack/react-router";
import { ErrorState } from "../../design/page/error-state.tsx";
import { FactRow } from "../../design/page/facts.tsx";
import { Page, Section, Skeleton } from "../../design/page/page.tsx";
import { Copyable } from "../../design/values/copyable.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { EventService } from "../../gen/billing/admin/v1/events_pb.ts";
import { eventWords } from "../../words/events.ts";
import { Json } from "./json.tsx";
import { ObjectLink } from "./object-link.tsx";

/** The page of an event. */
export function EventPage() {
  const { organisation, id } = useParams({ from: "/signed-in/o/$organisation/activity/$id" });
  const read = useQuery(EventService.method.getEvent, { organisation, id });
  const event = read.data?.event;
  if (read.error) return <ErrorState error={read.error} onAgain={() => void read.refetch()} />;
  if (event === undefined) return <Skeleton lines={8} />;
  return (
    <Page title={eventWords(event.type)} lead={event.type}>
      <FactRow
        facts={[
          ["Time", <Instant key="time" at={event.created} />],
          ["Object", <ObjectLink key="object" kind={event.objectKind} id={event.objectId} />],
          ["Id", <Copyable key="id" text={event.id} what="event id" />],
        ]}
      />
      <Section title="Body">
        <Json text={read.data?.body ?? ""} name="Body of the event" />
      </Section>
    </Page>
  );
}
