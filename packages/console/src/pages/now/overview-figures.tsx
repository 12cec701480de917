/** The four figures of the overview. Each leads to the list that proves it. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { addDays, civilDate } from "../../../../../src/domain/calendar/civil-date.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { daysBetween, Instant } from "../../design/values/instant.tsx";
import { grouped, Money } from "../../design/values/money.tsx";
import type { GetOverviewResponse } from "../../gen/billing/admin/v1/overview_pb.ts";
import { SubscriptionStatus } from "../../gen/billing/v1/subscriptions_pb.ts";
import { sumOf } from "./figures.ts";
import styles from "./now.module.css";

/** Shows the figures. */
export function OverviewFigures({ of }: { readonly of: GetOverviewResponse }) {
  const { id: organisation, today } = useOrganisation();
  const active = of.subscriptions.find(({ status }) => status === SubscriptionStatus.ACTIVE);
  const due = dueSoon(of);
  const waiting = of.notInLedger?.count ?? 0;
  const params = { organisation };
  return (
    <div className={styles.figures}>
      <Figure title="Recurring value a month">
        {of.recurring.length === 0 ? <p className={styles.value}>–</p> : null}
        {of.recurring.map(({ currency, perMonth }) => (
          <p key={currency} className={styles.value}>
            <Link to="/o/$organisation/subscriptions" params={params} search={{ status: "active" }}>
              <Money amount={perMonth} currency={currency} />
            </Link>
          </p>
        ))}
      </Figure>
      <Figure title="Active subscriptions">
        <p className={styles.value}>
          <Link to="/o/$organisation/subscriptions" params={params} search={{ status: "active" }}>
            {grouped(active?.count ?? 0)}
          </Link>
        </p>
        <p className={styles.below}>
          {grouped(of.started)} began and {grouped(of.ended)} ended in 30 days
        </p>
      </Figure>
      <Figure title="Due in 7 days">
        <p className={styles.value}>
          <Link
            to="/o/$organisation/subscriptions"
            params={params}
            search={{
              status: "active",
              renewal_from: of.today,
              renewal_to: addDays(civilDate(of.today ?? today), 7),
            }}
          >
            {grouped(due.count)}
          </Link>
        </p>
        {due.values.map(({ currency, amount }) => (
          <p key={currency} className={styles.below}>
            <Money amount={amount} currency={currency} />
          </p>
        ))}
      </Figure>
      <Figure title="Not yet in the ledger">
        <p className={styles.value}>
          <Link to="/o/$organisation/ledger" params={params} search={{ tab: "documents" }}>
            {grouped(waiting)}
          </Link>
        </p>
        {of.notInLedger?.oldest !== undefined && (
          <p className={styles.below}>
            the oldest since <Instant at={of.notInLedger.oldest} />
          </p>
        )}
      </Figure>
    </div>
  );
}

function Figure({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className={styles.figure} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

/** What renews from today to seven days later, with its exact sums. */
function dueSoon({ renewals, today = "" }: GetOverviewResponse) {
  return sumOf(
    renewals
      .filter(({ date }) => daysBetween(today, date) >= 0 && daysBetween(today, date) <= 7)
      .map(({ due }) => due),
  );
}
