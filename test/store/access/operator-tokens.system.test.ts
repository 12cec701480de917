/**
 * Operators' admission on real PostgreSQL. Valid tokens are admitted, and a flood of unknown ones
 * leaves the pool to the API.
 */
import { randomBytes } from "node:crypto";
import type pg from "pg";
import { expect } from "vitest";
import { createAccess } from "../../../src/store/access/api-keys.ts";
import { createOperatorAccess } from "../../../src/store/access/operator-tokens.ts";
import { newId } from "../../../src/store/database/ids.ts";
import { perFile, stopInTime } from "../../support/file-fixture.ts";
import { databaseTest } from "../../support/fixtures.ts";
import { insertKey } from "../../support/organisation-builder.ts";
import { testPool } from "../../support/pool.ts";
import { tables } from "../../support/rows.ts";

/** As many connections as the API has by default. */
const poolSize = 10;

const test = databaseTest.extend("pool", perFile, async ({ database }, { onCleanup }) => {
  const pool = testPool(database.url, poolSize);
  onCleanup(() => stopInTime(() => pool.end()));
  return pool;
});

/**
 * Returns a pool that is patient enough for a slow machine. It counts the statements with this
 * name: those that run at once, and all.
 */
function countingPool(pool: pg.Pool, name: string) {
  const seen = { running: 0, atOnce: 0, statements: 0 };
  const query = async (statement: pg.QueryConfig) => {
    if (statement.name !== name) return pool.query(statement);
    seen.statements += 1;
    seen.running += 1;
    seen.atOnce = Math.max(seen.atOnce, seen.running);
    try {
      return await pool.query({ ...statement, query_timeout: 60_000 } as pg.QueryConfig);
    } finally {
      seen.running -= 1;
    }
  };
  return { pool: { query } as pg.Pool, seen };
}

/** The hash of an operator's token, and the ids of both. */
async function insertOperator(pool: pg.Pool, role: string, revoked = false) {
  const [operatorId, tokenId, hash] = [newId(), newId(), randomBytes(32)];
  await pool.query("INSERT INTO operators (id, name, role) VALUES ($1, 'Ada', $2)", [
    operatorId,
    role,
  ]);
  await pool.query(
    `INSERT INTO operator_tokens (id, operator_id, name, token_hash, hint, revoked_at)
      VALUES ($1, $2, 'Test', $3, 'hint', CASE WHEN $4 THEN now() END)`,
    [tokenId, operatorId, hash, revoked],
  );
  return { operatorId, tokenId, hash };
}

test("operators admitted together get separate answers, and each token its last use", async ({
  pool,
}) => {
  const { operatorId, tokenId, hash } = await insertOperator(pool, "owner");
  const [other, revoked] = [
    await insertOperator(pool, "read-only"),
    await insertOperator(pool, "admin", true),
  ];
  const { pool: counted, seen } = countingPool(pool, "admit_operators");
  const access = createOperatorAccess(counted);
  const owner = { operatorId, tokenId, name: "Ada", role: "owner" };
  const hashes = [hash, randomBytes(32), other.hash, revoked.hash, hash];
  expect(await Promise.all(hashes.map((one) => access.admit(one)))).toEqual([
    owner,
    null,
    { operatorId: other.operatorId, tokenId: other.tokenId, name: "Ada", role: "read-only" },
    null,
    owner,
  ]);
  expect(seen.statements).toBeLessThan(hashes.length);
  const rows = await tables(pool).operatorToken.findMany({
    where: { lastUsedAt: { not: null } },
    orderBy: { id: "asc" },
    select: { id: true },
  });
  expect(rows.map(({ id }) => id)).toEqual([tokenId, other.tokenId].sort());
});

test("300 unknown tokens share one connection in few statements", async ({ pool }) => {
  const key = await insertKey(pool);
  const { pool: counted, seen } = countingPool(pool, "admit_operators");
  const operators = createOperatorAccess(counted);
  const keys = createAccess(countingPool(pool, "admit_api_keys").pool);
  const unknown = () => operators.admit(randomBytes(32));
  let isOver = false;
  let refusals = 0;
  const waits: number[] = [];
  const flood = Array.from({ length: 300 }, async () => {
    while (!isOver) {
      expect(await unknown()).toBeNull();
      refusals += 1;
    }
  });
  for (let asked = 0; asked < 100; asked += 1) {
    const answer = keys.admit(key.hash);
    waits.push(pool.waitingCount);
    expect(await answer).toMatchObject({ kind: "admitted" });
  }
  isOver = true;
  await Promise.all(flood);
  expect(seen.atOnce).toBe(1);
  expect(seen.statements).toBeLessThan(refusals / 10);
  // Statements that reach an idle connection at this moment are counted too.
  expect(Math.max(...waits), "statements that wait for a connection").toBeLessThan(poolSize);
});
