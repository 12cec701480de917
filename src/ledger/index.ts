/** The ledgers that an organisation can be connected to: a second one is a folder and a line here. */
import type { Ledger, LedgerWebhook, LedgerWebhookDelivery } from "./port/ledger.ts";
import { createXeroLedger } from "./xero/create-xero-ledger.ts";
import { readXeroWebhook, xeroSignatureHeader } from "./xero/webhook.ts";
import { type XeroConnection, type XeroOptions, xeroAmountPlaces } from "./xero/wire/connection.ts";

/** Each kind with the function that connects it. The conformance suite runs over this table. */
export const ledgers = {
  xero: (connection: XeroConnection, options?: XeroOptions): Ledger => createXeroLedger(connection, options),
} as const;

/** The kinds of ledger there are. */
export type LedgerKind = keyof typeof ledgers;

/** True where a stored or typed-in kind is one of ours. */
export function isLedgerKind(kind: string): kind is LedgerKind {
  return Object.hasOwn(ledgers, kind);
}

/** How many decimal places each kind keeps of an amount, whatever its currency. */
const amountPlaces: Readonly<Record<LedgerKind, number>> = { xero: xeroAmountPlaces };

/** The decimal places that this kind keeps of an amount. Throws for a kind that is none of ours. */
export function amountPlacesOf(kind: string): number {
  if (!isLedgerKind(kind)) throw new Error(`there is no ledger of kind ${kind}`);
  return amountPlaces[kind];
}

/** How each kind's webhooks are read: the header that signs them, and what a delivery says by the signing key. */
export const ledgerWebhooks = {
  xero: { signatureHeader: xeroSignatureHeader, read: readXeroWebhook },
} as const satisfies Record<
  LedgerKind,
  { readonly signatureHeader: string; readonly read: (delivery: LedgerWebhookDelivery, key: string) => LedgerWebhook }
>;
