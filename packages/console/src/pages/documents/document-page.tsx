/** A document: its lines with how each amount came about, and where it is in the ledger. */
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useOrganisation } from "../../data/organisation.tsx";
import { Icon } from "../../design/icons.tsx";
import { Columns } from "../../design/page/columns.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { type Fact, FactList, FactRow } from "../../design/page/facts.tsx";
import { Card, Page, Section, Skeleton } from "../../design/page/page.tsx";
import { Copyable } from "../../design/values/copyable.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { Money } from "../../design/values/money.tsx";
import { Derivation, useExplanation, Verified } from "../../explain/explanation.tsx";
import {
  type Document,
  type DocumentKind,
  DocumentService,
} from "../../gen/billing/admin/v1/documents_pb.ts";
import type { CreditNote } from "../../gen/billing/v1/credit_notes_pb.ts";
import type { Invoice } from "../../gen/billing/v1/invoices_pb.ts";
import { CustomerName } from "../customers/customer-name.tsx";
import { Attempts } from "./attempts.tsx";
import { DocumentMark } from "./columns.tsx";
import { DocumentTrouble } from "./document-trouble.tsx";
import { Lines, type ShownLine } from "./lines.tsx";

/** What invoices and credit notes share. */
interface DocumentPageProps {
  readonly kind: DocumentKind;
  readonly document: Invoice | CreditNote;
  readonly ledgerUrl: string | undefined;
  readonly lead: string;
  readonly facts: readonly Fact[];
  readonly sums: readonly (readonly [string, string])[];
  readonly children?: ReactNode;
}

/** The page of a document. */
export function DocumentPage(props: DocumentPageProps) {
  const { document, lead, facts, sums, children, ledgerUrl } = props;
  const { id: organisation } = useOrganisation();
  const explanation = useExplanation(document.id);
  const read = useQuery(DocumentService.method.getDocument, { organisation, id: document.id });
  const ledgerNumber = read.data?.document?.ledgerNumber;
  return (
    <Page
      title={document.number}
      above={
        <>
          <CustomerName id={document.customer} /> ›{" "}
          <Link
            to="/o/$organisation/subscriptions/$id"
            params={{ organisation, id: document.subscription }}
          >
            subscription
          </Link>
        </>
      }
      beside={
        <>
          {ledgerNumber && <span className="muted">in the ledger {ledgerNumber}</span>}
          <DocumentMark of={document} />
        </>
      }
      lead={lead}
      acts={ledgerUrl && <LedgerLink url={ledgerUrl} />}
    >
      {read.data?.document && <DocumentTrouble document={read.data.document} />}
      <FactRow facts={facts} />
      <Columns
        name="In the ledger"
        beside={
          <Section title="In the ledger">
            {read.error ? (
              <ErrorState error={read.error} onAgain={() => void read.refetch()} />
            ) : (
              <Card>
                {read.data?.document ? <LedgerFacts document={read.data.document} /> : <Skeleton />}
              </Card>
            )}
          </Section>
        }
      >
        <Section title="Lines" beside={<Verified explanation={explanation} />}>
          <Lines
            lines={document.lines as readonly ShownLine[]}
            currency={document.currency}
            sums={sums}
            below={(index) => (
              <Derivation explanation={explanation} line={document.lines[index]?.id} />
            )}
          />
        </Section>
        <Attempts attempts={read.data?.attempts ?? []} />
        {children}
      </Columns>
    </Page>
  );
}

function LedgerLink({ url }: { readonly url: string }) {
  return (
    <a href={url} target="_blank" rel="noreferrer">
      Open in the ledger <Icon name="external" size={12} />
    </a>
  );
}

function LedgerFacts({ document }: { readonly document: Document }) {
  const { attempts, created, nextAttemptAt, id } = document;
  const { ledgerNumber, ledgerSubtotal, ledgerDifferences } = document;
  const facts: (Fact | false)[] = [
    ["Issued", <Instant key="created" at={created} />],
    attempts > 0 && ["Attempts since a retry", String(attempts)],
    nextAttemptAt !== undefined && ["Next attempt", <Instant key="next" at={nextAttemptAt} />],
    ledgerNumber !== undefined && [
      "Number there",
      <Copyable key="number" text={ledgerNumber} what="number in the ledger" />,
    ],
    ledgerSubtotal !== undefined && [
      "Subtotal there",
      <Money key="subtotal" amount={ledgerSubtotal} currency={document.currency} />,
    ],
    ledgerDifferences.length > 0 && ["Differs in", ledgerDifferences.join(", ")],
    ["Id", <Copyable key="id" text={id} what="document id" />],
  ];
  return <FactList facts={facts.filter((fact) => fact !== false)} />;
}
