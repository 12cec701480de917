/** The registry entry of Xero. The demo ledger has the same API, so it is this kind as well. */
import { plainField } from "../port/connection-form.ts";
import type { LedgerKind } from "../port/ledger-kind.ts";
import { addressesAt, createXeroApp, xeroAddresses } from "./auth/app.ts";
import { createXeroLedger } from "./create-xero-ledger.ts";
import { xeroDocumentPage } from "./document-page.ts";
import { readXeroWebhook, xeroSignatureForm, xeroSignatureHeader } from "./webhook.ts";
import { xeroTraits } from "./wire/connection.ts";

/** The kind that connections store as `xero`. */
export const xero = {
  name: "Xero",
  form: {
    tenant_id: plainField,
    client_id: plainField,
    client_secret: { ...plainField, isSecret: true },
    base_url: { ...plainField, fallback: xeroAddresses.baseUrl, isAddress: true },
    identity_url: { ...plainField, fallback: xeroAddresses.identityUrl, isAddress: true },
  },
  app: {
    addresses: (origin) => (origin === null ? xeroAddresses : addressesAt(origin)),
    create: createXeroApp,
  },
  webhooks: {
    signatureHeader: xeroSignatureHeader,
    signatureForm: xeroSignatureForm,
    read: readXeroWebhook,
  },
  traits: xeroTraits,
  documentPage: xeroDocumentPage,
  connect: createXeroLedger,
} as const satisfies LedgerKind;
