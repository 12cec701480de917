/** One customer, with its subscriptions and documents. */
import { useQuery } from "@connectrpc/connect-query";
import { type LinkProps, useParams, useSearch } from "@tanstack/react-router";
import { useList } from "../../data/list.ts";
import { useOrganisation } from "../../data/organisation.tsx";
import { later } from "../../design/later.tsx";
import { EmptyState } from "../../design/page/empty-state.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { FactRow } from "../../design/page/facts.tsx";
import { LinkTabs } from "../../design/page/link-tabs.tsx";
import { Page, Skeleton } from "../../design/page/page.tsx";
import { type Column, KeysetTable } from "../../design/table/keyset-table.tsx";
import { Copyable } from "../../design/values/copyable.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { State } from "../../design/values/state.tsx";
import { CustomerService } from "../../gen/billing/admin/v1/customers_pb.ts";
import { SubscriptionService } from "../../gen/billing/admin/v1/subscriptions_pb.ts";
import type { Subscription } from "../../gen/billing/v1/subscriptions_pb.ts";
import { customerStates, wordsOf } from "../../words/states.ts";
import { subscriptionColumns } from "../subscriptions/columns.tsx";
import { SubscriptionDocuments } from "../subscriptions/subscription-documents.tsx";
import { CustomerActs } from "./customer-acts.tsx";

// The page shows without it.
const NextInvoices = later(
  async () => (await import("./next-invoices.tsx")).NextInvoices,
  <Skeleton />,
);

const route = { from: "/signed-in/o/$organisation/customers/$id" } as const;

/** The page of a customer. */
export function CustomerPage() {
  const { organisation, id } = useParams(route);
  const { tab } = useSearch(route);
  const read = useQuery(CustomerService.method.getCustomer, { organisation, id });
  const customer = read.data?.customer;
  if (read.error) return <ErrorState error={read.error} onAgain={() => void read.refetch()} />;
  if (customer === undefined) return <Skeleton lines={8} />;
  const { name, code, email, status, companyName, ledgerContactId, created } = customer;
  const to = (value: string | undefined): LinkProps => ({
    to: ".",
    search: { tab: value } as LinkProps["search"],
  });
  return (
    <Page
      title={name}
      beside={<State {...wordsOf(customerStates, status)} />}
      acts={<CustomerActs customer={customer} />}
    >
      <FactRow
        facts={[
          ["Code", code],
          ["E-mail", email === "" ? "–" : email],
          ["Company", companyName ?? "–"],
          ["Contact in the ledger", <Copyable key="l" text={ledgerContactId} what="contact id" />],
          ["Since", <Instant key="s" at={created} withTime={false} />],
        ]}
      />
      <NextInvoices customer={id} />
      <LinkTabs
        name="Parts of the customer"
        tabs={[
          { label: "Subscriptions", to: to(undefined), isCurrent: tab === undefined },
          { label: "Documents", to: to("documents"), isCurrent: tab === "documents" },
        ]}
      />
      {tab === "documents" ? (
        <SubscriptionDocuments of="customer" id={id} />
      ) : (
        <Subscriptions customer={id} />
      )}
    </Page>
  );
}

/** In place of the customer, who is the same. */
const label: Column<Subscription> = {
  title: "Subscription",
  cell: ({ label: text, id }) => text || id.slice(0, 8),
};

function Subscriptions({ customer }: { readonly customer: string }) {
  const { id: organisation, today } = useOrganisation();
  const request = { organisation, customer, limit: 100 };
  const list = useList(SubscriptionService.method.listSubscriptions, request);
  return (
    <KeysetTable
      name="Subscriptions"
      list={list}
      columns={[label, ...subscriptionColumns(today).slice(1)]}
      idOf={({ id }) => id}
      all={{ to: "/o/$organisation/subscriptions", params: { organisation }, search: { customer } }}
      to={({ id }) => ({ to: "/o/$organisation/subscriptions/$id", params: { organisation, id } })}
      empty={<EmptyState title="No subscriptions">This customer buys nothing yet.</EmptyState>}
    />
  );
}
