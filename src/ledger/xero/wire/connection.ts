/**
 * The settings of the Xero adapter: how to reach one organisation, and the limits with their
 * reasons.
 */
import type { buildConnector } from "undici";
import type { CallBudget } from "../../port/ledger.ts";
import type { SharedAuthorisation } from "../auth/authorised-tokens.ts";

/**
 * A connection to one Xero organisation. It is a custom connection (client credentials) unless the
 * options have an authorisation. `baseUrl` ends in `/api.xro/2.0`, `identityUrl` in
 * `/connect/token`. Both can be set, because the demo ledger implements the same contract.
 */
export interface XeroConnection {
  readonly tenantId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly baseUrl: string;
  readonly identityUrl: string;
}

/** Xero's totals have two decimal places in every currency (XERO-3). */
export const xeroAmountPlaces = 2;

/** What is left of Xero's limits after an answer (XERO-7). Null if the header is absent. */
export interface XeroLimitsLeft {
  readonly minute: number | null;
  readonly day: number | null;
  readonly appMinute: number | null;
}

/**
 * The log entry of an answer: its correlation id, by which Xero's support finds the call, and
 * Xero's warnings. `path` names only the resource. No member holds a secret or personal data.
 */
export interface XeroTold {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly correlationId: string | null;
  readonly warnings: readonly string[];
}

/**
 * Settings of the adapter. The defaults below fit Xero.
 * - `observeLimits`: called with the limits of every answer.
 * - `observeAnswer`: called for bad answers and answers with warnings.
 * - `budget`: checked before every call. Without it every call is made.
 * - `authorisation`: a person consented to our app, and all processes share the tokens. The
 *   connection's secret is then unused.
 * - `connect`: opens every connection in place of undici's connector. An error with the code
 *   `ERR_NOT_SENT` means that nothing was sent.
 */
export interface XeroOptions {
  readonly connect?: buildConnector.connector;
  readonly connectTimeoutMs?: number;
  readonly tokenTimeoutMs?: number;
  readonly maxResponseBytes?: number;
  readonly connections?: number;
  readonly scopes?: string;
  readonly observeLimits?: (left: XeroLimitsLeft) => void;
  readonly observeAnswer?: (told: XeroTold) => void;
  readonly budget?: CallBudget;
  readonly authorisation?: SharedAuthorisation;
}

/** The defaults, each with its reason (LIMIT-1). */
export const xeroDefaults = {
  // A slower connection will not recover within a caller's 15 seconds.
  connectTimeoutMs: 5_000,
  // Identity answers within a second or two. After this a caller still has most of its deadline
  // left.
  tokenTimeoutMs: 8_000,
  // 1,000 contacts are about 1 MB, and 50 invoices of 20 lines about 0.5 MB. This is eight times
  // the largest honest answer.
  maxResponseBytes: 8 * 1024 * 1024,
  // Xero takes five calls at once for each organisation (XERO-7).
  connections: 5,
  // The granular scopes that contacts, invoices, credit notes and mapping need.
  scopes:
    "accounting.contacts accounting.invoices accounting.payments.read accounting.settings.read",
} as const satisfies XeroOptions;
