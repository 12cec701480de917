/** The columns of subscriptions, wherever they are listed. */
import type { Column } from "../../design/table/keyset-table.tsx";
import { Named } from "../../design/table/named.tsx";
import { awayText, Day, daysBetween } from "../../design/values/instant.tsx";
import { grouped, Money } from "../../design/values/money.tsx";
import { State } from "../../design/values/state.tsx";
import { type Subscription, SubscriptionStatus } from "../../gen/billing/v1/subscriptions_pb.ts";
import { everyText } from "../../words/choices.ts";
import { subscriptionStates, wordsOf } from "../../words/states.ts";
import { PlanName } from "../catalogue/plan-name.tsx";

/** Returns the columns of subscriptions. */
export function subscriptionColumns(today: string): readonly Column<Subscription>[] {
  return [
    {
      title: "Customer",
      cell: ({ customerCode, label, id }) => (
        <Named name={customerCode} sub={label === "" ? id.slice(0, 8) : label} />
      ),
    },
    { title: "Plan", cell: ({ plan }) => <PlanName id={plan} />, from: "under" },
    {
      title: "State",
      cell: ({ status, cancelAtPeriodEnd }) => (
        <State
          {...(cancelAtPeriodEnd && status === SubscriptionStatus.ACTIVE
            ? { word: "Ending", tone: "warn" as const }
            : wordsOf(subscriptionStates, status))}
        />
      ),
    },
    {
      title: "Units",
      cell: ({ units }) => (units === 0 ? "–" : grouped(units)),
      isNumber: true,
      from: "desktop",
    },
    {
      title: "Renewal value",
      cell: ({ renewalValue, currency, interval }) => (
        <Named
          name={<Money amount={renewalValue} currency={currency} />}
          sub={everyText(interval)}
        />
      ),
      isNumber: true,
    },
    {
      title: "Renewal",
      cell: ({ renewalDate, status }) =>
        status === SubscriptionStatus.ENDED ? (
          "–"
        ) : (
          <Named
            name={<Day date={renewalDate} />}
            sub={awayText(daysBetween(today, renewalDate))}
          />
        ),
      from: "desktop",
    },
  ];
}
