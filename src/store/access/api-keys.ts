/**
 * Whether a request may come in: its API key looked up, its organisation's flags read and the request counted, in one round
 * trip. Nothing is cached, so a revocation holds from its commit on. Spec: Authentication, Limits; decisions §1, steps 2 and 3.
 */
import type pg from "pg";
import { batchAdmissions } from "./admission-batches.ts";

/** A valid key with what its organisation allows, at the instant of the admission. */
export interface AdmittedKey {
  readonly apiKeyId: string;
  readonly organisationId: string;
  readonly scopes: readonly string[];
  readonly livemode: boolean;
  readonly canCreateLedgerContacts: boolean;
  readonly usageAllowed: boolean;
  /** The organisation's clock: the database's time, or the sandbox's test clock. */
  readonly now: Date;
}

/** The sliding window of the key after this request. Spec: Limits. */
export interface RateWindow {
  /** Requests allowed in any 60 seconds. */
  readonly limit: number;
  /** How many are left. */
  readonly remaining: number;
  /** Whole seconds, at least 1, until the oldest counted request stops counting. */
  readonly resetSeconds: number;
}

/**
 * What became of a request: `unknown` (no such key, revoked or expired: all alike), `limited` (over the rate; not counted) or
 * `admitted` (counted).
 */
export type Admission =
  | { readonly kind: "unknown" }
  | { readonly kind: "limited" | "admitted"; readonly key: AdmittedKey; readonly rate: RateWindow };

/** Admits requests by the SHA-256 of their key. Rejects where the database does not answer. */
export interface Access {
  readonly admit: (keyHash: Uint8Array) => Promise<Admission>;
}

/** How admissions are made. */
export interface AccessSettings {
  /** Spec: 120 a minute. The cost of an admission grows with it (a window holds that many instants): a thousand is fine. */
  readonly limitPerMinute?: number;
  /** Told after each statement how many requests it judged. */
  readonly onBatch?: (size: number) => void;
}

/** Spec: Limits. */
export const defaultLimitPerMinute = 120;

/**
 * Requests judged by one statement. Together they are three to six times as many a second as one by one (128 at once on two
 * cores: 55,000 against 8,800); 128 in a statement are fewer again, because two statements then wait for each other's rows.
 */
const largestBatch = 64;

/** One works in PostgreSQL while the other's answer is read here: half as many again as with one; a third only adds waits. */
const statementsInFlight = 2;

/** More requests than can be judged in the time that their clients wait: one more is told that it cannot be answered now. */
const mostWaiting = 10_000;

interface AdmissionRow {
  ordinal: number;
  api_key_id: string;
  organisation_id: string;
  scopes: string[];
  livemode: boolean;
  can_create_ledger_contacts: boolean;
  usage_allowed: boolean;
  organisation_now: Date;
  counted: boolean;
  remaining: number;
  reset_seconds: number;
}

/**
 * Admissions over a pool. While a statement is under way the requests that come gather, and the next statement judges them
 * together: several of one key are counted one after the other, exactly as if each had come alone.
 */
export function createAccess(pool: Pick<pg.Pool, "query">, settings: AccessSettings = {}): Access {
  const limit = settings.limitPerMinute ?? defaultLimitPerMinute;
  const admit = batchAdmissions<AdmissionRow, Admission>(pool, {
    statement: (hashes) => ({
      name: "admit_api_keys",
      text: "SELECT * FROM admit_api_keys($1::bytea[], $2::integer)",
      values: [hashes, limit],
    }),
    read: (row) => readAdmission(row, limit),
    largestBatch,
    statementsInFlight,
    mostWaiting,
    onBatch: settings.onBatch,
  });
  return { admit };
}

function readAdmission(row: AdmissionRow | undefined, limit: number): Admission {
  if (row === undefined) return { kind: "unknown" };
  return {
    kind: row.counted ? "admitted" : "limited",
    key: {
      apiKeyId: row.api_key_id,
      organisationId: row.organisation_id,
      scopes: row.scopes,
      livemode: row.livemode,
      canCreateLedgerContacts: row.can_create_ledger_contacts,
      usageAllowed: row.usage_allowed,
      now: row.organisation_now,
    },
    rate: { limit, remaining: row.remaining, resetSeconds: row.reset_seconds },
  };
}

/** SQLSTATE classes and codes of a server that cannot serve: connection, shutdown, starting up, too many connections. */
const unreachableStates = /^(08...|57P0[1-3]|53300)$/;

/** Codes of Node for a server that is not there. */
const unreachableCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EPIPE",
  "ENOENT",
]);

/** What pg says, without a code, where a connection cannot be had or breaks. */
const unreachableMessages =
  /timeout exceeded when trying to connect|Connection terminated|Cannot use a pool after calling end|Query read timeout|is not queryable/;

/** Whether an error says that the database could not be reached or was lost, as against one that it answered. */
export function isDatabaseUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isDatabaseUnreachable);
  const code = (error as { code?: unknown }).code;
  if (typeof code === "string") return unreachableStates.test(code) || unreachableCodes.has(code);
  return unreachableMessages.test(error.message);
}
