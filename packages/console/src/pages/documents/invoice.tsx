/** One invoice. */
import { useQuery } from "@connectrpc/connect-query";
import { useParams } from "@tanstack/react-router";
import { ErrorState } from "../../design/page/error-state.tsx";
import { Skeleton } from "../../design/page/page.tsx";
import { Day } from "../../design/values/instant.tsx";
import { Money } from "../../design/values/money.tsx";
import { DocumentKind } from "../../gen/billing/admin/v1/documents_pb.ts";
import { InvoiceService } from "../../gen/billing/admin/v1/invoices_pb.ts";
import type { Invoice } from "../../gen/billing/v1/invoices_pb.ts";
import { invoiceTypes } from "../../words/states.ts";
import { DocumentPage } from "./document-page.tsx";

/** The page of an invoice. */
export function InvoicePage() {
  const { organisation, id } = useParams({ from: "/signed-in/o/$organisation/invoices/$id" });
  const read = useQuery(InvoiceService.method.getInvoice, { organisation, id });
  const invoice = read.data?.invoice;
  if (read.error) return <ErrorState error={read.error} onAgain={() => void read.refetch()} />;
  if (invoice === undefined) return <Skeleton lines={8} />;
  return (
    <DocumentPage
      kind={DocumentKind.INVOICE}
      document={invoice}
      ledgerUrl={read.data?.ledgerUrl}
      lead={invoiceTypes[invoice.type] ?? "Invoice"}
      facts={[
        ["Issued", <Day key="issued" date={invoice.issueDate} />],
        ["Due", invoice.dueDate === undefined ? "–" : <Day key="due" date={invoice.dueDate} />],
        [
          "Still to pay",
          <Money key="open" amount={invoice.amountDue} currency={invoice.currency} />,
        ],
        ["Sent", invoice.sent ? "yes" : "no"],
      ]}
      sums={sumsOf(invoice)}
    />
  );
}

function sumsOf({ subtotal, total }: Invoice): [string, string][] {
  return total === subtotal
    ? [["Total", total]]
    : [
        ["Subtotal", subtotal],
        ["Total with tax", total],
      ];
}
