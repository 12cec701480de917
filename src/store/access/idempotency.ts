/**
 * Idempotency keys as rows: claimed by one run at a time under a lease, completed with the response, or released. A process
 * that is killed lets its leases go by, and the keys work again. Spec: Idempotency.
 *
 * Where a run has succeeded and its response cannot be stored, the answer is given all the same, because the work is done and
 * the client must hear of it. Until it is stored, this process keeps the lease and tries again at every renewal, so that a
 * repeat hears `running` and then the stored response. Where this process dies first, or the database stays away until the
 * lease has gone by, a repeat runs the operation again; the services make that harmless: what a request creates has an id
 * derived from its key, so the second run finds the first one's work and answers it.
 */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { createLeases, type Leased } from "./idempotency-leases.ts";

/** A request that asks for a key. */
export interface KeyRequest {
  /** The API key, or the operator's token. */
  readonly apiKeyId: string;
  /** Null for an operator's, who belongs to none. */
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
  /** Differs for every run, so that a late one cannot end another's. */
  readonly owner: string;
}

/**
 * What asking for a key came to: `begun` (run it, then complete or release), `replay` (the stored response), `conflict`
 * (another request holds the key) or `running` (the same request runs now).
 */
export type Begun =
  | { readonly kind: "begun"; readonly claim: Claim }
  | { readonly kind: "replay"; readonly response: Uint8Array }
  | { readonly kind: "conflict" }
  | { readonly kind: "running" };

/** The store of keys; `createIdempotencyStore` makes it. */
export interface IdempotencyStore {
  /** One statement. Rejects where the database does not answer; then nothing was begun that a lease does not end. */
  readonly begin: (request: KeyRequest) => Promise<Begun>;
  /**
   * One statement. Null: the response is stored, or will be. Otherwise the response that another run of the same request has
   * stored, which is the one to give. Never rejects.
   */
  readonly complete: (claim: Claim, response: Uint8Array) => Promise<Uint8Array | null>;
  /** One statement. Frees the key of a run that failed; tries again later where the database does not answer. Never rejects. */
  readonly release: (claim: Claim) => Promise<void>;
  /** Deletes keys whose time is over, at most so many; answers how many. */
  readonly deleteExpired: (atMost: number) => Promise<number>;
  /** Tries once more to store what is not stored, and ends the renewals. */
  readonly stop: () => Promise<void>;
}

/** Times, which tests shorten, and who hears of trouble. */
export interface IdempotencySettings {
  readonly leaseMs?: number;
  readonly lifetimeMs?: number;
  /** Told of every attempt to complete, release or renew that failed. */
  readonly onTrouble: (error: unknown) => void;
}

/** Two renewals may be missed; a killed process's key works again after this time, which a client's second retry outlasts. */
const defaultLeaseMs = 6_000;

/** Spec: Idempotency, "24 hours". */
const defaultLifetimeMs = 24 * 60 * 60 * 1000;

/** Keys over a pool. */
export function createIdempotencyStore(pool: Pick<pg.Pool, "query">, settings: IdempotencySettings): IdempotencyStore {
  const leaseMs = settings.leaseMs ?? defaultLeaseMs;
  const lifetimeMs = settings.lifetimeMs ?? defaultLifetimeMs;
  const leases = createLeases({
    everyMs: leaseMs / 3,
    renew: (claims) => renew(pool, claims, leaseMs),
    settle: (leased) => settle(pool, leased),
    onTrouble: settings.onTrouble,
  });

  const end = async (leased: Leased): Promise<Uint8Array | null> => {
    try {
      const other = await settle(pool, leased);
      leases.drop(leased.claim);
      return other;
    } catch (error) {
      settings.onTrouble(error);
      leases.keep(leased);
      return null;
    }
  };

  return {
    begin: async (request) => {
      const begun = await begin(pool, { ...request, owner: randomUUID() }, leaseMs, lifetimeMs);
      if (begun.kind === "begun") leases.keep({ claim: begun.claim, ending: null });
      return begun;
    },
    complete: (claim, response) => end({ claim, ending: { kind: "complete", response } }),
    release: async (claim) => void (await end({ claim, ending: { kind: "release" } })),
    deleteExpired: (atMost) => deleteExpired(pool, atMost),
    stop: leases.stop,
  };
}

async function begin(pool: Pick<pg.Pool, "query">, claim: Claim, leaseMs: number, lifetimeMs: number): Promise<Begun> {
  const { rows } = await pool.query<{ outcome: Begun["kind"]; response: Buffer | null }>({
    name: "begin_idempotent_request",
    text: `SELECT * FROM begin_idempotent_request($1, $2, $3, $4, $5, $6, $7, $8 * interval '1 ms', $9 * interval '1 ms')`,
    values: [
      claim.apiKeyId,
      claim.key,
      claim.organisationId,
      claim.operation,
      claim.path,
      Buffer.from(claim.fingerprint),
      claim.owner,
      leaseMs,
      lifetimeMs,
    ],
  });
  const row = rows[0];
  if (row === undefined) throw new Error("begin_idempotent_request answered nothing");
  switch (row.outcome) {
    case "begun":
      return { kind: "begun", claim };
    case "replay":
      if (row.response === null) throw new Error("a completed idempotency key has no response");
      return { kind: "replay", response: row.response };
    default:
      return { kind: row.outcome };
  }
}

/** Completes or releases; repeating it changes nothing. */
async function settle(pool: Pick<pg.Pool, "query">, { claim, ending }: Leased): Promise<Uint8Array | null> {
  const { apiKeyId, key, owner } = claim;
  if (ending === null) return null;
  if (ending.kind === "release") {
    const text = "SELECT release_idempotent_request($1, $2, $3)";
    await pool.query({ name: "release_idempotent_request", text, values: [apiKeyId, key, owner] });
    return null;
  }
  const response = Buffer.from(ending.response);
  const { rows } = await pool.query<{ other: Buffer | null }>({
    name: "complete_idempotent_request",
    text: "SELECT complete_idempotent_request($1, $2, $3, $4, $5) AS other",
    values: [apiKeyId, key, owner, Buffer.from(claim.fingerprint), response],
  });
  const other = rows[0]?.other ?? null;
  // The first attempt may have been stored although its answer was lost: then what is stored is our own.
  return other === null || response.equals(other) ? null : other;
}

async function renew(pool: Pick<pg.Pool, "query">, claims: readonly Claim[], leaseMs: number): Promise<void> {
  await pool.query({
    name: "renew_idempotent_requests",
    text: "SELECT renew_idempotent_requests($1, $2, $3, $4 * interval '1 ms')",
    values: [
      claims.map(({ apiKeyId }) => apiKeyId),
      claims.map(({ key }) => key),
      claims.map(({ owner }) => owner),
      leaseMs,
    ],
  });
}

async function deleteExpired(pool: Pick<pg.Pool, "query">, atMost: number): Promise<number> {
  const { rows } = await pool.query<{ deleted: number }>({
    name: "delete_expired_idempotency_keys",
    text: "SELECT delete_expired_idempotency_keys($1) AS deleted",
    values: [atMost],
  });
  return rows[0]?.deleted ?? 0;
}
