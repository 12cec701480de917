/** The list of customers. */
import { useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { Page } from "../../design/page/page.tsx";
import { EmptyList, Filters } from "../../design/table/filters.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { Named } from "../../design/table/named.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { State } from "../../design/values/state.tsx";
import { CustomerService } from "../../gen/billing/admin/v1/customers_pb.ts";
import { type Customer, CustomerStatus } from "../../gen/billing/v1/customers_pb.ts";
import { choiceOf, choicesOf } from "../../words/choices.ts";
import { customerStates, wordsOf } from "../../words/states.ts";

import { ImportCustomers } from "./import-customers.tsx";

const typed = [
  { key: "email", label: "e-mail", looksLike: /@/ },
  { key: "code", label: "exact code" },
  { key: "search", label: "name or code" },
];

const columns: readonly Column<Customer>[] = [
  { title: "Name", cell: ({ name, code }) => <Named name={name} sub={code} /> },
  { title: "E-mail", cell: ({ email }) => (email === "" ? "–" : email), from: "tablet" },
  { title: "State", cell: ({ status }) => <State {...wordsOf(customerStates, status)} /> },
  {
    title: "Since",
    cell: ({ created }) => <Instant at={created} withTime={false} />,
    from: "desktop",
  },
];

/** Lists customers, newest first. */
export function CustomersPage() {
  const { id: organisation } = useOrganisation();
  const search = useSearch({ from: "/signed-in/o/$organisation/customers" });
  const list = useList(CustomerService.method.listCustomers, {
    organisation,
    limit: pageSize,
    startingAfter: search.after,
    code: search.code,
    search: search.search,
    email: search.email,
    status: choiceOf(CustomerStatus, search.status),
  });
  return (
    <Page title="Customers" acts={<ImportCustomers />}>
      <Filters
        tabs={{ key: "status", choices: choicesOf(CustomerStatus, customerStates) }}
        typed={typed}
      />
      <KeysetTable
        name="Customers"
        list={list}
        columns={columns}
        idOf={({ id }) => id}
        to={({ id }) => ({ to: "/o/$organisation/customers/$id", params: { organisation, id } })}
        empty={
          <EmptyList filters={["status", ...typed.map(({ key }) => key)]}>
            <EmptyState title="No customers yet" docs="ledger">
              A customer is a contact of the ledger. They are imported from it, or created by the
              platform.
            </EmptyState>
          </EmptyList>
        }
      />
    </Page>
  );
}
