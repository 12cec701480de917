/** Idempotency keys have one owner at a time, and become usable again (IDEMPOTENCY-2). */
import { createHash, randomUUID } from "node:crypto";
import type pg from "pg";
import { describe, expect, vi } from "vitest";
import {
  type Begun,
  type Claim,
  createIdempotencyStore,
  deleteExpiredKeys,
  type IdempotencyStore,
  type KeyRequest,
} from "../../../src/store/access/idempotency.ts";
import { perFile, stopInTime } from "../../support/file-fixture.ts";
import { databaseTest } from "../../support/fixtures.ts";
import { insertKey, type StoredKey } from "../../support/organisation-builder.ts";
import { testPool } from "../../support/pool.ts";
import { tables } from "../../support/rows.ts";
import { allow } from "../../support/slowness.ts";

const stores: IdempotencyStore[] = [];

const test = databaseTest
  .extend("pools", perFile, ({ database }, { onCleanup }) => {
    const pools = ["one", "two"].map((name) => testPool(database.url, 8, name));
    onCleanup(() =>
      stopInTime(async () => {
        await Promise.all(stores.map((store) => store.stop()));
        await Promise.all(pools.map((one) => one.end()));
      }),
    );
    return pools;
  })
  .extend("pool", perFile, ({ pools }) => pools[0] as pg.Pool)
  .extend("apiKey", perFile, ({ pool }) => insertKey(pool));

test.beforeEach(async ({ pool }) => {
  await Promise.all(stores.splice(0).map((store) => store.stop()));
  await tables(pool).idempotencyKey.deleteMany();
});

function storeOver(
  pool: pg.Pool,
  over: Pick<pg.Pool, "query"> = pool,
  leaseMs = 60_000,
): IdempotencyStore {
  const store = createIdempotencyStore(over, { leaseMs, onTrouble: () => undefined });
  stores.push(store);
  return store;
}

function requestOf(
  apiKey: StoredKey,
  body: string,
  key = "order-1",
  of: StoredKey = apiKey,
): KeyRequest {
  const fingerprint = createHash("sha256").update(body).digest();
  const { apiKeyId, organisationId } = of;
  return {
    apiKeyId,
    organisationId,
    key,
    operation: "billing.v1.Test/Do",
    path: "/v1/test",
    fingerprint,
  };
}

async function claimOf(store: IdempotencyStore, request: KeyRequest): Promise<Claim> {
  const begun = await store.begin(request);
  if (begun.kind !== "begun") throw new Error(`expected to begin, but: ${begun.kind}`);
  return begun.claim;
}

/** Returns the claim of a killed process. The claim stays, and no process renews it. */
async function killedClaim(pool: pg.Pool, request: KeyRequest): Promise<Claim> {
  const store = createIdempotencyStore(pool, { leaseMs: 60_000, onTrouble: () => undefined });
  const claim = await claimOf(store, request);
  await store.stop();
  return claim;
}

/** The index of the lease's length in the values of each statement. */
const leaseAt: Readonly<Record<string, number>> = {
  begin_idempotent_request: 7,
  renew_idempotent_requests: 3,
};

/** Returns a pool whose leases last a minute, so that none expires while the machine stalls. */
function longLeased(query: (config: pg.QueryConfig) => Promise<unknown>): pg.Pool {
  const withLongLease = (config: pg.QueryConfig) => {
    const at = leaseAt[config.name ?? ""];
    return query(
      at === undefined ? config : { ...config, values: (config.values ?? []).with(at, 60_000) },
    );
  };
  return { query: withLongLease } as unknown as pg.Pool;
}

const expireLease = (pool: pg.Pool) =>
  pool.query("UPDATE idempotency_keys SET lease_until = clock_timestamp() - interval '1 ms'");
const expireKeys = (pool: pg.Pool) =>
  pool.query("UPDATE idempotency_keys SET expires_at = clock_timestamp() - interval '1 ms'");
const response = Buffer.from("the response");

describe("a key", () => {
  test.for([
    2, 10, 100,
  ])("begun %i times over two processes has exactly one owner, twenty times", async (parallel, {
    pools,
    pool,
    apiKey,
  }) => {
    const both = pools.map((one) => storeOver(pool, one));
    for (let trial = 0; trial < 20; trial++) {
      const begun = await Promise.all(
        Array.from(
          { length: parallel },
          (_, index) =>
            both[index % 2]?.begin(requestOf(apiKey, "same", `trial-${trial}`)) as Promise<Begun>,
        ),
      );
      expect(begun.filter(({ kind }) => kind === "begun")).toHaveLength(1);
      expect(begun.filter(({ kind }) => kind === "running")).toHaveLength(parallel - 1);
    }
  });

  test("that succeeded replays its response, byte for byte", async ({ pool, apiKey }) => {
    const store = storeOver(pool);
    expect(
      await store.complete(await claimOf(store, requestOf(apiKey, "same")), response),
    ).toBeNull();
    expect(await store.begin(requestOf(apiKey, "same"))).toEqual({ kind: "replay", response });
  });

  test("conflicts with another request, while it runs and after it is done", async ({
    pool,
    apiKey,
  }) => {
    const store = storeOver(pool);
    const claim = await claimOf(store, requestOf(apiKey, "one"));
    expect(await store.begin(requestOf(apiKey, "other"))).toEqual({ kind: "conflict" });
    await store.complete(claim, response);
    expect(await store.begin(requestOf(apiKey, "other"))).toEqual({ kind: "conflict" });
  });

  test("that failed is free for the same and for a corrected request", async ({ pool, apiKey }) => {
    const store = storeOver(pool);
    await store.release(await claimOf(store, requestOf(apiKey, "wrong")));
    await store.release(await claimOf(store, requestOf(apiKey, "wrong")));
    expect((await store.begin(requestOf(apiKey, "right"))).kind).toBe("begun");
  });

  test("belongs to its API key", async ({ pool, apiKey }) => {
    const store = storeOver(pool);
    await claimOf(store, requestOf(apiKey, "one"));
    expect(
      (await store.begin(requestOf(apiKey, "other", "order-1", await insertKey(pool)))).kind,
    ).toBe("begun");
  });

  test("of a killed process works again once its lease has expired", async ({ pool, apiKey }) => {
    const store = storeOver(pool);
    await killedClaim(pool, requestOf(apiKey, "same"));
    expect((await store.begin(requestOf(apiKey, "same"))).kind).toBe("running");
    await expireLease(pool);
    const begun = await Promise.all(
      Array.from({ length: 10 }, () => store.begin(requestOf(apiKey, "same"))),
    );
    expect(begun.filter(({ kind }) => kind === "begun")).toHaveLength(1);
  });

  test("is new after its 24 hours, also for another request", async ({ pool, apiKey }) => {
    const store = storeOver(pool);
    await store.complete(await claimOf(store, requestOf(apiKey, "one")), response);
    const { rows } = await pool.query(
      "SELECT expires_at - created_at = interval '24 hours' AS day FROM idempotency_keys",
    );
    expect(rows).toEqual([{ day: true }]);
    await expireKeys(pool);
    expect((await store.begin(requestOf(apiKey, "other"))).kind).toBe("begun");
  });
});

describe("requests that come together", () => {
  test("have each its own outcome", async ({ pool, apiKey }) => {
    const store = storeOver(pool);
    const other = await insertKey(pool);
    await store.complete(await claimOf(store, requestOf(apiKey, "same", "done")), response);
    await claimOf(store, requestOf(apiKey, "same", "running"));
    const begun = await Promise.all([
      store.begin(requestOf(apiKey, "same", "running")),
      store.begin(requestOf(apiKey, "same", "new-2")),
      store.begin(requestOf(apiKey, "same", "done")),
      store.begin(requestOf(apiKey, "other", "done")),
      store.begin(requestOf(apiKey, "same", "new-1")),
      store.begin(requestOf(apiKey, "same", "new-1", other)),
    ]);
    expect(begun).toMatchObject([
      { kind: "running" },
      { kind: "begun", claim: { key: "new-2", apiKeyId: apiKey.apiKeyId } },
      { kind: "replay", response },
      { kind: "conflict" },
      { kind: "begun", claim: { key: "new-1", apiKeyId: apiKey.apiKeyId } },
      { kind: "begun", claim: { key: "new-1", apiKeyId: other.apiKeyId } },
    ]);
    const claims = begun.flatMap((one) => (one.kind === "begun" ? [one.claim] : []));
    const responseOf = ({ key, apiKeyId }: Claim) => Buffer.from(`${key} of ${apiKeyId}`);
    await Promise.all(claims.map((claim) => store.complete(claim, responseOf(claim))));
    for (const claim of claims)
      expect(await store.begin(claim)).toEqual({ kind: "replay", response: responseOf(claim) });
  });

  test("never deadlock with those of another process, in whatever order they come", async ({
    pools,
    pool,
    apiKey,
  }) => {
    const [one, two] = pools.map((each) => storeOver(pool, each));
    for (let trial = 0; trial < 20; trial++) {
      const requests = Array.from({ length: 20 }, (_, index) =>
        requestOf(apiKey, "same", `${trial}-${index}`),
      );
      const begun = await Promise.all([
        ...requests.map((request) => one?.begin(request)),
        ...requests.toReversed().map((request) => two?.begin(request)),
      ]);
      expect(begun.filter((each) => each?.kind === "begun")).toHaveLength(requests.length);
    }
    const { rows } = await pool.query<{ deadlocks: string }>(
      "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()",
    );
    expect(rows).toEqual([{ deadlocks: "0" }]);
  });
});

describe("a run whose lease expired", () => {
  test("cannot release or complete the new owner's key, and returns its response", async ({
    pool,
    apiKey,
  }) => {
    const late = await killedClaim(pool, requestOf(apiKey, "same"));
    await expireLease(pool);
    const store = storeOver(pool);
    const claim = await claimOf(store, requestOf(apiKey, "same"));
    await store.release(late);
    expect(await store.complete(late, Buffer.from("late"))).toBeNull();
    expect((await store.begin(requestOf(apiKey, "same"))).kind).toBe("running");
    await store.complete(claim, response);
    expect(await store.complete(late, Buffer.from("late"))).toEqual(response);
    expect(await store.begin(requestOf(apiKey, "same"))).toEqual({ kind: "replay", response });
  });

  test("completes its key if no other run took it over", async ({ pool, apiKey }) => {
    const late = await killedClaim(pool, requestOf(apiKey, "same"));
    await expireLease(pool);
    const store = storeOver(pool);
    expect(await store.complete(late, response)).toBeNull();
    expect(await store.begin(requestOf(apiKey, "same"))).toEqual({ kind: "replay", response });
  });
});

describe("while the process lives", () => {
  test("its leases are renewed, by one statement for all its runs", async ({ pool, apiKey }) => {
    const renewed: number[] = [];
    const counting = longLeased((config) => {
      if (config.name === "renew_idempotent_requests")
        renewed.push((config.values?.[0] as unknown[]).length);
      return pool.query(config);
    });
    const store = storeOver(pool, counting, 1_500);
    await Promise.all(["a", "b", "c"].map((key) => claimOf(store, requestOf(apiKey, "same", key))));
    const first = await leases(pool);
    await vi.waitFor(
      async () => expect(Math.min(...(await leases(pool)))).toBeGreaterThan(Math.max(...first)),
      {
        timeout: allow(20_000),
      },
    );
    expect(renewed).toContain(3);
    expect((await store.begin(requestOf(apiKey, "same", "a"))).kind).toBe("running");
  });

  test("a response that could not be stored is returned, and stored later", async ({
    pool,
    apiKey,
  }) => {
    let broken = true;
    const troubles: unknown[] = [];
    const flaky = longLeased((config) =>
      broken && config.name === "complete_idempotent_request"
        ? Promise.reject(new Error("Connection terminated unexpectedly"))
        : pool.query(config),
    );
    const store = createIdempotencyStore(flaky, {
      leaseMs: 1_500,
      onTrouble: (error) => troubles.push(error),
    });
    stores.push(store);
    expect(
      await store.complete(await claimOf(store, requestOf(apiKey, "same")), response),
    ).toBeNull();
    await vi.waitFor(() => expect(troubles.length).toBeGreaterThan(2), { timeout: allow(20_000) });
    expect((await store.begin(requestOf(apiKey, "same"))).kind).toBe("running");
    broken = false;
    await vi.waitFor(
      async () =>
        expect(await store.begin(requestOf(apiKey, "same"))).toEqual({ kind: "replay", response }),
      {
        timeout: allow(20_000),
      },
    );
  });
});

test("only expired keys are deleted, in bounded batches", async ({ pool, apiKey }) => {
  const store = storeOver(pool);
  for (const key of ["a", "b", "c", "d"])
    await store.complete(await claimOf(store, requestOf(apiKey, "same", key)), response);
  await pool.query(
    `UPDATE idempotency_keys SET expires_at = clock_timestamp() - interval '1 hour'
      WHERE key <> 'd'`,
  );
  expect([
    await deleteExpiredKeys(pool, 2),
    await deleteExpiredKeys(pool, 2),
    await deleteExpiredKeys(pool, 2),
  ]).toEqual([2, 1, 0]);
  expect(await tables(pool).idempotencyKey.findMany()).toMatchObject([{ key: "d" }]);
});

test("a claim cannot be released with the id of another owner", async ({ pool, apiKey }) => {
  const store = storeOver(pool);
  const claim = await claimOf(store, requestOf(apiKey, "same"));
  await store.release({ ...claim, owner: randomUUID() });
  expect((await store.begin(requestOf(apiKey, "same"))).kind).toBe("running");
});

async function leases(pool: pg.Pool): Promise<number[]> {
  const keys = await tables(pool).idempotencyKey.findMany();
  return keys.map(({ leaseUntil }) => leaseUntil.getTime());
}
