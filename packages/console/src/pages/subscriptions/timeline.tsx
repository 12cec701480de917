/** What happened to a subscription, newest first, with days as headings. */
import { callUnaryMethod, createConnectQueryKey, useTransport } from "@connectrpc/connect-query";
import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, type LinkProps, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { Skeleton } from "../../design/page/page.tsx";
import { dayOf, dayText, timeText } from "../../design/values/instant.tsx";
import { Dot } from "../../design/values/state.tsx";
import { DocumentKind } from "../../gen/billing/admin/v1/documents_pb.ts";
import {
  SubscriptionService,
  type TimelineEntry,
} from "../../gen/billing/admin/v1/subscriptions_pb.ts";
import { groupOf, type TimelineGroup, timelineGroups, toneOf } from "../../words/timeline.ts";
import styles from "./subscription.module.css";

/** The entries that are read at once. */
const limit = 50;

/** The timeline of a subscription. */
export function Timeline({ id }: { readonly id: string }) {
  const { id: organisation, timezone } = useOrganisation();
  const { show } = useSearch({ from: "/signed-in/o/$organisation/subscriptions/$id" });
  const transport = useTransport();
  const method = SubscriptionService.method.listSubscriptionTimeline;
  const request = { organisation, id, limit };
  const read = useInfiniteQuery({
    queryKey: createConnectQueryKey({
      schema: method,
      input: request,
      transport,
      cardinality: "infinite",
    }),
    queryFn: ({ pageParam }) =>
      callUnaryMethod(transport, method, { ...request, startingAfter: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ hasMore, data }) => (hasMore ? data.at(-1)?.id : undefined),
  });
  if (read.error) return <ErrorState error={read.error} onAgain={() => void read.refetch()} />;
  if (read.data === undefined) return <Skeleton lines={10} />;
  const entries = read.data.pages.flatMap(({ data }) => data);
  const shown = entries.filter((entry) => isShown(entry, show));
  const byDay = Map.groupBy(shown, ({ at }) => dayOf(at, timezone));
  return (
    <>
      <TimelineFilters current={show} />
      {shown.length === 0 && <EmptyState title="Nothing of this kind has happened yet" />}
      {[...byDay].map(([day, ofDay]) => (
        <section key={day} aria-label={dayText(day)}>
          <h3 className={styles.day}>{dayText(day)}</h3>
          <ol>
            {ofDay.map((entry) => (
              <Entry key={entry.id} entry={entry} />
            ))}
          </ol>
        </section>
      ))}
      {read.hasNextPage && (
        <Button
          variant="default"
          mt="md"
          loading={read.isFetchingNextPage}
          onClick={() => void read.fetchNextPage()}
        >
          Older
        </Button>
      )}
    </>
  );
}

function isShown(entry: TimelineEntry, show: string | undefined): boolean {
  if (show === undefined) return true;
  if (show === "failed") return toneOf(entry.kind) === "bad";
  return groupOf(entry.kind) === show;
}

function TimelineFilters({ current }: { readonly current: string | undefined }) {
  const choices: readonly (readonly [TimelineGroup | "failed" | undefined, string])[] = [
    [undefined, "All"],
    ...timelineGroups,
    ["failed", "Failed only"],
  ];
  return (
    <nav className={styles.filters} aria-label="Kinds of entries">
      {choices.map(([value, label]) => (
        <Link
          key={label}
          to="."
          search={{ show: value } as LinkProps["search"]}
          resetScroll={false}
          aria-current={value === current ? "true" : undefined}
        >
          {label}
        </Link>
      ))}
    </nav>
  );
}

function Entry({ entry }: { readonly entry: TimelineEntry }) {
  const { timezone } = useOrganisation();
  const { at, kind, summary, reason, message } = entry;
  const details = detailsOf(entry);
  return (
    <li className={styles.entry}>
      <time className="number" dateTime={at} title={at}>
        {timeText(at, timezone)}
      </time>
      <span className={styles.mark}>
        <Dot tone={toneOf(kind)} />
      </span>
      <div>
        <p>{summary}</p>
        {(message ?? reason) !== undefined && (
          <blockquote className={styles.quote}>{message ?? reason}</blockquote>
        )}
        {details.length > 0 && <div className={styles.more}>{details}</div>}
      </div>
    </li>
  );
}

/** Who it was, and links to what it is about. */
function detailsOf({
  requester,
  document,
  event,
  workflowUrl,
  attempts,
}: TimelineEntry): ReactNode[] {
  return [
    requester && <span key="who">by {requester.name}</span>,
    attempts !== undefined && attempts > 1 && <span key="attempts">{attempts} attempts</span>,
    document && (
      <DocumentChip key="document" kind={document.kind} id={document.id} number={document.number} />
    ),
    event?.delivery && <DeliveryChip key="event" id={event.delivery} type={event.type} />,
    workflowUrl && (
      <a key="workflow" href={workflowUrl} target="_blank" rel="noreferrer">
        workflow
      </a>
    ),
  ].filter(Boolean);
}

function DocumentChip({ kind, id, number }: { kind: DocumentKind; id: string; number: string }) {
  const { id: organisation } = useOrganisation();
  const isInvoice = kind === DocumentKind.INVOICE;
  return (
    <Link
      to={isInvoice ? "/o/$organisation/invoices/$id" : "/o/$organisation/credit-notes/$id"}
      params={{ organisation, id }}
    >
      {number}
    </Link>
  );
}

function DeliveryChip({ id, type }: { readonly id: string; readonly type: string }) {
  const { id: organisation } = useOrganisation();
  return (
    <Link to="/o/$organisation/webhooks/deliveries/$id" params={{ organisation, id }}>
      {type}
    </Link>
  );
}
