/** The list of one-off charges. */
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
import { type Charge, ChargeService } from "../../gen/billing/admin/v1/catalogue_pb.ts";
import { CatalogueStatus } from "../../gen/billing/v1/common_pb.ts";
import { choiceOf, choicesOf } from "../../words/choices.ts";
import { catalogueStates, wordsOf } from "../../words/states.ts";

import { ChargeActs, CreateCharge } from "./catalogue-acts.tsx";

const columns: readonly Column<Charge>[] = [
  { title: "Name", cell: ({ name, code }) => <Named name={name} sub={code} /> },
  { title: "State", cell: ({ status }) => <State {...wordsOf(catalogueStates, status)} /> },
  {
    title: "Description",
    cell: ({ description }) => <Named name={description || "–"} />,
    from: "desktop",
  },
  {
    title: "On invoices",
    cell: ({ invoiceLines }) => grouped(invoiceLines),
    isNumber: true,
    from: "tablet",
  },
  {
    title: "Price",
    cell: ({ price, currency }) => <Money amount={price} currency={currency} />,
    isNumber: true,
  },
  { title: "Acts", cell: (charge) => <ChargeActs charge={charge} /> },
];

/** Lists charges, newest first. */
export function ChargesPage() {
  const { id: organisation } = useOrganisation();
  const search = useSearch({ from: "/signed-in/o/$organisation/charges" });
  const list = useList(ChargeService.method.listCharges, {
    organisation,
    limit: pageSize,
    startingAfter: search.after,
    code: search.code,
    status: choiceOf(CatalogueStatus, search.status),
  });
  return (
    <Page
      title="Charges"
      acts={<CreateCharge />}
      lead="One-off fees that a new subscription can have."
    >
      <Filters
        tabs={{
          key: "status",
          choices: choicesOf(CatalogueStatus, catalogueStates),
          all: "Active and drafts",
        }}
        typed={[{ key: "code", label: "code" }]}
      />
      <KeysetTable
        name="Charges"
        list={list}
        columns={columns}
        idOf={({ id }) => id}
        empty={
          <EmptyList filters={["status", "code"]}>
            <EmptyState title="No charges yet" docs="guide">
              A charge is billed once, such as the set-up of a new customer.
            </EmptyState>
          </EmptyList>
        }
      />
    </Page>
  );
}
