/** Documents of the ledger that have our numbers, but that nobody here issued. */
import { useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { Named } from "../../design/table/named.tsx";
import { Day } from "../../design/values/instant.tsx";
import { Money } from "../../design/values/money.tsx";
import { State } from "../../design/values/state.tsx";
import {
  LedgerReconciliationService,
  type UnknownDocument,
  UnknownDocumentState,
} from "../../gen/billing/admin/v1/ledger_reconciliation_pb.ts";
import { CustomerName } from "../customers/customer-name.tsx";
import { ResolveUnknown } from "./resolve-unknown.tsx";

const columns: readonly Column<UnknownDocument>[] = [
  {
    title: "Number there",
    cell: ({ number, numberTaken }) => (
      <Named name={number} sub={numberTaken ? "a document here has it too" : undefined} />
    ),
  },
  {
    title: "Customer",
    cell: ({ customer }) =>
      customer === undefined ? "no customer" : <CustomerName id={customer} />,
  },
  {
    title: "State",
    cell: ({ state }) =>
      state === UnknownDocumentState.OPEN ? (
        <State word="Open" tone="warn" />
      ) : (
        <State word="Done" tone="ok" />
      ),
  },
  { title: "Date", cell: ({ issueDate }) => <Day date={issueDate} />, from: "tablet" },
  {
    title: "Total",
    cell: ({ total, currency }) => <Money amount={total} currency={currency} />,
    isNumber: true,
  },
  {
    title: "Act",
    cell: ({ id, number, state }) =>
      state === UnknownDocumentState.OPEN && <ResolveUnknown id={id} number={number} />,
  },
];

/** Lists what the last reconciliation found. */
export function UnknownDocuments() {
  const { id: organisation } = useOrganisation();
  const { after } = useSearch({ from: "/signed-in/o/$organisation/ledger" });
  const list = useList(LedgerReconciliationService.method.listUnknownDocuments, {
    organisation,
    limit: pageSize,
    startingAfter: after,
  });
  return (
    <KeysetTable
      name="Unknown documents"
      list={list}
      columns={columns}
      idOf={({ id }) => id}
      empty={
        <EmptyState title="No unknown documents" docs="operations/mend">
          A reconciliation compares the ledger with what was issued here.
        </EmptyState>
      }
    />
  );
}
