/** One endpoint, with its deliveries. */
import { useQuery } from "@connectrpc/connect-query";
import { useParams, useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { type Fact, FactRow } from "../../design/page/facts.tsx";
import { Page, Section, Skeleton } from "../../design/page/page.tsx";
import { EmptyList, Filters } from "../../design/table/filters.tsx";
import { KeysetTable } from "../../design/table/keyset-table.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { State } from "../../design/values/state.tsx";
import {
  WebhookDeliveryState,
  type WebhookEndpoint,
  WebhookService,
} from "../../gen/billing/admin/v1/webhooks_pb.ts";
import { choiceOf, choicesOf } from "../../words/choices.ts";
import { deliveryStates, endpointStates, wordsOf } from "../../words/states.ts";
import { deliveryColumns } from "./columns.tsx";
import { EndpointActs } from "./endpoint-acts.tsx";

const route = { from: "/signed-in/o/$organisation/webhooks/$id" } as const;

/** The page of an endpoint. */
export function EndpointPage() {
  const { organisation, id } = useParams(route);
  const search = useSearch(route);
  const read = useQuery(WebhookService.method.getWebhookEndpoint, { organisation, id });
  const deliveries = useList(WebhookService.method.listWebhookDeliveries, {
    organisation,
    endpoint: id,
    limit: pageSize,
    startingAfter: search.after,
    state: choiceOf(WebhookDeliveryState, search.state),
    eventType: search.type,
  });
  const endpoint = read.data?.endpoint;
  if (read.error) return <ErrorState error={read.error} onAgain={() => void read.refetch()} />;
  if (endpoint === undefined) return <Skeleton lines={8} />;
  return (
    <Page
      title={endpoint.url}
      beside={<State {...wordsOf(endpointStates, endpoint.status)} />}
      lead={endpoint.description === "" ? undefined : endpoint.description}
      acts={<EndpointActs endpoint={endpoint} />}
    >
      <FactRow facts={factsOf(endpoint)} />
      <Section title="Deliveries">
        <Filters
          tabs={{ key: "state", choices: choicesOf(WebhookDeliveryState, deliveryStates) }}
          typed={[{ key: "type", label: "event" }]}
        />
        <KeysetTable
          name="Deliveries"
          list={deliveries}
          columns={deliveryColumns}
          idOf={(delivery) => delivery.id}
          to={(delivery) => ({
            to: "/o/$organisation/webhooks/deliveries/$id",
            params: { organisation, id: delivery.id },
          })}
          empty={
            <EmptyList filters={["state", "type"]}>
              <EmptyState title="Nothing has been delivered yet" />
            </EmptyList>
          }
        />
      </Section>
    </Page>
  );
}

function factsOf(endpoint: WebhookEndpoint): Fact[] {
  const { kinds, failures, failingSince, succeededAt, pausedUntil } = endpoint;
  const { previousSecretUntil, disabledReason } = endpoint;
  const all: (Fact | false)[] = [
    ["Events", kinds.length === 0 ? "all" : kinds.join(", ")],
    ["Last success", succeededAt === undefined ? "–" : <Instant key="s" at={succeededAt} />],
    disabledReason !== undefined && ["Disabled, because", disabledReason],
    failures > 0 && ["Failures in a row", String(failures)],
    failingSince !== undefined && ["Failing since", <Instant key="f" at={failingSince} />],
    pausedUntil !== undefined && ["Paused until", <Instant key="p" at={pausedUntil} />],
    previousSecretUntil !== undefined && [
      "The previous secret signs until",
      <Instant key="o" at={previousSecretUntil} />,
    ],
  ];
  return all.filter((fact) => fact !== false);
}
