/** The acts that help with what waits, as the service names them. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useOrganisation } from "../../data/organisation.tsx";
import { Act } from "../../forms/act.tsx";
import type { Attention } from "../../gen/billing/admin/v1/attention_pb.ts";
import { BillingService } from "../../gen/billing/admin/v1/billing_pb.ts";
import { RetryDocument } from "../documents/retry-document.tsx";
import { CheckConnection, SyncNow } from "../ledger/connection-acts.tsx";
import { ResolveUnknown } from "../ledger/resolve-unknown.tsx";
import { EnableEndpoint, ResendDelivery, SendTestEvent } from "../webhooks/endpoint-acts.tsx";
import { RetryAllOfReason } from "./all-of-reason.tsx";

/** The acts of a row. A reader has none. */
export function AttentionActs({
  of,
  onAll,
}: {
  readonly of: Attention;
  readonly onAll: () => void;
}) {
  const names = of.acts.map(({ method }) => method.split("/")[1] ?? "");
  return (
    <>
      {names.map((name) => {
        const Found = acts[name];
        return Found && <Found key={name} of={of} />;
      })}
      <RetryAllOfReason of={of} onOpen={onAll} />
    </>
  );
}

type ActOf = (props: { readonly of: Attention }) => ReactNode;

/** By the name of the method. */
const acts: Readonly<Record<string, ActOf>> = {
  RetryDocument: ({ of }) => <RetryDocument id={of.objectId} label={of.label} />,
  RetrySubscription: ({ of }) => <RetrySubscription id={of.objectId} label={of.label} />,
  RunBilling: () => <RunBilling />,
  ResolveUnknownDocument: ({ of }) => <ResolveUnknown id={of.objectId} number={of.label} />,
  EnableWebhookEndpoint: ({ of }) => <EnableEndpoint id={of.objectId} />,
  SendTestEvent: ({ of }) => <SendTestEvent id={of.objectId} />,
  ResendWebhookDelivery: ({ of }) => <ResendDelivery id={of.objectId} />,
  SyncLedger: () => <SyncNow />,
  CheckLedgerConnection: () => <CheckConnection />,
  SetAccountMapping: () => <LedgerLink tab="mapping">Choose another account</LedgerLink>,
  ConnectLedger: () => <LedgerLink>Connect the ledger</LedgerLink>,
};

function LedgerLink({ tab, children }: { readonly tab?: string; readonly children: ReactNode }) {
  const { id: organisation } = useOrganisation();
  return (
    <Link
      to="/o/$organisation/ledger"
      params={{ organisation }}
      search={tab === undefined ? {} : { tab }}
    >
      {children}
    </Link>
  );
}

/** Lets billing try a parked subscription now. */
export function RetrySubscription({ id, label }: { readonly id: string; readonly label: string }) {
  const { id: organisation } = useOrganisation();
  return (
    <Act
      label="Retry"
      title={`Retry ${label}`}
      method={BillingService.method.retrySubscription}
      request={() => ({ organisation, id })}
      effect="Retry it now"
      about={
        "Billing performs what is due. If it cannot, the subscription stays parked " +
        "with the reason."
      }
      done="Billing was asked to try it"
    />
  );
}

function RunBilling() {
  const { id: organisation } = useOrganisation();
  return (
    <Act
      label="Start billing"
      title="Start billing now"
      method={BillingService.method.runBilling}
      request={() => ({ organisation })}
      effect="Bill what is due"
      about="It begins by itself each minute. This begins at once, and does each renewal once."
      done={({ started }) => (started ? "Billing was started" : "Billing was running already")}
    />
  );
}
