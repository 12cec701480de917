/** The registry entry of Tryton, a complete accounting system that anybody can run. */
import type { ConnectionField } from "../port/connection-form.ts";
import type { LedgerKind } from "../port/ledger-kind.ts";
import { createTrytonLedger } from "./create-tryton-ledger.ts";
import { tenantFaultOf, trytonTraits } from "./wire/connection.ts";

/** Only Tryton itself can say whether a key is right. */
const plain: ConnectionField = {
  fallback: null,
  isSecret: false,
  isAddress: false,
  faultOf: () => null,
};

/** The kind that connections store as `tryton`. Its secret is the key of a user application. */
export const tryton = {
  name: "Tryton",
  form: {
    tenant_id: { ...plain, faultOf: tenantFaultOf },
    // The login of the key's user. Tryton finds the user by the key: it is for people alone.
    client_id: plain,
    client_secret: { ...plain, isSecret: true },
    base_url: { ...plain, isAddress: true },
  },
  app: null,
  webhooks: null,
  traits: trytonTraits,
  connect: createTrytonLedger,
} as const satisfies LedgerKind;
