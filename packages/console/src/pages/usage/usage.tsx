/** Usage of one subscription, which the page asks for, by period and event. */
import { createQueryOptions, useTransport } from "@connectrpc/connect-query";
import { useQueries } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { Page, Section } from "../../design/page/page.tsx";
import { Filters } from "../../design/table/filters.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { PlanService } from "../../gen/billing/admin/v1/catalogue_pb.ts";
import { SubscriptionService } from "../../gen/billing/admin/v1/subscriptions_pb.ts";
import type { Subscription } from "../../gen/billing/v1/subscriptions_pb.ts";
import { subscriptionColumns } from "../subscriptions/columns.tsx";
import { SubscriptionUsage } from "../subscriptions/subscription-usage.tsx";

const typed = [
  { key: "meter", label: "meter" },
  { key: "subscription", label: "subscription id" },
];

/** Shows the usage of the subscription of the address, or asks for one. */
export function UsagePage() {
  const { subscription, meter } = useSearch({ from: "/signed-in/o/$organisation/usage" });
  return (
    <Page title="Usage" lead="What was reported, what of it is billed, and for how much.">
      {subscription === undefined ? (
        <Choice />
      ) : (
        <>
          <OfSubscription id={subscription} />
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
    <p>
      Of this{" "}
      <Link to="/o/$organisation/subscriptions/$id" params={{ organisation, id }}>
        subscription
      </Link>
    </p>
  );
}

/** Returns the names of the meters by the id of their plan. */
function useMeters(subscriptions: readonly Subscription[]): ReadonlyMap<string, readonly string[]> {
  const { id: organisation } = useOrganisation();
  const transport = useTransport();
  const answers = useQueries({
    queries: [...new Set(subscriptions.map(({ plan }) => plan))].map((id) => ({
      ...createQueryOptions(PlanService.method.getPlan, { organisation, id }, { transport }),
      staleTime: 300_000,
    })),
  });
  return new Map(
    answers.flatMap(({ data }) =>
      data?.plan ? [[data.plan.id, data.plan.meters.map(({ name }) => name)] as const] : [],
    ),
  );
}

/** The subscriptions, of which one with a meter is chosen. */
function Choice() {
  const { id: organisation, today } = useOrganisation();
  const { after } = useSearch({ from: "/signed-in/o/$organisation/usage" });
  const list = useList(SubscriptionService.method.listSubscriptions, {
    organisation,
    limit: pageSize,
    startingAfter: after,
  });
  const meters = useMeters(list.data?.data ?? []);
  const metersOf: Column<Subscription> = {
    title: "Meters",
    cell: ({ plan }) => {
      const names = meters.get(plan);
      if (names?.length === 0) return <span className="muted">none, so it has no usage</span>;
      return names?.join(", ") ?? "…";
    },
  };
  return (
    <Section title="Of which subscription?">
      <KeysetTable
        name="Subscriptions"
        list={list}
        columns={[...subscriptionColumns(today).slice(0, 3), metersOf]}
        idOf={({ id }) => id}
        to={({ id, plan }) =>
          meters.get(plan)?.length
            ? {
                to: "/o/$organisation/usage",
                params: { organisation },
                search: { subscription: id },
              }
            : undefined
        }
        empty={<EmptyState title="No subscriptions yet" />}
      />
    </Section>
  );
}
