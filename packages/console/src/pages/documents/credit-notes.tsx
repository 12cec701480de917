/** The list of credit notes. */
import { useSearch } from "@tanstack/react-router";
import { pageSize, useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { Page } from "../../design/page/page.tsx";
import { EmptyList, Filters } from "../../design/table/filters.tsx";
import { KeysetTable } from "../../design/table/keyset-table.tsx";
import { CreditNoteService } from "../../gen/billing/admin/v1/credit_notes_pb.ts";
import { DocumentStatus } from "../../gen/billing/v1/common_pb.ts";
import { choiceOf, choicesOf } from "../../words/choices.ts";
import { documentStatuses } from "../../words/states.ts";
import { creditNoteColumns } from "./columns.tsx";
import { creditNoteDays, documentFilters, documentKeys } from "./document-filters.ts";

/** Lists credit notes, newest first. */
export function CreditNotesPage() {
  const { id: organisation } = useOrganisation();
  const search = useSearch({ from: "/signed-in/o/$organisation/credit-notes" });
  const status = choiceOf(DocumentStatus, search.status);
  const list = useList(CreditNoteService.method.listCreditNotes, {
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
  });
  return (
    <Page title="Credit notes">
      <Filters
        tabs={{ key: "status", choices: choicesOf(DocumentStatus, documentStatuses) }}
        typed={documentFilters}
        dates={creditNoteDays}
      />
      <KeysetTable
        name="Credit notes"
        list={list}
        columns={creditNoteColumns}
        idOf={({ id }) => id}
        to={({ id }) => ({ to: "/o/$organisation/credit-notes/$id", params: { organisation, id } })}
        empty={
          <EmptyList filters={documentKeys}>
            <EmptyState title="No credit notes yet" docs="guide">
              One is issued when a subscription ends before its period does, or a change makes what
              was billed cheaper.
            </EmptyState>
          </EmptyList>
        }
      />
    </Page>
  );
}
