/** What happened to a subscription, newest first, with days as headings. */
import { callUnaryMethod, createConnectQueryKey, useTransport } from "@connectrpc/connect-query";
import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, type LinkProps, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useOrganisation } from "../../data/organisation.tsx";
import { Disclosure } from "../../design/page/disclosure.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { Skeleton } from "../../design/page/page.tsx";
import { dayOf, dayText, Instant, timeText } from "../../design/values/instant.tsx";
import { amountText } from "../../design/values/money.tsx";
import { Dot } from "../../design/values/state.tsx";
import { DocumentKind } from "../../gen/billing/admin/v1/documents_pb.ts";
import {
  SubscriptionService,
  type TimelineEntry,
  TimelineGroup,
} from "../../gen/billing/admin/v1/subscriptions_pb.ts";
import { choiceOf } from "../../words/choices.ts";
import { foldedWords, timelineGroups, toneOf } from "../../words/timeline.ts";
import styles from "./subscription.module.css";

/** The entries that are read at once. */
const limit = 50;

/** The timeline of a subscription. */
export function Timeline({ id }: { readonly id: string }) {
  const { id: organisation, timezone } = useOrganisation();
  const { show } = useSearch({ from: "/signed-in/o/$organisation/subscriptions/$id" });
  const transport = useTransport();
  const method = SubscriptionService.method.listSubscriptionTimeline;
  const request = { organisation, id, limit, group: choiceOf(TimelineGroup, show) };
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
  if (read.data === undefined) {
    if (read.error) return <ErrorState error={read.error} onAgain={() => void read.refetch()} />;
    return <Skeleton lines={10} />;
  }
  const entries = read.data.pages.flatMap(({ data }) => data);
  const byDay = Map.groupBy(entries, ({ at }) => dayOf(at, timezone));
  return (
    <>
      <TimelineFilters current={show} />
      {entries.length === 0 && <EmptyState title="Nothing of this kind has happened yet" />}
      {[...byDay].map(([day, ofDay]) => (
        <section key={day} aria-label={dayText(day)} data-timeline>
          <h2 className={styles.day}>{dayText(day)}</h2>
          <ol>
            {folded(ofDay).map(([entry, ...rest]) =>
              entry === undefined ? null : rest.length === 0 ? (
                <Entry key={entry.id} entry={entry} />
              ) : (
                <Folded key={entry.id} entries={[entry, ...rest]} />
              ),
            )}
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

function TimelineFilters({ current }: { readonly current: string | undefined }) {
  return (
    <nav className={styles.filters} aria-label="Kinds of entries">
      {timelineGroups.map(([value, label]) => (
        <Link
          key={label}
          to="."
          search={{ show: value } as LinkProps["search"]}
          resetScroll={false}
          activeOptions={{ exact: true }}
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
  const { at, kind, reason, message } = entry;
  const details = detailsOf(entry);
  return (
    <li className={styles.entry}>
      <time className="number" dateTime={at} title={at}>
        {timeText(at, timezone)}
      </time>
      <span className={styles.mark}>
        <Dot tone={toneOf(kind)} />
      </span>
      <div className={styles.said}>
        <p>
          <Summary entry={entry} />
        </p>
        {details.length > 0 && <div className={styles.more}>{details}</div>}
        {(message ?? reason) !== undefined && (
          <blockquote className={styles.quote}>{message ?? reason}</blockquote>
        )}
      </div>
    </li>
  );
}

/** The sentence, with its document as a link and its amounts as elsewhere. */
function Summary({ entry: { summary, document, event } }: { readonly entry: TimelineEntry }) {
  const text = summary.replace(
    /(-?\d+\.\d{4}) ([A-Z]{3})\b/g,
    (_, amount: string, currency: string) => `${currency} ${amountText(amount, currency)}`,
  );
  if (event?.delivery !== undefined && text.includes(event.type)) {
    const [before, after] = text.split(event.type);
    return (
      <>
        {before}
        <DeliveryChip id={event.delivery} type={event.type} />
        {after}
      </>
    );
  }
  if (document === undefined) return text;
  const { kind, id, number } = document;
  const at = text.indexOf(number);
  const chip = <DocumentChip kind={kind} id={id} number={number} />;
  if (at === -1)
    return (
      <>
        {text} {chip}
      </>
    );
  return (
    <>
      {text.slice(0, at)}
      {chip}
      {text.slice(at + number.length)}
    </>
  );
}

/** Who it was, how often, and the run of its workflow. */
function detailsOf(entry: TimelineEntry): ReactNode[] {
  const { requester, workflowUrl, attempts, organisationTime, at, nextAttemptAt } = entry;
  const isOfAnotherDay = organisationTime?.slice(0, 10) !== at.slice(0, 10);
  return [
    requester && <span key="who">by {requester.name}</span>,
    organisationTime !== undefined && isOfAnotherDay && (
      <span key="time">
        of <Instant at={organisationTime} withTime={false} />
      </span>
    ),
    attempts !== undefined && attempts > 1 && <span key="attempts">{attempts} attempts</span>,
    nextAttemptAt !== undefined && (
      <span key="next">
        next <Instant at={nextAttemptAt} />
      </span>
    ),
    workflowUrl && (
      <a key="workflow" href={workflowUrl} target="_blank" rel="noreferrer">
        workflow
      </a>
    ),
  ].filter(Boolean);
}

/** Entries that are read as one: `4 events published`. */
function Folded({ entries }: { readonly entries: readonly TimelineEntry[] }) {
  const { timezone } = useOrganisation();
  const [first] = entries;
  if (first === undefined) return null;
  return (
    <li className={styles.entry}>
      <time className="number" dateTime={first.at}>
        {timeText(first.at, timezone)}
      </time>
      <span className={styles.mark}>
        <Dot tone={toneOf(first.kind)} />
      </span>
      <Disclosure title={`${entries.length} ${foldedWords(first.kind)}`}>
        <ol>
          {entries.map((entry) => (
            <Entry key={entry.id} entry={entry} />
          ))}
        </ol>
      </Disclosure>
    </li>
  );
}

/** Puts neighbours of a kind that a person seldom reads together. */
function folded(entries: readonly TimelineEntry[]): readonly (readonly TimelineEntry[])[] {
  const groups: TimelineEntry[][] = [];
  for (const entry of entries) {
    const last = groups.at(-1);
    const isAlike = last?.[0]?.kind === entry.kind && foldedWords(entry.kind) !== null;
    if (isAlike) last?.push(entry);
    else groups.push([entry]);
  }
  return groups;
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
