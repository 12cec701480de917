/** One subscription: its facts, its next invoice, and what happened to it. */
import { useQuery } from "@connectrpc/connect-query";
import { Link, type LinkProps, useParams, useSearch } from "@tanstack/react-router";
import { useOrganisation } from "../../data/organisation.tsx";
import { later } from "../../design/later.tsx";
import { Columns } from "../../design/page/columns.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { type Fact, FactRow } from "../../design/page/facts.tsx";
import { LinkTabs } from "../../design/page/link-tabs.tsx";
import { Page, Skeleton } from "../../design/page/page.tsx";
import { awayText, Day, daysBetween } from "../../design/values/instant.tsx";
import { grouped, Money } from "../../design/values/money.tsx";
import { State } from "../../design/values/state.tsx";
import type { Plan } from "../../gen/billing/admin/v1/catalogue_pb.ts";
import { CustomerService } from "../../gen/billing/admin/v1/customers_pb.ts";
import { SubscriptionService } from "../../gen/billing/admin/v1/subscriptions_pb.ts";
import { type Subscription, SubscriptionStatus } from "../../gen/billing/v1/subscriptions_pb.ts";
import { everyText } from "../../words/choices.ts";
import { subscriptionStates, wordsOf } from "../../words/states.ts";
import { PlanName, usePlan } from "../catalogue/plan-name.tsx";
import { SubscriptionActDrawer, SubscriptionActs } from "./acts/acts.tsx";
import { PeriodBar } from "./period-bar.tsx";
import { SubscriptionUsage } from "./subscription-usage.tsx";
import { Timeline } from "./timeline.tsx";

// What explains its lines is large, and the page shows without it.
const Upcoming = later(
  async () => (await import("./upcoming.tsx")).Upcoming,
  <Skeleton lines={5} />,
);

const Fields = later(async () => (await import("./fields.tsx")).Fields, <Skeleton lines={8} />);

const Documents = later(
  async () => (await import("./subscription-documents.tsx")).SubscriptionDocuments,
  <Skeleton lines={8} />,
);

const route = { from: "/signed-in/o/$organisation/subscriptions/$id" } as const;

/** The page of a subscription. */
export function SubscriptionPage() {
  const { organisation, id } = useParams(route);
  const read = useQuery(SubscriptionService.method.getSubscription, { organisation, id });
  const subscription = read.data?.subscription;
  // A page that is open stays, with what is typed in it, if a later read fails.
  if (subscription !== undefined)
    return <Whole subscription={subscription} waits={read.data?.waitsForLedger === true} />;
  if (read.error) return <ErrorState error={read.error} onAgain={() => void read.refetch()} />;
  return <Skeleton lines={8} />;
}

function Whole({
  subscription,
  waits,
}: {
  readonly subscription: Subscription;
  readonly waits: boolean;
}) {
  const { id: organisation, today } = useOrganisation();
  const { id, customer, customerCode, label, status, plan: planId } = subscription;
  const plan = usePlan(planId);
  const read = useQuery(CustomerService.method.getCustomer, { organisation, id: customer });
  const name = read.data?.customer?.name ?? customerCode;
  const isRunning = status === SubscriptionStatus.ACTIVE;
  return (
    <Page
      title={label === "" ? name : label}
      above={
        <>
          <Link to="/o/$organisation/customers/$id" params={{ organisation, id: customer }}>
            {name}
          </Link>{" "}
          › <PlanName id={planId} />
        </>
      }
      beside={
        <State
          {...(isRunning && subscription.cancelAtPeriodEnd
            ? { word: "Ends with its period", tone: "warn" as const }
            : wordsOf(subscriptionStates, status))}
        />
      }
      acts={<SubscriptionActs subscription={subscription} waits={waits} />}
    >
      <FactRow facts={factsOf(subscription, plan, today)} />
      {isRunning && <PeriodBar subscription={subscription} />}
      <Columns
        name="Next invoice"
        isFirst
        beside={(isRunning || status === SubscriptionStatus.PENDING) && <Upcoming id={id} />}
      >
        <Parts subscription={subscription} />
      </Columns>
      <SubscriptionActDrawer
        subscription={subscription}
        about={`${name} › ${plan?.name ?? planId}`}
      />
    </Page>
  );
}

function factsOf(subscription: Subscription, plan: Plan | undefined, today: string): Fact[] {
  const { units, minimumUnits, renewalValue, currency, interval, renewalDate, endDate } =
    subscription;
  const { discountPercent, startDate, endAfterCycles } = subscription;
  const labels = plan?.unitLabels;
  const word = units === 1 ? labels?.singular : labels?.plural;
  const least = minimumUnits > 0 ? ` (at least ${grouped(minimumUnits)})` : "";
  const days = daysBetween(today, renewalDate);
  const all: (Fact | false)[] = [
    units > 0 && ["Units", `${grouped(units)} ${word ?? ""}${least}`],
    [
      "Value at renewal",
      <>
        <Money amount={renewalValue} currency={currency} /> {everyText(interval)}
      </>,
    ],
    endDate === undefined && [
      "Renewal",
      <>
        <Day date={renewalDate} />, {awayText(days)}
      </>,
    ],
    endDate !== undefined && ["Ends", <Day key="end" date={endDate} />],
    Number(discountPercent) > 0 && ["Discount", `${Number(discountPercent)} %`],
    ["Began", <Day key="start" date={startDate} />],
    endAfterCycles !== undefined && ["Ends after", `${endAfterCycles} periods`],
  ];
  return all.filter((fact) => fact !== false);
}

const parts = [
  [undefined, "Timeline"],
  ["documents", "Documents"],
  ["usage", "Usage"],
  ["fields", "Fields"],
] as const;

function Parts({ subscription }: { readonly subscription: Subscription }) {
  const { tab } = useSearch(route);
  const to = (value: string | undefined): LinkProps => ({
    to: ".",
    search: { tab: value } as LinkProps["search"],
  });
  const tabs = parts.map(([value, label]) => ({ label, to: to(value), isCurrent: value === tab }));
  return (
    <>
      <LinkTabs name="Parts of the subscription" tabs={tabs} />
      {tab === "documents" ? (
        <Documents id={subscription.id} />
      ) : tab === "usage" ? (
        <SubscriptionUsage id={subscription.id} />
      ) : tab === "fields" ? (
        <Fields subscription={subscription} />
      ) : (
        <Timeline id={subscription.id} />
      )}
    </>
  );
}
