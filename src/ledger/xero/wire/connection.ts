/**
 * The settings of the Xero adapter: how to reach one organisation, and the limits with their
 * reasons.
 */
import type { HttpOptions } from "../../port/http/exchange.ts";
import type { LedgerCredentials, LedgerOptions, LedgerTraits } from "../../port/ledger-kind.ts";

/**
 * A connection to one Xero organisation. It is a custom connection (client credentials) unless the
 * options have an authorisation. `baseUrl` ends in `/api.xro/2.0`, `identityUrl` in
 * `/connect/token`. Both can be set, because the demo ledger implements the same contract.
 */
export type XeroConnection = LedgerCredentials;

/** What callers must know of Xero: its limits (XERO-7) and its rules of documents. */
export const xeroTraits = {
  // The number of a day depends on the app's tier, and every answer reports what is left.
  calls: { minute: 60, day: null, concurrent: 5, documents: 50 },
  documents: {
    // In every currency (XERO-3).
    amountPlaces: 2,
    maxLines: null,
    maxNumberLength: 255,
    maxDescriptionLength: 4_000,
    hasDrafts: true,
    canAmendApproved: true,
    hasUniqueNumbers: true,
  },
  numbers: "ours",
  idempotency: "keys",
  notifications: "webhooks",
  removal: "remembers",
  maxContactCodeLength: 50,
} as const satisfies LedgerTraits;

/** Settings of the adapter. The defaults of the port fit Xero. */
export type XeroOptions = LedgerOptions & HttpOptions;

/**
 * The time for a request of tokens. Identity answers within a second or two. After this a caller
 * still has most of its deadline left (LIMIT-1).
 */
export const tokenTimeoutMs = 8_000;

/** The granular scopes that contacts, invoices, credit notes and mapping need. */
export const xeroScopes =
  "accounting.contacts accounting.invoices accounting.payments.read accounting.settings.read";
