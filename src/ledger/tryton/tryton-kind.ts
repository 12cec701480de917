/** The registry entry of Tryton, a complete accounting system that anybody can run. */
import { plainField } from "../port/connection-form.ts";
import type { LedgerKind } from "../port/ledger-kind.ts";
import { createTrytonLedger } from "./create-tryton-ledger.ts";
import { tenantFaultOf, trytonTraits } from "./wire/connection.ts";

/** The kind that connections store as `tryton`. Its secret is the key of a user application. */
export const tryton = {
  name: "Tryton",
  form: {
    tenant_id: { ...plainField, faultOf: tenantFaultOf },
    // The login of the key's user. Tryton finds the user by the key: it is for people alone.
    client_id: plainField,
    client_secret: { ...plainField, isSecret: true },
    base_url: { ...plainField, isAddress: true },
  },
  app: null,
  webhooks: null,
  traits: trytonTraits,
  connect: createTrytonLedger,
} as const satisfies LedgerKind;
