/** Usage of one subscription, which the page asks for, by period and event. */
import { useQuery } from "@connectrpc/connect-query";
import { Link, type LinkProps, useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { LinkTabs } from "../../design/page/link-tabs.tsx";
import { Page, Section, Skeleton } from "../../design/page/page.tsx";
import { Filters } from "../../design/table/filters.tsx";
import { KeysetTable } from "../../design/table/keyset-table.tsx";
import { PlanService } from "../../gen/billing/admin/v1/catalogue_pb.ts";
import { SubscriptionService } from "../../gen/billing/admin/v1/subscriptions_pb.ts";
import { CatalogueStatus } from "../../gen/billing/v1/common_pb.ts";
import { subscriptionColumns } from "../subscriptions/columns.tsx";
import { SubscriptionUsage } from "../subscriptions/subscription-usage.tsx";

const route = { from: "/signed-in/o/$organisation/usage" } as const;

const typed = [
  { key: "meter", label: "meter" },
  { key: "subscription", label: "subscription id" },
];

/** Shows the usage of the subscription of the address, or asks for one. */
export function UsagePage() {
  const { subscription, meter } = useSearch(route);
  return (
    <Page
      title="Usage"
      lead="What was reported, what of it is billed, and for how much."
      above={subscription && <OfSubscription id={subscription} />}
    >
      {subscription === undefined ? (
        <Choice />
      ) : (
        <>
          <Filters typed={typed} />
          <SubscriptionUsage id={subscription} {...(meter !== undefined && { meter })} />
        </>
      )}
    </Page>
  );
}

/** Leads back to the subscription, of which the filter shows only the id. */
function OfSubscription({ id }: { readonly id: string }) {
  const { id: organisation } = useOrganisation();
  return (
    <Link to="/o/$organisation/subscriptions/$id" params={{ organisation, id }}>
      Its subscription
    </Link>
  );
}

/** The subscriptions of each plan that has a meter. Others have no usage. */
function Choice() {
  const { id: organisation } = useOrganisation();
  const search = useSearch(route);
  const { listPlans } = PlanService.method;
  const request = { organisation, limit: 100 };
  const present = useQuery(listPlans, request);
  const legacy = useQuery(listPlans, { ...request, status: CatalogueStatus.LEGACY });
  if (present.error)
    return <ErrorState error={present.error} onAgain={() => void present.refetch()} />;
  if (present.data === undefined || legacy.isPending) return <Skeleton lines={8} />;
  const plans = [...present.data.data, ...(legacy.data?.data ?? [])].filter(
    ({ meters }) => meters.length > 0,
  );
  const plan = search.plan ?? plans[0]?.id;
  if (plan === undefined)
    return (
      <EmptyState title="No plan has a meter" docs="guide">
        Usage is reported to a meter, and a plan says what it costs.
      </EmptyState>
    );
  const tabs = plans.map(({ id, name }) => {
    const to: LinkProps = { to: ".", search: { plan: id } as LinkProps["search"] };
    return { label: name, to, isCurrent: id === plan };
  });
  return (
    <Section title="Of which subscription?">
      <LinkTabs name="Plans with a meter" tabs={tabs} />
      <OfPlan plan={plan} />
    </Section>
  );
}

function OfPlan({ plan }: { readonly plan: string }) {
  const { id: organisation, today } = useOrganisation();
  const { after } = useSearch(route);
  const list = useList(SubscriptionService.method.listSubscriptions, {
    organisation,
    plan,
    limit: pageSize,
    startingAfter: after,
  });
  return (
    <KeysetTable
      name="Subscriptions"
      list={list}
      columns={subscriptionColumns(today)}
      idOf={({ id }) => id}
      to={({ id }) => ({
        to: "/o/$organisation/usage",
        params: { organisation },
        search: { subscription: id },
      })}
      empty={<EmptyState title="No subscription has this plan yet" />}
    />
  );
}
