/** The cards of the overview: ledger, webhooks, and documents by state. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useOrganisation } from "../../data/organisation.tsx";
import { type Fact, FactList } from "../../design/page/facts.tsx";
import { Card, Section } from "../../design/page/page.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { grouped } from "../../design/values/money.tsx";
import { State } from "../../design/values/state.tsx";
import { DocumentState } from "../../gen/billing/admin/v1/documents_pb.ts";
import {
  type EndpointFigures,
  type GetOverviewResponse,
  type LedgerFigures,
  LedgerState,
} from "../../gen/billing/admin/v1/overview_pb.ts";
import { WebhookEndpointStatus } from "../../gen/billing/admin/v1/webhooks_pb.ts";
import { DocumentStatus } from "../../gen/billing/v1/common_pb.ts";
import { wordOf } from "../../words/choices.ts";
import { documentStates, documentStatuses, wordsOf } from "../../words/states.ts";
import { countText } from "./attention-row.tsx";
import styles from "./now.module.css";

const ledgerStates: Readonly<Record<number, ReactNode>> = {
  [LedgerState.NONE]: <State word="None is connected" tone="bad" />,
  [LedgerState.CONNECTED]: <State word="Connected" tone="ok" />,
  [LedgerState.PAUSED]: <State word="Paused" tone="warn" />,
  [LedgerState.DISCONNECTED]: <State word="Disconnected" tone="bad" />,
};

/** Shows the cards. */
export function OverviewCards({ of }: { readonly of: GetOverviewResponse }) {
  const { id: organisation } = useOrganisation();
  return (
    <div className={styles.cards}>
      <Section
        title="Ledger"
        beside={
          <Link to="/o/$organisation/ledger" params={{ organisation }}>
            Connection
          </Link>
        }
      >
        <Card>{of.ledger && <FactList facts={ledgerFacts(of.ledger)} />}</Card>
      </Section>
      <Section
        title="Webhooks"
        beside={
          <Link to="/o/$organisation/webhooks" params={{ organisation }}>
            Endpoints
          </Link>
        }
      >
        <Card>
          {of.endpoints.length === 0 ? (
            <p className="muted">No endpoints yet.</p>
          ) : (
            <FactList facts={of.endpoints.map((each) => endpointFact(each, organisation))} />
          )}
        </Card>
      </Section>
      <Section title="Documents">
        <Card>
          <FactList facts={documentFacts(of, organisation)} />
        </Card>
      </Section>
    </div>
  );
}

function ledgerFacts({ state, reason, lastSync, callsLeft, callsLimit }: LedgerFigures): Fact[] {
  const all: (Fact | false)[] = [
    ["State", ledgerStates[state]],
    reason !== undefined && ["Because", reason],
    ["Last read", lastSync === undefined ? "never" : <Instant key="sync" at={lastSync} />],
    callsLeft !== undefined &&
      callsLimit !== undefined && [
        "Calls left today",
        callsLeft < aboutAs(callsLimit)
          ? `${grouped(callsLeft)} of about ${grouped(aboutAs(callsLimit))}`
          : grouped(callsLeft),
      ],
  ];
  return all.filter((fact) => fact !== false);
}

/** The most that the ledger reported is its limit or a little less: 4,998 stands for 5,000. */
function aboutAs(reported: number): number {
  const step = 10 ** Math.max(0, String(reported).length - 2);
  return Math.ceil(reported / step) * step;
}

function endpointFact(endpoint: EndpointFigures, organisation: string): Fact {
  const { id, url, status, failed, waiting } = endpoint;
  const name = (
    <Link
      to="/o/$organisation/webhooks/$id"
      params={{ organisation, id }}
      title={url}
      className={styles.endpoint}
    >
      {url}
    </Link>
  );
  if (status === WebhookEndpointStatus.DISABLED)
    return [name, <State key={id} word="Disabled" tone="bad" />];
  if (failed > 0)
    return [name, <State key={id} word={`${countText(failed)} failed in 24 h`} tone="warn" />];
  const word = waiting > 0 ? `${countText(waiting)} waiting` : "All delivered";
  return [name, <State key={id} word={word} tone={waiting > 0 ? "info" : "ok"} />];
}

function documentFacts({ documents, invoices }: GetOverviewResponse, organisation: string): Fact[] {
  const inLedger = documents.map(
    ({ state, count }): Fact => [
      <State key={state} {...wordsOf(documentStates, state)} />,
      <Link
        key={state}
        to="/o/$organisation/ledger"
        params={{ organisation }}
        search={{ tab: "documents", state: wordOf(DocumentState, state) }}
      >
        {grouped(count)}
      </Link>,
    ],
  );
  const byStatus = invoices.map(({ status, count }): Fact => {
    return [
      <State key={status} {...wordsOf(documentStatuses, status)} />,
      <Link
        key={status}
        to="/o/$organisation/invoices"
        params={{ organisation }}
        search={{ status: wordOf(DocumentStatus, status) }}
      >
        {grouped(count)}
      </Link>,
    ];
  });
  const all = [...inLedger, ...byStatus];
  return all.length === 0 ? [["None waits", "–"]] : all;
}
