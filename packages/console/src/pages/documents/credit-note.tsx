/** One credit note. */
import { useQuery } from "@connectrpc/connect-query";
import { Link, useParams } from "@tanstack/react-router";
import { ErrorState } from "../../design/page/error-state.tsx";
import { FactList } from "../../design/page/facts.tsx";
import { Card, Section, Skeleton } from "../../design/page/page.tsx";
import { Day } from "../../design/values/instant.tsx";
import { Money } from "../../design/values/money.tsx";
import { State } from "../../design/values/state.tsx";
import { CreditNoteService } from "../../gen/billing/admin/v1/credit_notes_pb.ts";
import { DocumentKind } from "../../gen/billing/admin/v1/documents_pb.ts";
import type { CreditNote } from "../../gen/billing/v1/credit_notes_pb.ts";
import { allocationStates, wordsOf } from "../../words/states.ts";
import { DocumentPage } from "./document-page.tsx";

/** The page of a credit note. */
export function CreditNotePage() {
  const { organisation, id } = useParams({ from: "/signed-in/o/$organisation/credit-notes/$id" });
  const read = useQuery(CreditNoteService.method.getCreditNote, { organisation, id });
  const note = read.data?.creditNote;
  if (read.error) return <ErrorState error={read.error} onAgain={() => void read.refetch()} />;
  if (note === undefined) return <Skeleton lines={8} />;
  const { subtotal, total, currency, remainingCredit } = note;
  return (
    <DocumentPage
      kind={DocumentKind.CREDIT_NOTE}
      document={note}
      ledgerUrl={read.data?.ledgerUrl}
      lead="Credit note"
      facts={[
        ["Date", <Day key="date" date={note.creditNoteDate} />],
        ["Credit left", <Money key="left" amount={remainingCredit} currency={currency} />],
        ["Credit", <State key="state" {...wordsOf(allocationStates, note.allocationStatus)} />],
        ["Sent", note.sent ? "yes" : "no"],
      ]}
      sums={
        total === subtotal
          ? [["Total", total]]
          : [
              ["Subtotal", subtotal],
              ["Total with tax", total],
            ]
      }
    >
      <Allocations note={note} organisation={organisation} />
    </DocumentPage>
  );
}

function Allocations({ note, organisation }: { note: CreditNote; organisation: string }) {
  if (note.allocations.length === 0) return null;
  return (
    <Section title="Applied to">
      <Card>
        <FactList
          facts={note.allocations.map(({ invoice, amount, date }) => [
            <Day key={date} date={date} />,
            <>
              <Money amount={amount} currency={note.currency} /> of{" "}
              <Link to="/o/$organisation/invoices/$id" params={{ organisation, id: invoice }}>
                its invoice
              </Link>
            </>,
          ])}
        />
      </Card>
    </Section>
  );
}
