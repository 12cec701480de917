/**
 * The settings of the Xero adapter: how to reach one organisation, and the limits with their
 * reasons.
 */
import { httpDefaults } from "../../port/http/exchange.ts";
import type { LimitsLeft } from "../../port/ledger.ts";
import type { LedgerCredentials, LedgerOptions } from "../../port/ledger-kind.ts";
import type { LedgerTraits } from "../../port/ledger-traits.ts";

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

/** What is left of Xero's limits after an answer (XERO-7). Null if the header is absent. */
export interface XeroLimitsLeft extends LimitsLeft {
  readonly appMinute: number | null;
}

/**
 * Settings of the adapter. The defaults below fit Xero.
 * - `observeLimits`: called with the limits of every answer.
 * - `connect`: opens every connection in place of undici's connector. An error with the code
 *   `ERR_NOT_SENT` means that nothing was sent.
 */
export interface XeroOptions extends LedgerOptions {
  readonly connectTimeoutMs?: number;
  readonly tokenTimeoutMs?: number;
  readonly maxResponseBytes?: number;
  readonly connections?: number;
  readonly scopes?: string;
  readonly observeLimits?: (left: XeroLimitsLeft) => void;
}

/** The defaults, each with its reason (LIMIT-1). */
export const xeroDefaults = {
  ...httpDefaults,
  // Identity answers within a second or two. After this a caller still has most of its deadline
  // left.
  tokenTimeoutMs: 8_000,
  connections: xeroTraits.calls.concurrent,
  // The granular scopes that contacts, invoices, credit notes and mapping need.
  scopes:
    "accounting.contacts accounting.invoices accounting.payments.read accounting.settings.read",
} as const satisfies XeroOptions;
