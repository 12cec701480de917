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
import { randomUUID } from "node:crypto";
import type { Executor } from "../database/client.ts";
import { callFunction } from "../database/functions.ts";
import { type JoinedCall, joinCalls } from "../database/joined-calls.ts";
import { plannedOnce } from "../database/planned-once.ts";
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

/** The store of keys. `createIdempotencyStore` creates it. */
export interface IdempotencyStore {
  /**
   * Claims a key, in one statement with others of the organisation that come at the same time.
   * Rejects if the database does not answer. A claim that was written then ends with its lease.
   */
  readonly begin: (request: KeyRequest) => Promise<Begun>;
  /**
   * Stores the response, in one statement with others. Null: this response is stored, or will be.
   * Otherwise returns the response that another run of the same request has stored, and the caller
   * must answer with that. Never rejects.
   */
  readonly complete: (claim: Claim, response: Uint8Array) => Promise<Uint8Array | null>;
  /**
   * Frees the key of a failed run in one statement. Retries later if the database does not answer.
   * Never rejects.
   */
  readonly release: (claim: Claim) => Promise<void>;
  /** Deletes expired keys, at most `atMost`. Returns how many. */
  readonly deleteExpired: (atMost: number) => Promise<number>;
  /** Tries once more to store the unwritten outcomes, then ends the renewals. */
  readonly stop: () => Promise<void>;
}

/** Times, which tests shorten, and the observer of failures. */
interface IdempotencySettings {
  readonly leaseMs?: number;
  readonly lifetimeMs?: number;
  /** Called for every failed attempt to complete, release or renew. */
  readonly onTrouble: (error: unknown) => void;
}

/**
 * Two renewals may be missed. The key of a killed process works again after this time, before a
 * client's second retry.
 */
const defaultLeaseMs = 6_000;

/** 24 hours. IDEMPOTENCY-6. */
const defaultLifetimeMs = 24 * 60 * 60 * 1000;

/** Limits of joined statements: each locks its keys for a millisecond or two. */
const joining = { most: 25, atOnce: 2, mostWaiting: 1_000 } as const;

/** Creates the store of keys over a pool. */
export function createIdempotencyStore(
  executor: Executor,
  settings: IdempotencySettings,
): IdempotencyStore {
  const leaseMs = settings.leaseMs ?? defaultLeaseMs;
  const lifetimeMs = settings.lifetimeMs ?? defaultLifetimeMs;
  const begin = joinCalls<Claim, Begun>({
    ...joining,
    run: (_group, claims) =>
      inOrder(claims, (ordered) => beginAll(executor, ordered, leaseMs, lifetimeMs)),
  });
  const complete: Complete = joinCalls({
    ...joining,
    run: (_group, runs) => inOrder(runs, (ordered) => completeAll(executor, ordered)),
  });
  const record = (leased: Leased) => recordOutcome(executor, complete, leased);
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
    begin: async (request) => {
      const begun = await begin(groupOf(request), { ...request, owner: randomUUID() });
      if (begun.kind === "begun") leases.keep({ claim: begun.claim, outcome: null });
      return begun;
    },
    complete: (claim, response) => end({ claim, outcome: { kind: "complete", response } }),
    release: async (claim) => void (await end({ claim, outcome: { kind: "release" } })),
    deleteExpired: (atMost) => deleteExpired(executor, atMost),
    stop: leases.stop,
  };
}

/** Requests of different organisations never share a statement, which may wait for a lock. */
function groupOf({ organisationId, apiKeyId }: KeyRequest): string {
  return organisationId ?? apiKeyId;
}

/**
 * Runs a statement over requests in the order of their keys, so that two statements with the same
 * keys never deadlock. Returns the answers in the order of the requests.
 */
async function inOrder<Request extends KeyRequest, Answer>(
  requests: readonly Request[],
  run: (ordered: readonly Request[]) => Promise<readonly Answer[]>,
): Promise<readonly Answer[]> {
  const ordered = requests.toSorted(byKey);
  const answers = await run(ordered);
  const byRequest = new Map(ordered.map((request, place) => [request, answers[place] as Answer]));
  return requests.map((request) => byRequest.get(request) as Answer);
}

function byKey(left: KeyRequest, right: KeyRequest): number {
  const [a, b] = [left.apiKeyId + left.key, right.apiKeyId + right.key];
  return a < b ? -1 : Number(a > b);
}

interface BeginRow {
  readonly place: number;
  readonly outcome: Begun["kind"];
  readonly response: Buffer | null;
}

const beginText = `SELECT r.place::integer AS place, b.outcome, b.response
  FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::bytea[], $7::uuid[])
      WITH ORDINALITY
      AS r (api_key_id, key, organisation_id, operation, path, fingerprint, owner, place)
    CROSS JOIN LATERAL begin_idempotent_request(r.api_key_id, r.key, r.organisation_id,
      r.operation, r.path, r.fingerprint, r.owner, $8 * interval '1 ms', $9 * interval '1 ms') b`;

/** Returns the outcome of each claim, in their order. */
async function beginAll(
  executor: Executor,
  claims: readonly Claim[],
  leaseMs: number,
  lifetimeMs: number,
): Promise<readonly Begun[]> {
  const values = [
    claims.map(({ apiKeyId }) => apiKeyId),
    claims.map(({ key }) => key),
    claims.map(({ organisationId }) => organisationId),
    claims.map(({ operation }) => operation),
    claims.map(({ path }) => path),
    claims.map(({ fingerprint }) => Buffer.from(fingerprint)),
    claims.map(({ owner }) => owner),
    leaseMs,
    lifetimeMs,
  ];
  const { rows } = await executor.query<BeginRow>(
    plannedOnce({ name: "begin_idempotent_requests", text: beginText, values }),
  );
  const byPlace = new Map(rows.map((row) => [row.place, row]));
  return claims.map((claim, index) => readBegun(claim, byPlace.get(index + 1)));
}

function readBegun(claim: Claim, row: BeginRow | undefined): Begun {
  if (row === undefined) throw new Error("begin_idempotent_request returned nothing");
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

/** A run that ended, with its response. */
interface EndedRun extends Claim {
  readonly answer: Buffer;
}

/** Completes a claim. Returns the response that another run has stored, or null. */
type Complete = JoinedCall<EndedRun, Buffer | null>;

const completeText = `SELECT r.place::integer AS place,
    complete_idempotent_request(r.api_key_id, r.key, r.owner, r.fingerprint, r.response) AS other
  FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::bytea[], $5::bytea[]) WITH ORDINALITY
    AS r (api_key_id, key, owner, fingerprint, response, place)`;

async function completeAll(
  executor: Executor,
  runs: readonly EndedRun[],
): Promise<readonly (Buffer | null)[]> {
  const values = [
    runs.map(({ apiKeyId }) => apiKeyId),
    runs.map(({ key }) => key),
    runs.map(({ owner }) => owner),
    runs.map(({ fingerprint }) => Buffer.from(fingerprint)),
    runs.map(({ answer }) => answer),
  ];
  const { rows } = await executor.query<{ place: number; other: Buffer | null }>(
    plannedOnce({ name: "complete_idempotent_requests", text: completeText, values }),
  );
  const byPlace = new Map(rows.map(({ place, other }) => [place, other]));
  return runs.map((_, index) => byPlace.get(index + 1) ?? null);
}

/** Completes or releases a claim. A repeat changes nothing. */
async function recordOutcome(
  executor: Executor,
  complete: Complete,
  { claim, outcome }: Leased,
): Promise<Uint8Array | null> {
  if (outcome === null) return null;
  if (outcome.kind === "release") {
    const { apiKeyId, key, owner } = claim;
    await callFunction(executor, "release_idempotent_request", apiKeyId, key, owner);
    return null;
  }
  const response = Buffer.from(outcome.response);
  const other = await complete(groupOf(claim), { ...claim, answer: response });
  // The first attempt may have been stored although its answer was lost. The stored response is
  // then our own.
  return other === null || response.equals(other) ? null : other;
}

async function renew(executor: Executor, claims: readonly Claim[], leaseMs: number): Promise<void> {
  const ordered = claims.toSorted(byKey);
  await callFunction(
    executor,
    "renew_idempotent_requests",
    ordered.map(({ apiKeyId }) => apiKeyId),
    ordered.map(({ key }) => key),
    ordered.map(({ owner }) => owner),
    { ms: leaseMs },
  );
}

async function deleteExpired(executor: Executor, atMost: number): Promise<number> {
  const { delete_expired_idempotency_keys: deleted } = await callFunction<{
    delete_expired_idempotency_keys: number;
  }>(executor, "delete_expired_idempotency_keys", atMost);
  return deleted;
}
