/** Admission knows valid keys only, and no window admits more than its limit (ACCESS-5). */
import pg from "pg";
import { describe, expect } from "vitest";
import { type Admission, createAccess } from "../../../src/store/access/api-keys.ts";
import { isDatabaseUnreachable } from "../../../src/store/database/errors.ts";
import { perFile, stopInTime } from "../../support/file-fixture.ts";
import { databaseTest } from "../../support/fixtures.ts";
import { addOrganisation, insertKey } from "../../support/organisation-builder.ts";
import { testPool } from "../../support/pool.ts";
import { freePort } from "../../support/ports.ts";
import { tables } from "../../support/rows.ts";

const test = databaseTest
  .extend("pools", perFile, ({ database }, { onCleanup }) => {
    const pools = ["one", "two"].map((name) => testPool(database.url, 6, name));
    onCleanup(() => stopInTime(() => Promise.all(pools.map((one) => one.end()))));
    return pools;
  })
  .extend("pool", perFile, ({ pools }) => pools[0] as pg.Pool);

/**
 * A pool that waits longer than the service's three seconds for an admission, on a slow machine.
 */
const patient = (own: pg.Pool) =>
  ({
    query: (statement: pg.QueryConfig) =>
      own.query({ ...statement, query_timeout: 60_000 } as pg.QueryConfig),
  }) as pg.Pool;

const kinds = (admissions: readonly Admission[]) => admissions.map(({ kind }) => kind);
const count = (admissions: readonly Admission[], kind: Admission["kind"]) =>
  kinds(admissions).filter((one) => one === kind).length;

/** Lets time pass for a key's window without waiting. */
async function age(pool: pg.Pool, apiKeyId: string, seconds: number): Promise<void> {
  await pool.query(
    `UPDATE rate_windows SET hits = (SELECT array_agg(hit - $2 * interval '1 second' ORDER BY hit)
      FROM unnest(hits) AS hit)
     WHERE api_key_id = $1`,
    [apiKeyId, seconds],
  );
}

describe("keys", () => {
  test("a valid key brings its organisation's flags and the database's time", async ({ pool }) => {
    const key = await insertKey(pool, { scopes: ["usage:write", "invoices:read"] });
    await tables(pool).organisation.updateMany({
      where: { id: key.organisationId },
      data: { usageAllowed: true, canCreateLedgerContacts: true },
    });
    const before = Date.now();
    const admission = await createAccess(patient(pool)).admit(key.hash);
    expect(admission).toMatchObject({
      kind: "admitted",
      key: {
        apiKeyId: key.apiKeyId,
        organisationId: key.organisationId,
        scopes: ["usage:write", "invoices:read"],
        livemode: true,
        canCreateLedgerContacts: true,
        usageAllowed: true,
      },
      rate: { limit: 120, remaining: 119, resetSeconds: 60 },
    });
    const now = admission.kind === "unknown" ? 0 : admission.key.now.getTime();
    expect(now).toBeGreaterThanOrEqual(before - 1);
    expect(now).toBeLessThanOrEqual(Date.now() + 1);
  });

  test("a sandbox's now is its test clock", async ({ pool }) => {
    const clock = new Date("2031-01-31T12:00:00Z");
    const key = await insertKey(pool, {
      organisationId: await addOrganisation(pool, { testClock: clock }),
    });
    expect(await createAccess(patient(pool)).admit(key.hash)).toMatchObject({
      key: { livemode: false, now: clock },
    });
  });

  test("an unknown, a revoked and an expired key have the same answer", async ({ pool }) => {
    const access = createAccess(patient(pool));
    const past = new Date(Date.now() - 1000);
    const keys = [
      await insertKey(pool, { revokedAt: past }),
      await insertKey(pool, { expiresAt: past }),
    ];
    for (const hash of [Buffer.alloc(32, 7), ...keys.map((key) => key.hash)]) {
      expect(await access.admit(hash)).toEqual({ kind: "unknown" });
    }
  });

  test("a revocation and an expiry apply to the next request", async ({ pool }) => {
    const access = createAccess(patient(pool));
    const [revoked, expired] = [
      await insertKey(pool),
      await insertKey(pool, { expiresAt: new Date(Date.now() + 60_000) }),
    ];
    expect(
      kinds(await Promise.all([access.admit(revoked.hash), access.admit(expired.hash)])),
    ).toEqual(["admitted", "admitted"]);
    await tables(pool).apiKey.updateMany({
      where: { id: revoked.apiKeyId },
      data: { revokedAt: new Date() },
    });
    await tables(pool).apiKey.updateMany({
      where: { id: expired.apiKeyId },
      data: { expiresAt: new Date() },
    });
    expect(
      kinds(await Promise.all([access.admit(revoked.hash), access.admit(expired.hash)])),
    ).toEqual(["unknown", "unknown"]);
  });

  test("the last use is recorded, at most once a minute", async ({ pool }) => {
    const key = await insertKey(pool);
    const access = createAccess(patient(pool));
    const lastUse = async () =>
      (await tables(pool).apiKey.findFirst({ where: { id: key.apiKeyId } }))?.lastUsedAt;
    await access.admit(key.hash);
    const first = await lastUse();
    await access.admit(key.hash);
    expect(await lastUse()).toEqual(first);
    await pool.query(
      "UPDATE api_keys SET last_used_at = last_used_at - interval '61 seconds' WHERE id = $1",
      [key.apiKeyId],
    );
    await access.admit(key.hash);
    expect((await lastUse())?.getTime()).toBeGreaterThan(first?.getTime() ?? 0);
  });
});

describe("the rate limit", () => {
  test("admits exactly 120 of 400 concurrent requests over two processes", async ({
    pools,
    pool,
  }) => {
    const key = await insertKey(pool);
    const accesses = pools.map((one) => createAccess(patient(one)));
    const admissions = await Promise.all(
      Array.from(
        { length: 400 },
        (_, index) => accesses[index % 2]?.admit(key.hash) as Promise<Admission>,
      ),
    );
    expect(count(admissions, "admitted")).toBe(120);
    expect(count(admissions, "limited")).toBe(280);
    const remaining = admissions.flatMap((one) =>
      one.kind === "admitted" ? [one.rate.remaining] : [],
    );
    expect(remaining.sort((a, b) => a - b)).toEqual(
      Array.from({ length: 120 }, (_, index) => index),
    );
  });

  test("counts the requests of the last 60 seconds", async ({ pool }) => {
    const key = await insertKey(pool);
    const access = createAccess(patient(pool), { limitPerMinute: 3 });
    await access.admit(key.hash);
    await age(pool, key.apiKeyId, 30);
    await access.admit(key.hash);
    // Some seconds less on a busy machine.
    const resetSeconds = expect.toSatisfy((seconds) => seconds > 20 && seconds <= 30);
    expect(await access.admit(key.hash)).toMatchObject({
      kind: "admitted",
      rate: { remaining: 0, resetSeconds },
    });
    expect(await access.admit(key.hash)).toMatchObject({
      kind: "limited",
      rate: { remaining: 0, resetSeconds },
    });
    await age(pool, key.apiKeyId, 30);
    expect(kinds([await access.admit(key.hash), await access.admit(key.hash)])).toEqual([
      "admitted",
      "limited",
    ]);
    await age(pool, key.apiKeyId, 60);
    expect(await access.admit(key.hash)).toMatchObject({
      kind: "admitted",
      rate: { remaining: 2, resetSeconds: 60 },
    });
  });

  test("does not count what it refuses", async ({ pool }) => {
    const key = await insertKey(pool);
    const access = createAccess(patient(pool), { limitPerMinute: 2 });
    for (let count = 0; count < 10; count++) await access.admit(key.hash);
    await age(pool, key.apiKeyId, 60);
    expect(kinds([await access.admit(key.hash), await access.admit(key.hash)])).toEqual([
      "admitted",
      "admitted",
    ]);
  });

  test("counts each key alone, and many keys from two processes never deadlock", async ({
    pools,
    pool,
  }) => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => insertKey(pool)));
    const accesses = pools.map((one) => createAccess(patient(one), { limitPerMinute: 30 }));
    const admissions = await Promise.all(
      accesses.flatMap((access, at) =>
        Array.from({ length: 400 }, (_, index) =>
          access.admit(keys[at === 0 ? index % 20 : 19 - (index % 20)]?.hash ?? Buffer.alloc(32)),
        ),
      ),
    );
    expect(count(admissions, "admitted")).toBe(20 * 30);
  });

  test("does not lock a key out after the clock was set back far", async ({ pool }) => {
    const key = await insertKey(pool);
    const access = createAccess(patient(pool), { limitPerMinute: 1 });
    await access.admit(key.hash);
    await age(pool, key.apiKeyId, -3600);
    expect((await access.admit(key.hash)).kind).toBe("admitted");
  });
});

test("requests that arrive during a statement are admitted together by the next one", async ({
  pool,
}) => {
  const sizes: number[] = [];
  const access = createAccess(patient(pool), { onBatch: (size) => sizes.push(size) });
  const keys = await Promise.all(Array.from({ length: 5 }, () => insertKey(pool)));
  const hashes = [...keys.map(({ hash }) => hash), Buffer.alloc(32, 9)];
  const admissions = await Promise.all(hashes.map((hash) => access.admit(hash)));
  expect(admissions.map((one) => (one.kind === "unknown" ? null : one.key.apiKeyId))).toEqual([
    ...keys.map(({ apiKeyId }) => apiKeyId),
    null,
  ]);
  expect(sizes.length).toBeLessThan(hashes.length);
});

test("an unreachable database differs from one that answers an error", async ({ pool }) => {
  const nowhere = new pg.Pool({
    connectionString: `postgresql://x:y@127.0.0.1:${await freePort()}/z`,
    connectionTimeoutMillis: 1000,
  });
  const lost = await createAccess(nowhere)
    .admit(Buffer.alloc(32))
    .catch((error: unknown) => error);
  expect(isDatabaseUnreachable(lost)).toBe(true);
  await nowhere.end();
  const refused = await pool.query("SELECT 1 / 0").catch((error: unknown) => error);
  expect(isDatabaseUnreachable(refused)).toBe(false);
});

test("an admission reads its keys alone, however few others there are", async ({ pool }) => {
  const key = await insertKey(pool);
  await pool.query(
    `INSERT INTO api_keys (id, organisation_id, name, key_hash, hint, scopes)
      SELECT gen_random_uuid(), $1, 'Another', sha256(convert_to(n::text, 'UTF8')), '', '{}'
      FROM generate_series(1, 300) n`,
    [key.organisationId],
  );
  await pool.query("ANALYZE api_keys");
  const client = await pool.connect();
  try {
    // The statistics of the tables are those of this transaction alone.
    await client.query("BEGIN");
    const admission = await createAccess(client).admit(key.hash);
    const { rows } = await client.query(
      `SELECT seq_tup_read::int AS read, idx_scan::int > 0 AS "isIndexed"
        FROM pg_stat_xact_user_tables WHERE relname = 'api_keys'`,
    );
    expect(admission.kind).toBe("admitted");
    expect(rows).toEqual([{ read: 0, isIndexed: true }]);
  } finally {
    await client.query("ROLLBACK");
    client.release();
  }
});
