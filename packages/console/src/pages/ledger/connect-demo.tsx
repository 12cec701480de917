/** Connects a new organisation of the demo ledger, which a command on this machine makes. */
import { useState } from "react";
import { useOrganisation } from "../../data/organisation.tsx";
import { Copyable } from "../../design/values/copyable.tsx";
import { ConnectLedger } from "./connection-acts.tsx";

/** Where the demo ledger of `npm start` is. */
const ledger = "http://127.0.0.1:8090";

/** The act, with the command that has to be run first. */
export function ConnectDemo() {
  const { name, timezone, whole } = useOrganisation();
  const [demo] = useState(() => {
    const tenant = crypto.randomUUID();
    return { tenant, client: `demo-${tenant}`, secret: crypto.randomUUID() };
  });
  const asked = JSON.stringify({
    tenantId: demo.tenant,
    name: name.replaceAll("'", " "),
    currency: whole.defaultCurrency,
    timezone,
    clientId: demo.client,
    clientSecret: demo.secret,
  });
  const command = `curl ${ledger}/demo/tenants -H 'Content-Type: application/json' -d '${asked}'`;
  return (
    <ConnectLedger
      label="Connect the demo ledger"
      initial={{
        tenant_id: demo.tenant,
        client_id: demo.client,
        client_secret: demo.secret,
        base_url: `${ledger}/api.xro/2.0`,
        identity_url: `${ledger}/connect/token`,
      }}
      about={
        <>
          <p>
            The demo ledger of a local start stands for Xero. Run this first, on the machine of the
            service: it makes an organisation there. Everything below is filled in for it. If
            DEMO_LEDGER_PORT is set, write its port for 8090, here and below.
          </p>
          <Copyable text={command} what="command" />
        </>
      }
    />
  );
}
