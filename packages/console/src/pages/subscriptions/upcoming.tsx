/** The next invoice of a subscription, as it would be issued if nothing changes. */
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { isNotFound } from "../../data/failure.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { Skeleton } from "../../design/page/page.tsx";
import { Day } from "../../design/values/instant.tsx";
import { Money } from "../../design/values/money.tsx";
import { Derivation, readExplanation, Verified } from "../../explain/explanation.tsx";
import { SubscriptionService } from "../../gen/billing/admin/v1/subscriptions_pb.ts";
import type { UpcomingInvoice } from "../../gen/billing/v1/previews_pb.ts";
import { Lines, type ShownLine } from "../documents/lines.tsx";
import styles from "./subscription.module.css";

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
  const { currency, subtotal, renewalDate, issued } = invoice;
  const documents = documentsOf(invoice);
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
      {documents.map(({ lines, explanation }, place) => (
        <div key={String(place)} className={styles.document}>
          <Lines
            lines={lines}
            currency={currency}
            sums={[["Before tax", explanation?.of?.subtotal ?? subtotal]]}
            below={(index) => <Derivation explanation={explanation} line={index} />}
          />
          <Verified explanation={explanation} />
        </div>
      ))}
      {documents.length > 1 && (
        <p className={styles.document}>
          {documents.length} documents, <Money amount={subtotal} currency={currency} /> before tax
        </p>
      )}
    </>
  );
}

/** The lines by the document that they will be on. Each explanation is of one document. */
function documentsOf({ lines, credits, explanations }: UpcomingInvoice) {
  const all: ShownLine[] = [
    ...lines,
    ...credits.map(({ name, description, amount }) => ({
      name,
      description,
      amount: `-${amount}`,
    })),
  ];
  const read = explanations.flatMap((each) => readExplanation(each) ?? []);
  const counts = read.map(({ of }) => of?.lines.length ?? 0);
  if (counts.reduce((sum, count) => sum + count, 0) !== all.length)
    return [{ lines: all, explanation: undefined }];
  let from = 0;
  return read.map((explanation, place) => {
    const until = from + (counts[place] ?? 0);
    const part = { lines: all.slice(from, until), explanation };
    from = until;
    return part;
  });
}
