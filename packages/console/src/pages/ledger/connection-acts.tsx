/** What can be done with the connection to the ledger. */
import { useOrganisation } from "../../data/organisation.tsx";
import { State } from "../../design/values/state.tsx";
import { Act } from "../../forms/act.tsx";
import { type Field, isTicked, textOf } from "../../forms/fields.tsx";
import {
  LedgerConnectionService,
  type LedgerDescription,
} from "../../gen/billing/admin/v1/ledger_connections_pb.ts";
import { LedgerReconciliationService } from "../../gen/billing/admin/v1/ledger_reconciliation_pb.ts";
import { LedgerSyncService } from "../../gen/billing/admin/v1/ledger_sync_pb.ts";

const method = LedgerConnectionService.method;

/** Asks the ledger whether the connection works. */
export function CheckConnection() {
  const { id: organisation } = useOrganisation();
  return (
    <Act
      label="Check"
      title="Check the connection"
      method={method.checkLedgerConnection}
      request={() => ({ organisation })}
      effect="Ask the ledger"
      about="One call to the ledger. Nothing is changed."
      done={({ ok }) => (ok ? "The ledger answered" : "The connection failed")}
      result={({ ok, problem, ledger, warnings }) => (
        <>
          <State
            word={ok ? "The connection works" : (problem ?? "The connection does not work")}
            tone={ok ? "ok" : "bad"}
          />
          {ledger && <Described ledger={ledger} />}
          {warnings.map((warning) => (
            <p key={warning}>{warning}</p>
          ))}
        </>
      )}
    />
  );
}

function Described({ ledger }: { readonly ledger: LedgerDescription }) {
  return (
    <p>
      {ledger.name}, in {ledger.currency}
      {ledger.demo && ", which calls itself a demo"}.
    </p>
  );
}

/** Reads what changed in the ledger now. */
export function SyncNow() {
  const { id: organisation } = useOrganisation();
  return (
    <Act
      label="Sync now"
      title="Read the ledger now"
      method={LedgerSyncService.method.syncLedger}
      request={() => ({ organisation })}
      effect="Read what changed"
      about="It is read by itself every few minutes. This does it at once."
      done={({ finished }) =>
        finished ? "The ledger was read" : "Reading of the ledger was begun"
      }
    />
  );
}

/** Looks in the ledger for documents that nobody here issued. */
export function Reconcile() {
  const { id: organisation } = useOrganisation();
  return (
    <Act
      label="Reconcile"
      title="Reconcile with the ledger"
      method={LedgerReconciliationService.method.reconcileLedger}
      fields={[
        {
          name: "since",
          label: "Changed since the day",
          kind: "day",
          about: "A day before the newest document here if left out.",
          isOptional: true,
        },
      ]}
      request={(values) => {
        const since = textOf(values, "since");
        return { organisation, since: since && `${since}T00:00:00Z` };
      }}
      effect="Look for unknown documents"
      about={
        "After a restored backup the ledger may have documents that this database does " +
        "not know. They are listed, and nothing is changed."
      }
      done={({ data }) => `The ledger was read: ${data.length} documents are unknown here`}
      result={({ data, read, hasMore }) => (
        <p>
          {read} documents of the ledger were read, and {data.length} of them are unknown here.
          {hasMore &&
            " The ledger has more: the command line reads all, by billing ledger reconcile."}
        </p>
      )}
    />
  );
}

/** Ends the connection. */
export function Disconnect() {
  const { id: organisation } = useOrganisation();
  return (
    <Act
      label="Disconnect"
      title="Disconnect the ledger"
      method={method.disconnectLedger}
      isDangerous
      isOwners
      fields={[
        {
          name: "skip_ledger",
          label: "Only here, without the ledger",
          kind: "box",
          about: "For a ledger that does not answer any more.",
        },
      ]}
      typed={{ text: "disconnect", what: "word" }}
      request={(values) => ({ organisation, skipLedger: isTicked(values, "skip_ledger") })}
      effect="Disconnect the ledger"
      about={
        "Documents wait from then on, and no new invoice reaches the ledger. Nothing " +
        "is lost: all of it goes on once the same ledger is connected again."
      }
      done="The ledger was disconnected"
    />
  );
}

const fields: readonly Field[] = [
  {
    name: "tenant_id",
    label: "Tenant id",
    about: "The organisation in the ledger that gets the invoices.",
    max: 100,
  },
  { name: "client_id", label: "Client id" },
  {
    name: "client_secret",
    label: "Client secret",
    kind: "secret",
    about: "Stored encrypted, and never shown again.",
  },
  {
    name: "base_url",
    label: "Address of its API",
    about: "Xero's if left out.",
    isOptional: true,
    max: 500,
  },
  {
    name: "identity_url",
    label: "Address of its tokens",
    about: "Xero's if left out.",
    isOptional: true,
    max: 500,
  },
];

/** Connects a ledger by credentials, or the demo ledger of a local start. */
export function ConnectLedger({
  label = "Connect with credentials",
  initial = {},
  isPrimary = true,
  about = "A custom connection of Xero has them. They are checked before they are stored.",
}: {
  readonly label?: string;
  readonly initial?: Readonly<Record<string, string>>;
  readonly isPrimary?: boolean;
  readonly about?: React.ReactNode;
}) {
  const { id: organisation } = useOrganisation();
  return (
    <Act
      label={label}
      title={label}
      method={method.connectLedger}
      isOwners
      isPrimary={isPrimary}
      fields={fields.map((field) => ({ ...field, initial: initial[field.name] }))}
      request={(values) => ({
        organisation,
        kind: "xero",
        tenantId: values.tenant_id ?? "",
        clientId: values.client_id ?? "",
        clientSecret: values.client_secret ?? "",
        baseUrl: textOf(values, "base_url"),
        identityUrl: textOf(values, "identity_url"),
      })}
      effect="Check and connect"
      about={about}
      done="The ledger was connected"
      result={({ ledger, warnings }) => (
        <>
          <State word="The ledger is connected" tone="ok" />
          {ledger && <Described ledger={ledger} />}
          {warnings.map((warning) => (
            <p key={warning}>{warning}</p>
          ))}
        </>
      )}
    />
  );
}
