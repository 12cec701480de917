/**
 * Stores idempotency keys as rows: claimed by one run at a time under a lease, completed with the
 * response, or released. If a process is killed its leases expire, and the keys work again.
 * IDEMPOTENCY-2, IDEMPOTENCY-4, IDEMPOTENCY-5.
 *
 * A run may succeed and its response not be stored. The response is then returned all the same,
 * because the work is done and the client must know. Until the response is stored, this process
 * holds the lease and retries at every renewal. A repeat gets `running`, and then the stored
 * response.
 *
 * If this process dies first, or the database is away until the lease has expired, a repeat runs
 * the operation again. The services make that harmless. The id of a created object is derived from
 * the key, so the second run finds the first one's work and answers it.
 *
 * SQL: each step is a function of the database, which locks the key and decides in one statement.
 */
import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import { bytes, int, text } from "../database/sql/columns.ts";
import { sql } from "../database/sql/sql.ts";
import { command, type Executor, query } from "../database/sql/statement.ts";
import { createLeases, type Leased } from "./idempotency-leases.ts";

/** A request with an idempotency key. */
export interface KeyRequest {
  /** The id of the API key, or of the operator's token. */
  readonly apiKeyId: string;
  /** Null for an operator's request, which belongs to no organisation. */
  readonly organisationId: string | null;
  /** The header's value. */
  readonly key: string;
  readonly operation: string;
  readonly path: string;
  /** SHA-256 of operation and request: equal for equal requests. */
  readonly fingerprint: Uint8Array;
}

/** One run's right to a key. */
export interface Claim extends KeyRequest {
  /** Unique for each run, so that a late run cannot end another run's claim. */
  readonly owner: string;
}

/**
 * The outcome of claiming a key. `begun`: run the operation, then complete or release. `replay`:
 * the stored response. `conflict`: another request holds the key. `running`: the same request runs
 * now.
 */
export type Begun =
  | { readonly kind: "begun"; readonly claim: Claim }
  | { readonly kind: "replay"; readonly response: Uint8Array }
  | { readonly kind: "conflict" }
  | { readonly kind: "running" };

/** The store of keys. */
export type IdempotencyStore = ReturnType<typeof createIdempotencyStore>;

/** The time of a lease, which tests shorten, and the observer of failures. */
interface IdempotencySettings {
  readonly leaseMs?: number;
  /** Called for every failed attempt to complete, release or renew. */
  readonly onTrouble: (error: unknown) => void;
}

/**
 * Two renewals may be missed. The key of a killed process works again after this time, before a
 * client's second retry.
 */
const defaultLeaseMs = 6_000;

/** 24 hours. IDEMPOTENCY-6. */
const lifetimeMs = 24 * 60 * 60 * 1000;

/** Creates the store of keys over a pool. */
export function createIdempotencyStore(executor: Executor, settings: IdempotencySettings) {
  const leaseMs = settings.leaseMs ?? defaultLeaseMs;
  const record = (leased: Leased) => recordOutcome(executor, leased);
  const leases = createLeases({
    everyMs: leaseMs / 3,
    renew: (claims) => renew(executor, claims, leaseMs),
    recordOutcome: record,
    onTrouble: settings.onTrouble,
  });

  const end = async (leased: Leased): Promise<Uint8Array | null> => {
    try {
      const other = await record(leased);
      leases.drop(leased.claim);
      return other;
    } catch (error) {
      settings.onTrouble(error);
      leases.keep(leased);
      return null;
    }
  };

  return {
    /**
     * Claims a key. Rejects if the database does not answer. A claim that was written then ends
     * with its lease.
     */
    begin: async (request: KeyRequest): Promise<Begun> => {
      const claim = { ...request, owner: randomUUID() };
      const begun = await begin(executor, claim, leaseMs);
      if (begun.kind === "begun") leases.keep({ claim: begun.claim, outcome: null });
      return begun;
    },
    /**
     * Stores the response. Null: this response is stored, or will be. Otherwise returns the
     * response that another run of the same request has stored, and the caller must answer with
     * that. Never rejects.
     */
    complete: (claim: Claim, response: Uint8Array) =>
      end({ claim, outcome: { kind: "complete", response } }),
    /**
     * Frees the key of a failed run. Retries later if the database does not answer. Never rejects.
     */
    release: async (claim: Claim): Promise<void> => {
      await end({ claim, outcome: { kind: "release" } });
    },
    /** Tries once more to store the unwritten outcomes, then ends the renewals. */
    stop: leases.stop,
  };
}

const beginRequest = query({
  name: "begin_idempotent_request",
  planned: "once",
  text: sql`
    SELECT outcome, response
    FROM
      begin_idempotent_request(
        $1, $2, $3, $4, $5, $6, $7,
        $8 * interval '1 ms',
        $9 * interval '1 ms'
      )
  `,
  row: { outcome: text.as<Begun["kind"]>(), response: bytes.orNull() },
});

/** Claims a key for a run. */
async function begin(executor: Executor, claim: Claim, leaseMs: number): Promise<Begun> {
  const { apiKeyId, key, organisationId, operation, path, fingerprint, owner } = claim;
  const [row] = await beginRequest(
    executor,
    apiKeyId,
    key,
    organisationId,
    operation,
    path,
    Buffer.from(fingerprint),
    owner,
    leaseMs,
    lifetimeMs,
  );
  assert(row, "a key has a state");
  const { outcome, response } = row;
  switch (outcome) {
    case "begun":
      return { kind: outcome, claim };
    case "replay":
      if (response === null) throw new Error("a completed idempotency key has no response");
      return { kind: outcome, response };
    default:
      return { kind: outcome };
  }
}

const releaseRequest = command({
  name: "release_idempotent_request",
  planned: "once",
  text: sql`SELECT FROM release_idempotent_request($1, $2, $3)`,
});

const completeRequest = query({
  name: "complete_idempotent_request",
  planned: "once",
  text: sql`
    SELECT response
    FROM complete_idempotent_request($1, $2, $3, $4, $5) AS completed (response)
  `,
  row: { response: bytes.orNull() },
});

/** Completes or releases a claim. A repeat changes nothing. */
async function recordOutcome(
  executor: Executor,
  { claim, outcome }: Leased,
): Promise<Uint8Array | null> {
  if (outcome === null) return null;
  const { apiKeyId, key, owner, fingerprint } = claim;
  if (outcome.kind === "release") {
    await releaseRequest(executor, apiKeyId, key, owner);
    return null;
  }
  const response = Buffer.from(outcome.response);
  const hash = Buffer.from(fingerprint);
  const [row] = await completeRequest(executor, apiKeyId, key, owner, hash, response);
  const other = row?.response ?? null;
  // The first attempt may have been stored although its answer was lost. The stored response is
  // then our own.
  return other === null || response.equals(other) ? null : other;
}

const renewRequests = command({
  name: "renew_idempotent_requests",
  planned: "once",
  text: sql`SELECT FROM renew_idempotent_requests($1, $2, $3, $4 * interval '1 ms')`,
});

/** Renews the leases in the order of their keys, so that two statements never deadlock. */
async function renew(executor: Executor, claims: readonly Claim[], leaseMs: number): Promise<void> {
  const ordered = claims.toSorted(byKey);
  await renewRequests(
    executor,
    ordered.map(({ apiKeyId }) => apiKeyId),
    ordered.map(({ key }) => key),
    ordered.map(({ owner }) => owner),
    leaseMs,
  );
}

const deleteKeys = query({
  name: "delete_expired_idempotency_keys",
  planned: "once",
  text: sql`SELECT deleted FROM delete_expired_idempotency_keys($1) AS expired (deleted)`,
  row: { deleted: int },
});

/** Deletes expired keys, at most `atMost`. Returns how many. */
export async function deleteExpiredKeys(executor: Executor, atMost: number): Promise<number> {
  const [row] = await deleteKeys(executor, atMost);
  return row?.deleted ?? 0;
}

function byKey(left: KeyRequest, right: KeyRequest): number {
  const [a, b] = [left.apiKeyId + left.key, right.apiKeyId + right.key];
  return a < b ? -1 : Number(a > b);
}
