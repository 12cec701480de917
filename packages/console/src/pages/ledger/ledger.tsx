/** The ledger: its connection, what was read from it, the mapping, and documents nobody knows. */
import { useQuery } from "@connectrpc/connect-query";
import { type LinkProps, useSearch } from "@tanstack/react-router";
import { isNotFound } from "../../data/failure.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { type Fact, FactList } from "../../design/page/facts.tsx";
import { LinkTabs } from "../../design/page/link-tabs.tsx";
import { Card, Page, Section, Skeleton } from "../../design/page/page.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { grouped } from "../../design/values/money.tsx";
import { State } from "../../design/values/state.tsx";
import {
  type LedgerConnection,
  LedgerConnectionService,
  LedgerGrant,
} from "../../gen/billing/admin/v1/ledger_connections_pb.ts";
import { type LedgerSync, LedgerSyncService } from "../../gen/billing/admin/v1/ledger_sync_pb.ts";
import { ConnectActs, ConnectionActs, SyncActs } from "./act-rows.tsx";
import { LedgerDocuments } from "./ledger-documents.tsx";
import { Mapping } from "./mapping.tsx";
import { UnknownDocuments } from "./unknown-documents.tsx";

const parts = [
  [undefined, "Connection"],
  ["mapping", "Mapping"],
  ["documents", "Documents that wait"],
  ["unknown", "Unknown documents"],
] as const;

/** The page of the ledger. */
export function LedgerPage() {
  const { tab } = useSearch({ from: "/signed-in/o/$organisation/ledger" });
  const to = (value: string | undefined): LinkProps => ({
    to: ".",
    search: { tab: value } as LinkProps["search"],
  });
  const tabs = parts.map(([value, label]) => ({ label, to: to(value), isCurrent: value === tab }));
  return (
    <Page title="Ledger" lead="The accounting system that gets the invoices and is paid by them.">
      <LinkTabs name="Parts of the ledger" tabs={tabs} />
      {tab === "mapping" ? (
        <Mapping />
      ) : tab === "documents" ? (
        <LedgerDocuments />
      ) : tab === "unknown" ? (
        <UnknownDocuments />
      ) : (
        <Connection />
      )}
    </Page>
  );
}

function Connection() {
  const { id: organisation } = useOrganisation();
  const method = LedgerConnectionService.method;
  const read = useQuery(method.getLedgerConnection, { organisation });
  const sync = useQuery(LedgerSyncService.method.getLedgerSync, { organisation });
  if (isNotFound(read.error) || read.error?.message.includes("not connected"))
    return (
      <EmptyState title="No ledger is connected yet" docs="ledger" act={<ConnectActs />}>
        Without a ledger no invoice can be issued. Connect the demo ledger to try, or your own.
      </EmptyState>
    );
  if (read.error) return <ErrorState error={read.error} onAgain={() => void read.refetch()} />;
  const connection = read.data?.connection;
  if (connection === undefined) return <Skeleton lines={6} />;
  return (
    <>
      <Section title="Connection" beside={<ConnectionState connection={connection} />}>
        <Card>
          <FactList facts={connectionFacts(connection)} />
        </Card>
        <ConnectionActs connection={connection} />
      </Section>
      <Section title="What is read from it" beside={<SyncActs />}>
        <Card>
          {sync.data?.sync ? <FactList facts={syncFacts(sync.data.sync)} /> : <Skeleton />}
        </Card>
      </Section>
    </>
  );
}

function ConnectionState({ connection }: { readonly connection: LedgerConnection }) {
  if (connection.disconnectedAt !== undefined) return <State word="Disconnected" tone="bad" />;
  if (connection.pausedUntil !== undefined) return <State word="Paused" tone="warn" />;
  return <State word="Connected" tone="ok" />;
}

function connectionFacts(connection: LedgerConnection): Fact[] {
  const { kind, tenantId, grant, created, clientId, baseUrl } = connection;
  const { pausedUntil, pausedReason, disconnectedAt, disconnectedReason } = connection;
  const all: (Fact | false)[] = [
    ["Ledger", kind],
    ["Its organisation", <code key="tenant">{tenantId}</code>],
    ["By", grant === LedgerGrant.AUTHORISATION ? "consent of its owner" : "a custom connection"],
    ["Client", <code key="client">{clientId}</code>],
    ["Address", <code key="base">{baseUrl}</code>],
    ["Since", <Instant key="since" at={created} />],
    pausedUntil !== undefined && ["Paused until", <Instant key="paused" at={pausedUntil} />],
    pausedReason !== undefined && ["Paused, because", pausedReason],
    disconnectedAt !== undefined && ["Disconnected", <Instant key="off" at={disconnectedAt} />],
    disconnectedReason !== undefined && ["Disconnected, because", disconnectedReason],
  ];
  return all.filter((fact) => fact !== false);
}

function syncFacts(sync: LedgerSync): Fact[] {
  const { endedAt, waiting, problem, notBefore, notifications, notificationsProblem } = sync;
  const changed = [
    [sync.invoicesChanged, "invoices"],
    [sync.creditNotesChanged, "credit notes"],
    [sync.customersChanged, "customers"],
  ] as const;
  const all: (Fact | false)[] = [
    ["Last", endedAt === undefined ? "never" : <Instant key="ended" at={endedAt} />],
    ["Changed then", changed.map(([count, what]) => `${grouped(count)} ${what}`).join(", ")],
    ["Waiting", waiting ? "yes" : "no"],
    ["Notifications", grouped(notifications)],
    problem !== undefined && ["Problem", <State key="problem" word={problem} tone="bad" />],
    notBefore !== undefined && ["Not before", <Instant key="before" at={notBefore} />],
    notificationsProblem !== undefined && ["Problem of notifications", notificationsProblem],
  ];
  return all.filter((fact) => fact !== false);
}
