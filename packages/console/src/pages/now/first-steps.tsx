/** The way from an empty organisation to its first invoice, each step as the service has it. */
import { useQuery } from "@connectrpc/connect-query";
import { useOrganisation } from "../../data/organisation.tsx";
import { later } from "../../design/later.tsx";
import { InvoiceService } from "../../gen/billing/admin/v1/invoices_pb.ts";
import { DocumentStatus } from "../../gen/billing/v1/common_pb.ts";

// Most organisations have their first invoice, and do not load the forms of the way to it.
const Steps = later(async () => (await import("./steps.tsx")).Steps);

/** How often the steps are read again: the last of them happens by itself. */
const refetchInterval = 3_000;

/** Shows the steps until the first invoice is in the ledger. */
export function FirstSteps() {
  const { id: organisation } = useOrganisation();
  const { data } = useQuery(
    InvoiceService.method.listInvoices,
    { organisation, limit: 2 },
    {
      refetchInterval: ({ state: { data: last } }) =>
        last?.data.length === 1 ? refetchInterval : 30_000,
    },
  );
  if (data === undefined || data.data.length > 1) return null;
  const [invoice] = data.data;
  const isPosted = invoice !== undefined && invoice.status !== DocumentStatus.NOT_IN_EXTERNAL;
  return (
    <Steps invoice={invoice && { id: invoice.id, number: invoice.number }} isPosted={isPosted} />
  );
}
