/** The invoices and credit notes of a subscription. */
import { useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { Section } from "../../design/page/page.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { CreditNoteService } from "../../gen/billing/admin/v1/credit_notes_pb.ts";
import { InvoiceService } from "../../gen/billing/admin/v1/invoices_pb.ts";
import { creditNoteColumns, invoiceColumns } from "../documents/columns.tsx";

/** All of them are the same customer's. */
function ofOneCustomer<Row>(columns: readonly Column<Row>[]): readonly Column<Row>[] {
  return columns.filter(({ title }) => title !== "Customer");
}

/** Lists the documents that a subscription has, or a customer. */
export function SubscriptionDocuments({
  id,
  of = "subscription",
}: {
  readonly id: string;
  readonly of?: "subscription" | "customer";
}) {
  const { id: organisation } = useOrganisation();
  const request = { organisation, limit: 100, [of]: id };
  const invoices = useList(InvoiceService.method.listInvoices, request);
  const credits = useList(CreditNoteService.method.listCreditNotes, request);
  return (
    <>
      <Section title="Invoices">
        <KeysetTable
          name="Invoices"
          list={invoices}
          columns={ofOneCustomer(invoiceColumns)}
          idOf={({ id: each }) => each}
          to={(row) => ({
            to: "/o/$organisation/invoices/$id",
            params: { organisation, id: row.id },
          })}
          all={{
            to: "/o/$organisation/invoices",
            params: { organisation },
            search: { [of]: id },
          }}
          empty={<EmptyState title="No invoices yet" />}
        />
      </Section>
      <Section title="Credit notes">
        <KeysetTable
          name="Credit notes"
          list={credits}
          columns={ofOneCustomer(creditNoteColumns)}
          idOf={({ id: each }) => each}
          to={(row) => ({
            to: "/o/$organisation/credit-notes/$id",
            params: { organisation, id: row.id },
          })}
          all={{
            to: "/o/$organisation/credit-notes",
            params: { organisation },
            search: { [of]: id },
          }}
          empty={<EmptyState title="No credit notes" />}
        />
      </Section>
    </>
  );
}
