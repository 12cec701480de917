/** One delivery: each attempt with its answer, and what was sent. */
import { useQuery } from "@connectrpc/connect-query";
import { Link, useParams } from "@tanstack/react-router";
import { ErrorState } from "../../design/page/error-state.tsx";
import { FactRow } from "../../design/page/facts.tsx";
import { Page, Section, Skeleton } from "../../design/page/page.tsx";
import table from "../../design/table/table.module.css";
import { Copyable } from "../../design/values/copyable.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { grouped } from "../../design/values/money.tsx";
import { State } from "../../design/values/state.tsx";
import { type WebhookAttempt, WebhookService } from "../../gen/billing/admin/v1/webhooks_pb.ts";
import { deliveryStates, wordsOf } from "../../words/states.ts";
import { Json } from "../activity/json.tsx";
import { answerText } from "./columns.tsx";
import { ResendDelivery } from "./endpoint-acts.tsx";

/** The page of a delivery. */
export function DeliveryPage() {
  const route = { from: "/signed-in/o/$organisation/webhooks/deliveries/$id" } as const;
  const { organisation, id } = useParams(route);
  const read = useQuery(WebhookService.method.getWebhookDelivery, { organisation, id });
  const delivery = read.data?.delivery;
  if (read.error) return <ErrorState error={read.error} onAgain={() => void read.refetch()} />;
  if (delivery === undefined) return <Skeleton lines={8} />;
  const { eventType, endpoint, state, event, began, finishedAt, tries, body } = delivery;
  return (
    <Page
      title={eventType}
      above={
        <Link to="/o/$organisation/webhooks/$id" params={{ organisation, id: endpoint }}>
          its endpoint
        </Link>
      }
      beside={<State {...wordsOf(deliveryStates, state)} />}
      acts={<ResendDelivery id={id} />}
    >
      <FactRow
        facts={[
          ["Event", <Copyable key="event" text={event} what="event id" />],
          ["Began", <Instant key="began" at={began} />],
          ["Finished", finishedAt === undefined ? "–" : <Instant key="end" at={finishedAt} />],
        ]}
      />
      <Section title="Attempts">
        <Attempts tries={tries} />
      </Section>
      {body !== undefined && (
        <Section title="What is sent">
          <Json text={body} name="The body" />
        </Section>
      )}
    </Page>
  );
}

function Attempts({ tries }: { readonly tries: readonly WebhookAttempt[] }) {
  if (tries.length === 0) return <p className="muted">None yet.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a place that scrolls needs the keyboard
    <section className={table.frame} tabIndex={0} aria-label="Table of attempts">
      <table className={table.table}>
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">Answer</th>
            <th scope="col">In its words</th>
            <th scope="col" className={table.numeric}>
              Took
            </th>
          </tr>
        </thead>
        <tbody>
          {tries.map(({ number, at, status, error, answer, latencyMs }) => (
            <tr key={number}>
              <td>
                <Instant at={at} />
              </td>
              <td>{answerText(status, error)}</td>
              <td>{answer ?? "–"}</td>
              <td className={table.numeric}>{grouped(latencyMs)} ms</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
