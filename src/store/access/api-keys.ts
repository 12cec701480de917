/**
 * Admits a request: looks up its API key, reads its organisation's flags and counts the request, in
 * one round trip. Nothing is cached, so a revocation holds from its commit on. ACCESS-1, ACCESS-2,
 * ACCESS-5.
 *
 * SQL: the hot path. A function of the database evaluates the requests of a batch under row locks.
 */

import { columns } from "../../gen/columns.ts";
import { bool, instant, int, pick, type RowOf, uuid } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { type Executor, query } from "../database/sql/statement.ts";
import { admissionTimeoutMs, batchAdmissions } from "./admission-batches.ts";

const keyRow = {
  apiKeyId: uuid,
  ...pick(columns.apiKey, "organisationId", "scopes"),
  ...pick(columns.organisation, "livemode", "canCreateLedgerContacts", "usageAllowed"),
  /** The organisation's clock: the database's time, or the sandbox's test clock. */
  now: instant,
};

/** A valid key with what its organisation allows, at the instant of the admission. */
export type AdmittedKey = RowOf<typeof keyRow>;

/** The sliding window of the key after this request. ACCESS-6. */
export interface RateWindow {
  /** Requests allowed in any 60 seconds. */
  readonly limit: number;
  /** Requests left in the window. */
  readonly remaining: number;
  /** Whole seconds, at least 1, until the oldest counted request stops counting. */
  readonly resetSeconds: number;
}

/**
 * The outcome of an admission. `unknown`: the key does not exist, is revoked or has expired.
 * `limited`: over the rate, and not counted. `admitted`: counted.
 */
export type Admission =
  | { readonly kind: "unknown" }
  | { readonly kind: "limited" | "admitted"; readonly key: AdmittedKey; readonly rate: RateWindow };

/** Admits requests. */
export type Access = ReturnType<typeof createAccess>;

/** Settings of the admission: its rate limit and an observer of batches. */
interface AccessSettings {
  /**
   * Default 120 (ACCESS-5). The cost of an admission grows with it, because a window holds that
   * many instants. A thousand is fine.
   */
  readonly limitPerMinute?: number;
  /** Called after each statement with the number of requests that it evaluated. */
  readonly onBatch?: (size: number) => void;
}

/** Requests for each key in any 60 seconds. ACCESS-5. */
const defaultLimitPerMinute = 120;

/**
 * Requests evaluated by one statement. Batching admits three to six times as many a second (128 at
 * once on two cores: 55,000 against 8,800). Batches of 128 are slower again, because two statements
 * then wait for each other's rows.
 */
const largestBatch = 64;

/**
 * PostgreSQL runs one statement while the answer of the other is read here. Two admit half as many
 * again as one. A third only adds waits.
 */
const statementsInFlight = 2;

/** More requests than can be evaluated while their clients wait. One more is refused at once. */
const maxWaiting = 10_000;

const admissionRow = {
  ...keyRow,
  ordinal: int,
  isCounted: bool,
  remaining: int,
  resetSeconds: int,
};

const admitKeys = query({
  name: "admit_api_keys",
  planned: "once",
  timeLimitMs: admissionTimeoutMs,
  text: sql`
    SELECT
      ordinal, api_key_id, organisation_id, scopes, livemode, can_create_ledger_contacts,
      usage_allowed, organisation_now AS now, counted AS is_counted, remaining, reset_seconds
    FROM admit_api_keys($1::bytea[], $2::integer)
  `,
  row: admissionRow,
});

/**
 * Creates the admission over a pool. Requests that arrive while a statement runs are evaluated
 * together by the next one. Several requests of one key are counted one after the other, as if each
 * had come alone.
 */
export function createAccess(executor: Executor, settings: AccessSettings = {}) {
  const limit = settings.limitPerMinute ?? defaultLimitPerMinute;
  const admit = batchAdmissions({
    admit: (hashes) => admitKeys(executor, hashes, limit),
    largestBatch,
    statementsInFlight,
    maxWaiting,
    onBatch: settings.onBatch,
  });
  return {
    /** Admits by the SHA-256 of a key. Rejects if the database does not answer. */
    admit: async (keyHash: Uint8Array) => readAdmission(await admit(keyHash), limit),
  };
}

function readAdmission(row: RowOf<typeof admissionRow> | undefined, limit: number): Admission {
  if (row === undefined) return { kind: "unknown" };
  const { ordinal: _, isCounted, remaining, resetSeconds, ...key } = row;
  return {
    kind: isCounted ? "admitted" : "limited",
    key,
    rate: { limit, remaining, resetSeconds },
  };
}
