/** The documents that the ledger does not have, or has otherwise than here. */
import { useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { EmptyList, Filters } from "../../design/table/filters.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { Named } from "../../design/table/named.tsx";
import { Money } from "../../design/values/money.tsx";
import { State } from "../../design/values/state.tsx";
import {
  type Document,
  DocumentKind,
  DocumentService,
  DocumentState,
} from "../../gen/billing/admin/v1/documents_pb.ts";
import { choiceOf, choicesOf } from "../../words/choices.ts";
import { documentStates, wordsOf } from "../../words/states.ts";
import { CustomerName } from "../customers/customer-name.tsx";

const columns: readonly Column<Document>[] = [
  { title: "Number", cell: ({ number }) => number },
  { title: "Customer", cell: ({ customer }) => <CustomerName id={customer} />, from: "under" },
  {
    title: "State",
    cell: ({ state, message, reason }) => (
      <Named name={<State {...wordsOf(documentStates, state)} />} sub={message ?? reason} />
    ),
  },
  { title: "Attempts", cell: ({ attempts }) => String(attempts), isNumber: true, from: "desktop" },
  {
    title: "Total",
    cell: ({ total, currency }) => <Money amount={total} currency={currency} />,
    isNumber: true,
  },
];

const stateTabs = {
  key: "state",
  all: "Refused or on its way",
  choices: choicesOf(DocumentState, documentStates).filter(([state]) => state !== "synced"),
};

/** Lists what waits for the ledger, or for a person. */
export function LedgerDocuments() {
  const { id: organisation } = useOrganisation();
  const { after, state } = useSearch({ from: "/signed-in/o/$organisation/ledger" });
  const list = useList(DocumentService.method.listDocuments, {
    organisation,
    limit: pageSize,
    startingAfter: after,
    state: choiceOf(DocumentState, state),
  });
  return (
    <>
      <Filters tabs={stateTabs} typed={[]} />
      <KeysetTable
        name="Documents that wait"
        list={list}
        columns={columns}
        idOf={({ id }) => id}
        to={({ id, kind }) => ({
          to:
            kind === DocumentKind.INVOICE
              ? "/o/$organisation/invoices/$id"
              : "/o/$organisation/credit-notes/$id",
          params: { organisation, id },
        })}
        empty={
          <EmptyList filters={["state"]}>
            <EmptyState title="No document waits for the ledger">
              What it refuses, or has otherwise than here, is listed here.
            </EmptyState>
          </EmptyList>
        }
      />
    </>
  );
}
