/** The registry entry of Xero. The demo ledger has the same API, so it is this kind as well. */
import { plainField } from "../port/connection-form.ts";
import type { LedgerCredentials, LedgerDocument, LedgerKind } from "../port/ledger-kind.ts";
import { addressesAt, createXeroApp, xeroAddresses } from "./auth/app.ts";
import { createXeroLedger } from "./create-xero-ledger.ts";
import { readXeroWebhook, xeroSignatureForm, xeroSignatureHeader } from "./webhook.ts";
import { xeroTraits } from "./wire/connection.ts";

/** Xero's pages of a document, by its kind. Xero asks the person for the organisation. */
const pages = {
  invoice: "https://go.xero.com/AccountsReceivable/View.aspx?InvoiceID=",
  credit_note: "https://go.xero.com/AccountsReceivable/ViewCreditNote.aspx?creditNoteID=",
} as const;

/**
 * Returns the address of a document's page for people. The demo ledger shows a document on its own
 * page. Null if the stored address is not readable.
 */
function xeroDocumentPage(
  { baseUrl }: Pick<LedgerCredentials, "baseUrl">,
  { kind, ledgerId }: LedgerDocument,
): string | null {
  const id = encodeURIComponent(ledgerId);
  if (baseUrl === xeroAddresses.baseUrl) return `${pages[kind]}${id}`;
  return URL.canParse(baseUrl) ? `${new URL(baseUrl).origin}/#${id}` : null;
}

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
