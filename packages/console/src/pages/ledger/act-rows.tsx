/** The acts of the ledger's page, in the rows in which they stand. */

import styles from "../../forms/forms.module.css";
import type { LedgerConnection } from "../../gen/billing/admin/v1/ledger_connections_pb.ts";
import { ConnectDemo } from "./connect-demo.tsx";
import {
  CheckConnection,
  ConnectLedger,
  Disconnect,
  Reconcile,
  SyncNow,
} from "./connection-acts.tsx";
import { Authorise } from "./consent.tsx";

/** The ways to connect. */
export function ConnectActs() {
  return (
    <div className={styles.row}>
      <ConnectDemo />
      <Authorise />
      <ConnectLedger isPrimary={false} />
    </div>
  );
}

/** What can be done with a connection. */
export function ConnectionActs({ connection }: { readonly connection: LedgerConnection }) {
  return (
    <div className={styles.row}>
      <CheckConnection />
      <Reconcile />
      <Authorise />
      <ConnectLedger label="Change the credentials" isPrimary={false} />
      {connection.disconnectedAt === undefined && <Disconnect />}
    </div>
  );
}

/** What can be done with the reading. */
export function SyncActs() {
  return <SyncNow />;
}
