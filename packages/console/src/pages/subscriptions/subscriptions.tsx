/** The list of subscriptions. */
import { Button } from "@mantine/core";
import { Link, useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useMayAct } from "../../data/operator.tsx";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { Page } from "../../design/page/page.tsx";
import { type DateRange, filtersOfRange } from "../../design/table/date-filters.tsx";
import { EmptyList, Filters, type TypedFilter } from "../../design/table/filters.tsx";
import { KeysetTable } from "../../design/table/keyset-table.tsx";
import { SubscriptionService } from "../../gen/billing/admin/v1/subscriptions_pb.ts";
import { SubscriptionStatus } from "../../gen/billing/v1/subscriptions_pb.ts";
import { choiceOf, choicesOf } from "../../words/choices.ts";
import { subscriptionStates } from "../../words/states.ts";
import { PlanName } from "../catalogue/plan-name.tsx";
import { subscriptionColumns } from "./columns.tsx";
import { PlanFilter } from "./plan-filter.tsx";

const typed: readonly TypedFilter[] = [
  { key: "customer", label: "customer id" },
  { key: "plan", label: "plan", shown: (id) => <PlanName id={id} /> },
  { key: "number", label: "document number" },
  { key: "label", label: "label" },
  { key: "customer_code", label: "customer" },
];

const dates: readonly DateRange[] = [{ key: "renewal", label: "Renews" }];

/** Lists subscriptions, newest first. */
export function SubscriptionsPage() {
  const { id: organisation, today } = useOrganisation();
  const mayAct = useMayAct();
  const search = useSearch({ from: "/signed-in/o/$organisation/subscriptions" });
  const list = useList(SubscriptionService.method.listSubscriptions, {
    organisation,
    limit: pageSize,
    startingAfter: search.after,
    customer: search.customer,
    customerCode: search.customer_code,
    label: search.label,
    plan: search.plan,
    renewalFrom: search.renewal_from,
    renewalTo: search.renewal_to,
    number: search.number,
    status: choiceOf(SubscriptionStatus, search.status),
  });
  return (
    <Page
      title="Subscriptions"
      acts={
        mayAct && (
          <Button component={Link} to={`/o/${organisation}/subscriptions/new`}>
            New subscription
          </Button>
        )
      }
    >
      <Filters
        tabs={{ key: "status", choices: choicesOf(SubscriptionStatus, subscriptionStates) }}
        typed={typed}
        dates={dates}
      >
        <PlanFilter />
      </Filters>
      <KeysetTable
        name="Subscriptions"
        list={list}
        columns={subscriptionColumns(today)}
        idOf={({ id }) => id}
        to={({ id }) => ({
          to: "/o/$organisation/subscriptions/$id",
          params: { organisation, id },
        })}
        empty={
          <EmptyList
            filters={[
              "status",
              ...[...typed, ...dates.flatMap(filtersOfRange)].map(({ key }) => key),
            ]}
          >
            <EmptyState title="No subscriptions yet" docs="guide">
              A subscription sells a plan to a customer, and is billed at each renewal.
            </EmptyState>
          </EmptyList>
        }
      />
    </Page>
  );
}
