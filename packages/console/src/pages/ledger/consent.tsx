/** The connection by consent: opens the ledger's page, and waits for what came of it. */
import { useQuery } from "@connectrpc/connect-query";
import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useOrganisation } from "../../data/organisation.tsx";
import { queryClient } from "../../data/transport.ts";
import { Icon } from "../../design/icons.tsx";
import { ErrorState } from "../../design/page/error-state.tsx";
import { Instant } from "../../design/values/instant.tsx";
import { State, type StateWords } from "../../design/values/state.tsx";
import { Act } from "../../forms/act.tsx";
import styles from "../../forms/forms.module.css";
import { send } from "../../forms/send.ts";
import {
  LedgerAuthorisationStatus,
  LedgerConnectionService,
  type LedgerTenant,
} from "../../gen/billing/admin/v1/ledger_connections_pb.ts";

const method = LedgerConnectionService.method;

/** Asks for the consent of whoever has the ledger. */
export function Authorise() {
  const { id: organisation } = useOrganisation();
  return (
    <Act
      label="Connect with Xero"
      title="Connect with Xero"
      method={method.beginLedgerAuthorisation}
      isOwners
      request={() => ({ organisation })}
      effect="Make the link"
      about={
        "Somebody who may administer the ledger signs in there and consents. The link " +
        "works once, for ten minutes, in a browser that reaches this console."
      }
      done="The link was made"
      result={({ url, expiresAt }) => <Consent url={url} expiresAt={expiresAt} />}
    />
  );
}

const states: Readonly<Record<number, StateWords>> = {
  [LedgerAuthorisationStatus.PENDING]: { word: "Waiting for the consent", tone: "info" },
  [LedgerAuthorisationStatus.CHOOSE]: { word: "Choose the organisation", tone: "warn" },
  [LedgerAuthorisationStatus.CONNECTED]: { word: "The ledger is connected", tone: "ok" },
  [LedgerAuthorisationStatus.FAILED]: { word: "The consent failed", tone: "bad" },
  [LedgerAuthorisationStatus.EXPIRED]: { word: "The link has expired", tone: "bad" },
};

function Consent({ url, expiresAt }: { readonly url: string; readonly expiresAt: string }) {
  const { id: organisation } = useOrganisation();
  const read = useQuery(
    method.getLedgerAuthorisation,
    { organisation },
    { refetchInterval: 2_000, gcTime: 0 },
  );
  const { status = LedgerAuthorisationStatus.PENDING, tenants = [], failure } = read.data ?? {};
  return (
    <>
      <Button
        component="a"
        href={url}
        target="_blank"
        rel="noreferrer"
        rightSection={<Icon name="external" size={14} />}
      >
        Open the ledger's page
      </Button>
      <p className="muted">
        The link works until <Instant at={expiresAt} />.
      </p>
      <div role="status">
        <State {...(states[status] ?? { word: "Unknown", tone: "quiet" })} />
      </div>
      {failure !== undefined && <p>{failure}</p>}
      {status === LedgerAuthorisationStatus.CHOOSE && <ChooseTenant tenants={tenants} />}
    </>
  );
}

/** The organisations that the consent is for, of which one is connected. */
export function ChooseTenant({ tenants }: { readonly tenants: readonly LedgerTenant[] }) {
  const { id: organisation } = useOrganisation();
  const [key] = useState(() => crypto.randomUUID());
  const sending = useMutation({
    mutationFn: (tenantId: string) =>
      send(method.chooseLedgerTenant, { organisation, tenantId }, `${key}-${tenantId}`),
    onSuccess: () => void queryClient.invalidateQueries(),
  });
  return (
    <>
      <ul className={styles.rows} aria-label="Organisations in the ledger">
        {tenants.map(({ tenantId, name }) => (
          <li key={tenantId}>
            <span>{name}</span>
            <Button
              variant="default"
              loading={sending.isPending}
              onClick={() => sending.mutate(tenantId)}
            >
              Connect it
            </Button>
          </li>
        ))}
      </ul>
      {sending.error && <ErrorState error={sending.error} isWrite />}
    </>
  );
}
