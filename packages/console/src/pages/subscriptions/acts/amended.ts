/** What invoices that a preview amends come to now. */
import { createQueryOptions, useTransport } from "@connectrpc/connect-query";
import { useQueries } from "@tanstack/react-query";
import { useOrganisation } from "../../../data/organisation.tsx";
import { InvoiceService } from "../../../gen/billing/admin/v1/invoices_pb.ts";
import type { SubscriptionPreview } from "../../../gen/billing/v1/subscriptions_pb.ts";

/** The sum of each amended invoice as it is, by its id. */
export type Subtotals = ReadonlyMap<string, string>;

/** Reads the sums. */
export function useSubtotals(preview: SubscriptionPreview | undefined): Subtotals {
  const { id: organisation } = useOrganisation();
  const transport = useTransport();
  const schema = InvoiceService.method.getInvoice;
  const ids = (preview?.amendedInvoices ?? []).flatMap(({ invoice }) => invoice ?? []);
  const answers = useQueries({
    queries: ids.map((id) => createQueryOptions(schema, { organisation, id }, { transport })),
  });
  return new Map(
    answers.flatMap(({ data }) =>
      data?.invoice === undefined ? [] : [[data.invoice.id, data.invoice.subtotal] as const],
    ),
  );
}
