/** The list of invoices. */
import { useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { Page } from "../../design/page/page.tsx";
import { EmptyList, Filters } from "../../design/table/filters.tsx";
import { KeysetTable } from "../../design/table/keyset-table.tsx";
import { InvoiceService } from "../../gen/billing/admin/v1/invoices_pb.ts";
import { DocumentStatus } from "../../gen/billing/v1/common_pb.ts";
import { choiceOf, choicesOf } from "../../words/choices.ts";
import { documentStatuses } from "../../words/states.ts";
import { invoiceColumns } from "./columns.tsx";
import { documentFilters, documentKeys, invoiceDays } from "./document-filters.ts";

/** Lists invoices, newest first. */
export function InvoicesPage() {
  const { id: organisation } = useOrganisation();
  const search = useSearch({ from: "/signed-in/o/$organisation/invoices" });
  const status = choiceOf(DocumentStatus, search.status);
  const list = useList(InvoiceService.method.listInvoices, {
    organisation,
    limit: pageSize,
    startingAfter: search.after,
    number: search.number,
    subscription: search.subscription,
    customer: search.customer,
    customerCode: search.customer_code,
    status: status === undefined ? [] : [status],
    issuedFrom: search.issued_from,
    issuedTo: search.issued_to,
    dueFrom: search.due_from,
    dueTo: search.due_to,
  });
  return (
    <Page title="Invoices">
      <Filters
        tabs={{ key: "status", choices: choicesOf(DocumentStatus, documentStatuses) }}
        typed={documentFilters}
        dates={invoiceDays}
      />
      <KeysetTable
        name="Invoices"
        list={list}
        columns={invoiceColumns}
        idOf={({ id }) => id}
        to={({ id }) => ({ to: "/o/$organisation/invoices/$id", params: { organisation, id } })}
        empty={
          <EmptyList filters={documentKeys}>
            <EmptyState title="No invoices yet" docs="guide">
              A subscription's first invoice is issued when it is created, the next at its renewal.
            </EmptyState>
          </EmptyList>
        }
      />
    </Page>
  );
}
