/** What the Xero adapter needs to reach one organisation, and the knobs with their reasons. */
import type { buildConnector } from "undici";
import type { CallBudget } from "../../port/ledger.ts";
import type { SharedAuthorisation } from "../auth/authorised-tokens.ts";

/**
 * A connection to one Xero organisation: a custom one (client credentials), unless the options name an authorisation.
 * `baseUrl` ends in `/api.xro/2.0`, `identityUrl` in `/connect/token`. Both are settable, because the demo ledger speaks
 * the same contract. Facts: facts-ledger section 1.10.
 */
export interface XeroConnection {
  readonly tenantId: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly baseUrl: string;
  readonly identityUrl: string;
}

/**
 * Xero's totals have two decimal places in every currency. Facts: facts-ledger section 1.3 (field
 * rules).
 */
export const xeroAmountPlaces = 2;

/** What is left of Xero's limits after an answer; null where the header is missing. Facts: facts-ledger section 1.7. */
export interface XeroLimitsLeft {
  readonly minute: number | null;
  readonly day: number | null;
  readonly appMinute: number | null;
}

/**
 * What is worth a line in the log of an answer: its correlation id, by which Xero's support finds the call, and Xero's
 * warnings. `path` names nothing but the resource; no secret and nothing of a person stands in any of it.
 */
export interface XeroTold {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly correlationId: string | null;
  readonly warnings: readonly string[];
}

/**
 * Settings of the adapter; the defaults below fit Xero. `observeLimits` hears what every answer says of the limits;
 * `observeAnswer` hears of answers that are bad or have warnings;
 * `budget` is asked before every call (none: every call is made). `authorisation`: a person consented to our app, and tokens are
 * those that all processes share; the connection's secret is not used then. `connect` opens every
 * connection, in place of undici's own; where it sends nothing its error has the code
 * `ERR_NOT_SENT`.
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

/** The defaults, each with its reason. */
export const xeroDefaults = {
  // A connection that takes longer will not get better within a caller's 15 seconds.
  connectTimeoutMs: 5_000,
  // Identity answers within a second or two; a caller still has most of its deadline left after this.
  tokenTimeoutMs: 8_000,
  // 1,000 contacts are about 1 MB and 50 invoices of 20 lines about 0.5 MB: eight times the largest honest answer.
  maxResponseBytes: 8 * 1024 * 1024,
  // Xero takes five calls at once per organisation (facts-ledger section 1.7).
  connections: 5,
  // The granular scopes that contacts, invoices, credit notes and mapping need (facts-ledger section 1.10).
  scopes: "accounting.contacts accounting.invoices accounting.payments.read accounting.settings.read",
} as const satisfies XeroOptions;
