/** The endpoints that get events, and the last deliveries. */
import { useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { Page, Section } from "../../design/page/page.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { Named } from "../../design/table/named.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { State } from "../../design/values/state.tsx";
import { type WebhookEndpoint, WebhookService } from "../../gen/billing/admin/v1/webhooks_pb.ts";
import { endpointStates, wordsOf } from "../../words/states.ts";
import { deliveryColumns } from "./columns.tsx";
import { CreateEndpoint } from "./endpoint-acts.tsx";

const columns: readonly Column<WebhookEndpoint>[] = [
  { title: "Address", cell: ({ url, description }) => <Named name={url} sub={description} /> },
  {
    title: "State",
    cell: ({ status, disabledReason, failures }) => (
      <Named
        name={
          failures > 0 && disabledReason === undefined ? (
            <State word={`Failing, ${failures} in a row`} tone="warn" />
          ) : (
            <State {...wordsOf(endpointStates, status)} />
          )
        }
        sub={disabledReason}
      />
    ),
  },
  {
    title: "Events",
    cell: ({ kinds }) => (kinds.length === 0 ? "all" : kinds.join(", ")),
    from: "desktop",
  },
  {
    title: "Last success",
    cell: ({ succeededAt }) => (succeededAt === undefined ? "–" : <Instant at={succeededAt} />),
    from: "tablet",
  },
];

/** Lists endpoints and deliveries. */
export function WebhooksPage() {
  const { id: organisation } = useOrganisation();
  const { after } = useSearch({ from: "/signed-in/o/$organisation/webhooks" });
  const endpoints = useList(WebhookService.method.listWebhookEndpoints, {
    organisation,
    limit: 100,
  });
  const deliveries = useList(WebhookService.method.listWebhookDeliveries, {
    organisation,
    limit: pageSize,
    startingAfter: after,
  });
  return (
    <Page title="Webhooks" acts={<CreateEndpoint />}>
      <Section title="Endpoints">
        <KeysetTable
          name="Endpoints"
          list={endpoints}
          columns={columns}
          idOf={({ id }) => id}
          all={null}
          to={({ id }) => ({ to: "/o/$organisation/webhooks/$id", params: { organisation, id } })}
          empty={
            <EmptyState title="No endpoints yet" docs="webhooks">
              An endpoint is an address of the platform that is sent each event.
            </EmptyState>
          }
        />
      </Section>
      <Section title="Deliveries">
        <KeysetTable
          name="Deliveries"
          list={deliveries}
          columns={deliveryColumns}
          idOf={({ id }) => id}
          to={({ id }) => ({
            to: "/o/$organisation/webhooks/deliveries/$id",
            params: { organisation, id },
          })}
          empty={<EmptyState title="Nothing has been delivered yet" />}
        />
      </Section>
    </Page>
  );
}
