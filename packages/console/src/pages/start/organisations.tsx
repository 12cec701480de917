/** The choice of the organisation. */
import { useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { Page } from "../../design/page/page.tsx";
import { EmptyList, Filters } from "../../design/table/filters.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { Named } from "../../design/table/named.tsx";
import { State } from "../../design/values/state.tsx";
import {
  type Organisation,
  OrganisationService,
} from "../../gen/billing/admin/v1/organisations_pb.ts";
import { Frame } from "../../shell/frame.tsx";
import { CreateOrganisation } from "../settings/organisation-acts.tsx";

const columns: readonly Column<Organisation>[] = [
  {
    title: "Name",
    cell: ({ name, timezone }) => <Named name={name} sub={timezone.replaceAll("_", " ")} />,
  },
  {
    title: "Mode",
    cell: ({ livemode }) =>
      livemode ? <State word="Live" tone="ok" /> : <State word="Sandbox" tone="warn" />,
  },
  {
    title: "Ledger",
    cell: ({ ledgerConnected }) =>
      ledgerConnected ? (
        <State word="Connected" tone="ok" />
      ) : (
        <State word="Not connected" tone="bad" />
      ),
  },
  { title: "Currency", cell: ({ defaultCurrency }) => defaultCurrency, from: "tablet" },
  {
    title: "Setup Mode",
    cell: ({ setupMode }) => (setupMode ? <State word="On" tone="warn" /> : "Off"),
    from: "desktop",
  },
];

/** Lists the organisations. */
export function OrganisationsPage() {
  const { name, after } = useSearch({ from: "/signed-in/" });
  const list = useList(OrganisationService.method.listOrganisations, {
    name,
    startingAfter: after,
    limit: pageSize,
  });
  return (
    <Frame>
      <Page title="Organisations" acts={list.data?.data.length !== 0 && <CreateOrganisation />}>
        <Filters typed={[{ key: "name", label: "name" }]} />
        <KeysetTable
          name="Organisations"
          list={list}
          columns={columns}
          idOf={({ id }) => id}
          to={({ id }) => ({ to: "/o/$organisation/overview", params: { organisation: id } })}
          empty={
            <EmptyList filters={["name"]}>
              <EmptyState
                title="No organisations yet"
                docs="guide"
                act={<CreateOrganisation isFirst />}
              >
                An organisation is a business with its customers, plans and accounting ledger.
                Create one to try, then follow its steps: to the first invoice it takes a few
                minutes.
              </EmptyState>
            </EmptyList>
          }
        />
      </Page>
    </Frame>
  );
}
