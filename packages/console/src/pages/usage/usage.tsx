/** Usage of one subscription, which the page asks for, by period and event. */
import { Link, useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { Page, Section } from "../../design/page/page.tsx";
import { Filters } from "../../design/table/filters.tsx";
import { KeysetTable } from "../../design/table/keyset-table.tsx";
import { SubscriptionService } from "../../gen/billing/admin/v1/subscriptions_pb.ts";
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

/** The subscriptions, of which one is chosen. */
function Choice() {
  const { id: organisation, today } = useOrganisation();
  const { after } = useSearch({ from: "/signed-in/o/$organisation/usage" });
  const list = useList(SubscriptionService.method.listSubscriptions, {
    organisation,
    limit: pageSize,
    startingAfter: after,
  });
  return (
    <Section title="Of which subscription?">
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
        empty={<EmptyState title="No subscriptions yet" />}
      />
    </Section>
  );
}
