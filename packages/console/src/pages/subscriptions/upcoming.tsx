/** The next invoice of a subscription, as it would be issued if nothing changes. */
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { isNotFound } from "../../data/failure.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { Skeleton } from "../../design/page/page.tsx";
import { Day } from "../../design/values/instant.tsx";
import { SubscriptionService } from "../../gen/billing/admin/v1/subscriptions_pb.ts";
import type { UpcomingInvoice } from "../../gen/billing/v1/previews_pb.ts";
import { Lines } from "../documents/lines.tsx";

/** Reads and shows the next invoice. */
export function Upcoming({ id }: { readonly id: string }) {
  const { id: organisation } = useOrganisation();
  const read = useQuery(SubscriptionService.method.getUpcomingInvoice, { organisation, id });
  const invoice = read.data?.upcomingInvoice;
  return (
    <>
      <h2>Next invoice</h2>
      {invoice ? (
        <Shown invoice={invoice} />
      ) : isNotFound(read.error) || read.data ? (
        <EmptyState title="There will be none">It ends before it renews again.</EmptyState>
      ) : read.error ? (
        <ErrorState error={read.error} onAgain={() => void read.refetch()} />
      ) : (
        <Skeleton lines={5} />
      )}
    </>
  );
}

function Shown({ invoice }: { readonly invoice: UpcomingInvoice }) {
  const { id: organisation } = useOrganisation();
  const { lines, credits, currency, subtotal, renewalDate, issued } = invoice;
  const credited = credits.map(({ name, description, amount }) => ({
    name,
    description,
    amount: `-${amount}`,
  }));
  return (
    <>
      <p className="muted" style={{ marginBottom: "0.75rem" }}>
        {issued && invoice.invoice !== undefined ? (
          <Link to="/o/$organisation/invoices/$id" params={{ organisation, id: invoice.invoice }}>
            Issued already
          </Link>
        ) : (
          "If nothing changes until"
        )}{" "}
        <Day date={renewalDate} />
      </p>
      <Lines
        lines={[...lines, ...credited]}
        currency={currency}
        sums={[["Subtotal, before tax", subtotal]]}
      />
    </>
  );
}
