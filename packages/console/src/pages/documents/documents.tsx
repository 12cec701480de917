/** The lists of invoices and of credit notes. */
import { type LinkProps, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type ListAnswer, pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { Page } from "../../design/page/page.tsx";
import { type DateRange, filtersOfRange } from "../../design/table/date-filters.tsx";
import { EmptyList, Filters, type TypedFilter } from "../../design/table/filters.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { CreditNoteService } from "../../gen/billing/admin/v1/credit_notes_pb.ts";
import { InvoiceService } from "../../gen/billing/admin/v1/invoices_pb.ts";
import { DocumentStatus } from "../../gen/billing/v1/common_pb.ts";
import { choiceOf, choicesOf } from "../../words/choices.ts";
import { documentStatuses } from "../../words/states.ts";
import { creditNoteColumns, invoiceColumns } from "./columns.tsx";

const id = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i;

/** A number has a digit, a customer's code may not. */
const typed: readonly TypedFilter[] = [
  { key: "subscription", label: "subscription id", looksLike: id },
  { key: "customer", label: "customer id" },
  { key: "number", label: "number", looksLike: /-?\d+$/ },
  { key: "customer_code", label: "customer" },
];

/** Lists invoices, newest first. */
export function InvoicesPage() {
  const search = useSearch({ from: "/signed-in/o/$organisation/invoices" });
  const list = useList(InvoiceService.method.listInvoices, {
    ...useRequest(search),
    dueFrom: search.due_from,
    dueTo: search.due_to,
    renewalFrom: search.renewal_from,
    renewalTo: search.renewal_to,
  });
  return (
    <Documents
      title="Invoices"
      list={list}
      columns={invoiceColumns}
      dates={[
        { key: "issued", label: "Issued" },
        { key: "due", label: "Due" },
        { key: "renewal", label: "Renews" },
      ]}
      to="/o/$organisation/invoices/$id"
      empty={
        <EmptyState title="No invoices yet" docs="guide">
          A subscription's first invoice is issued when it is created, the next at its renewal.
        </EmptyState>
      }
    />
  );
}

/** Lists credit notes, newest first. */
export function CreditNotesPage() {
  const search = useSearch({ from: "/signed-in/o/$organisation/credit-notes" });
  const list = useList(CreditNoteService.method.listCreditNotes, useRequest(search));
  return (
    <Documents
      title="Credit notes"
      lead="What was billed too much. It pays later invoices. Money is paid back in the ledger."
      list={list}
      columns={creditNoteColumns}
      dates={[{ key: "issued", label: "Issued" }]}
      to="/o/$organisation/credit-notes/$id"
      empty={
        <EmptyState title="No credit notes yet" docs="guide">
          One is issued when a change of units or late usage makes what was billed cheaper. An end
          gives nothing of its period back.
        </EmptyState>
      }
    />
  );
}

/** The members of the requests that both lists have. */
function useRequest(search: Readonly<Record<string, string | undefined>>) {
  const { id: organisation } = useOrganisation();
  const status = choiceOf(DocumentStatus, search.status);
  return {
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
  };
}

interface DocumentsProps<Row> {
  readonly title: string;
  readonly lead?: string;
  readonly list: ListAnswer<Row>;
  readonly columns: readonly Column<Row>[];
  readonly dates: readonly DateRange[];
  readonly to: LinkProps["to"];
  readonly empty: ReactNode;
}

function Documents<Row extends { readonly id: string }>(props: DocumentsProps<Row>) {
  const { title, lead, list, columns, dates, to, empty } = props;
  const { id: organisation } = useOrganisation();
  const filters = [...typed, ...dates.flatMap(filtersOfRange)].map(({ key }) => key);
  return (
    <Page title={title} lead={lead}>
      <Filters
        tabs={{ key: "status", choices: choicesOf(DocumentStatus, documentStatuses) }}
        typed={typed}
        dates={dates}
      />
      <KeysetTable
        name={title}
        list={list}
        columns={columns}
        idOf={(row) => row.id}
        to={(row) => ({ to, params: { organisation, id: row.id } }) as LinkProps}
        empty={<EmptyList filters={["status", ...filters]}>{empty}</EmptyList>}
      />
    </Page>
  );
}
