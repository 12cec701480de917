/** The list of plans. */
import { useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { Page } from "../../design/page/page.tsx";
import { EmptyList, Filters } from "../../design/table/filters.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { Named } from "../../design/table/named.tsx";
import { grouped, Money } from "../../design/values/money.tsx";
import { State } from "../../design/values/state.tsx";
import { type Plan, PlanService } from "../../gen/billing/admin/v1/catalogue_pb.ts";
import { CatalogueStatus } from "../../gen/billing/v1/common_pb.ts";
import { choiceOf, choicesOf, everyText } from "../../words/choices.ts";
import { catalogueStates, planTypes, wordsOf } from "../../words/states.ts";

import { CreatePlan } from "./plan-acts.tsx";

const columns: readonly Column<Plan>[] = [
  { title: "Name", cell: ({ name, code }) => <Named name={name} sub={code} /> },
  { title: "Prices", cell: ({ type }) => planTypes[type], from: "tablet" },
  { title: "State", cell: ({ status }) => <State {...wordsOf(catalogueStates, status)} /> },
  {
    title: "Subscriptions",
    cell: ({ subscriptions }) => grouped(subscriptions),
    isNumber: true,
    from: "desktop",
  },
  {
    title: "Price",
    cell: (plan) => <Named name={<Price plan={plan} />} sub={everyText(plan.interval)} />,
    isNumber: true,
  },
];

function Price({ plan: { tiers, price, currency } }: { readonly plan: Plan }) {
  if (tiers.length === 0) return <Money amount={price} currency={currency} />;
  return tiers.length === 1 ? "1 tier" : `${tiers.length} tiers`;
}

/** Lists plans, newest first. Without a state these are the active ones and drafts. */
export function PlansPage() {
  const { id: organisation } = useOrganisation();
  const search = useSearch({ from: "/signed-in/o/$organisation/plans" });
  const list = useList(PlanService.method.listPlans, {
    organisation,
    limit: pageSize,
    startingAfter: search.after,
    code: search.code,
    status: choiceOf(CatalogueStatus, search.status),
  });
  return (
    <Page title="Plans" acts={<CreatePlan />}>
      <Filters
        tabs={{
          key: "status",
          choices: choicesOf(CatalogueStatus, catalogueStates),
          all: "Active and drafts",
        }}
        typed={[{ key: "code", label: "code" }]}
      />
      <KeysetTable
        name="Plans"
        list={list}
        columns={columns}
        idOf={({ id }) => id}
        to={({ id }) => ({ to: "/o/$organisation/plans/$id", params: { organisation, id } })}
        empty={
          <EmptyList filters={["status", "code"]}>
            <EmptyState title="No plans yet" docs="guide">
              A plan says what a period costs: a flat fee, a price for each unit, or tiers.
            </EmptyState>
          </EmptyList>
        }
      />
    </Page>
  );
}
