/** The next 60 days: what renews, is invoiced ahead and ends on each, with the list of each. */
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import type { CSSProperties } from "react";
import {
  addDays,
  type CivilDate,
  civilDate,
} from "../../../../../src/domain/calendar/civil-date.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { FactRow } from "../../design/page/facts.tsx";
import { Page, Skeleton } from "../../design/page/page.tsx";
import { dayText, Instant } from "../../design/values/instant.tsx";
import { grouped, Money } from "../../design/values/money.tsx";
import {
  type GetOverviewResponse,
  OverviewService,
  type RenewalFigures,
} from "../../gen/billing/admin/v1/overview_pb.ts";
import styles from "./calendar.module.css";
import { refetchInterval, sumOf } from "./figures.ts";

/** The days that are shown. */
const daysShown = 60;

const weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** The page of the next days. */
export function CalendarPage() {
  const { id: organisation, whole } = useOrganisation();
  const read = useQuery(OverviewService.method.getOverview, { organisation }, { refetchInterval });
  const { invoiceCreateDays: ahead } = whole;
  return (
    <Page
      title="Calendar"
      lead={`What renews and ends in the next ${daysShown} days, at today's units and prices.${
        ahead > 0 ? ` Renewals are invoiced ${ahead} days before.` : ""
      }`}
    >
      {read.error ? (
        <ErrorState error={read.error} onAgain={() => void read.refetch()} />
      ) : read.data === undefined ? (
        <Skeleton lines={10} />
      ) : read.data.asOf === undefined ? (
        <EmptyState title="The figures are being reckoned" docs="console">
          A new organisation has them within a minute.
        </EmptyState>
      ) : (
        <Days of={read.data} asOf={read.data.asOf} ahead={ahead} />
      )}
    </Page>
  );
}

function Days({
  of,
  asOf,
  ahead,
}: {
  readonly of: GetOverviewResponse;
  readonly asOf: string;
  readonly ahead: number;
}) {
  const { today: now } = useOrganisation();
  const today = civilDate(of.today ?? now);
  const byDate = new Map(of.renewals.map((day) => [day.date, day]));
  const days = Array.from({ length: daysShown }, (_, index) => {
    const date = addDays(today, index);
    const { due, ending } = byDate.get(date) ?? {};
    return { date, due, ending, renewing: addDays(date, ahead) };
  });
  // Monday is the first column.
  const column = ((new Date(`${today}T00:00:00Z`).getUTCDay() + 6) % 7) + 1;
  const sums = [
    sumOf(days.map(({ due }) => due)),
    sumOf(days.map(({ ending }) => ending)),
  ] as const;
  if (sums.every(({ count }) => count === 0))
    return (
      <EmptyState title="Nothing renews or ends in these days">
        Active subscriptions stand here on the day of their renewal. As of <Instant at={asOf} />.
      </EmptyState>
    );
  return (
    <>
      <FactRow
        facts={[
          ["Renew", <Sum key="due" of={sums[0]} />],
          ["End", <Sum key="ending" of={sums[1]} />],
        ]}
      />
      <div className={styles.weekdays} aria-hidden="true">
        {weekdays.map((name) => (
          <span key={name}>{name}</span>
        ))}
      </div>
      <ol className={styles.days}>
        {days.map(({ date, due, ending, renewing }, index) => (
          <li
            key={date}
            className={index === 0 ? styles.today : undefined}
            style={index === 0 ? ({ "--column": column } as CSSProperties) : undefined}
          >
            <time dateTime={date}>{dayName(date, index)}</time>
            <OfDay word="renew" date={date} figures={due} />
            <OfDay word="end" date={date} figures={ending} />
            {ahead > 0 && (
              <OfDay word="invoiced" date={renewing} figures={byDate.get(renewing)?.due} />
            )}
          </li>
        ))}
      </ol>
      <p className="muted">
        As of <Instant at={asOf} />
      </p>
    </>
  );
}

/** `28 Nov 2026` at the beginning and in a new year, else `29 Nov`. */
function dayName(date: CivilDate, index: number): string {
  const text = dayText(date);
  return index === 0 || date.endsWith("-01-01") ? text : text.slice(0, -" 2026".length);
}

/** A figure of a day, as the link to its subscriptions. */
function OfDay({
  word,
  date,
  figures,
}: {
  readonly word: "renew" | "end" | "invoiced";
  readonly date: string;
  readonly figures: RenewalFigures | undefined;
}) {
  const { id: organisation } = useOrganisation();
  if (figures === undefined || figures.count === 0) return null;
  return (
    <Link
      to="/o/$organisation/subscriptions"
      params={{ organisation }}
      search={{ status: "active", renewal_from: date, renewal_to: date }}
      className={styles[word]}
    >
      <b>
        {grouped(figures.count)} {word}
        {figures.count === 1 && word !== "invoiced" && "s"}
      </b>
      {word === "renew" &&
        figures.values.map(({ currency, amount }) => (
          <span key={currency}>
            <Money amount={amount} currency={currency} />
          </span>
        ))}
      <span className="unseen"> on {dayText(date)}</span>
    </Link>
  );
}

function Sum({ of: { count, values } }: { readonly of: ReturnType<typeof sumOf> }) {
  return (
    <>
      {grouped(count)}
      {values.map(({ currency, amount }) => (
        <span key={currency}>
          {" · "}
          <Money amount={amount} currency={currency} />
        </span>
      ))}
    </>
  );
}
