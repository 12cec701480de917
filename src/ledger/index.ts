/**
 * The kinds of ledger that an organisation can be connected to. A new kind is a folder and one line
 * in each table here (LEDGER-1).
 */
import type { Ledger, LedgerWebhook, LedgerWebhookDelivery } from "./port/ledger.ts";
import { createXeroLedger } from "./xero/create-xero-ledger.ts";
import { readXeroWebhook, xeroSignatureHeader } from "./xero/webhook.ts";
import { type XeroConnection, type XeroOptions, xeroAmountPlaces } from "./xero/wire/connection.ts";

/** Each kind with the function that connects it. The conformance suite runs over this table. */
export const ledgers = {
  xero: (connection: XeroConnection, options?: XeroOptions): Ledger =>
    createXeroLedger(connection, options),
} as const;

/** A kind of ledger, as stored with a connection. */
export type LedgerKind = keyof typeof ledgers;

/** Returns true if a stored or typed-in kind is supported. */
export function isLedgerKind(kind: string): kind is LedgerKind {
  return Object.hasOwn(ledgers, kind);
}

/** How many decimal places each kind keeps of an amount, in every currency. */
const amountPlaces: Readonly<Record<LedgerKind, number>> = { xero: xeroAmountPlaces };

/** Returns the decimal places that this kind keeps of an amount. Throws for an unknown kind. */
export function amountPlacesOf(kind: string): number {
  if (!isLedgerKind(kind)) throw new Error(`there is no ledger of kind ${kind}`);
  return amountPlaces[kind];
}

/**
 * How each kind's webhooks are read: the header with the signature, and a parser that takes the
 * signing key.
 */
export const ledgerWebhooks = {
  xero: { signatureHeader: xeroSignatureHeader, read: readXeroWebhook },
} as const satisfies Record<
  LedgerKind,
  {
    readonly signatureHeader: string;
    readonly read: (delivery: LedgerWebhookDelivery, key: string) => LedgerWebhook;
  }
>;
