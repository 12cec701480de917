/** Signing secrets under a new key: all are encrypted with it, but what nobody can open. */
import { randomBytes } from "node:crypto";
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { reencryptEndpoints } from "../../../src/store/events/reencrypt-signing-secrets.ts";
import { openSecrets } from "../../admin/services/webhook-rows.ts";
import { type FreshDatabase, freshDatabase } from "../../support/database.ts";
import { testPool } from "../../support/pool.ts";
import { webhookRows } from "../../support/webhook-rows.ts";

let database: FreshDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await freshDatabase();
  pool = testPool(database.url, 3);
});

afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

test("a new key encrypts every endpoint's secrets anew, page by page, and one of an unknown key holds up no other", async () => {
  const [lost, old, next] = [randomBytes(32), randomBytes(32), randomBytes(32)];
  const rows = webhookRows(pool, createEncryption(old));
  const organisationId = await rows.organisation();
  const made = [
    await rows.endpoint(organisationId, "https://a.example/"),
    await rows.endpoint(organisationId, "https://b.example/"),
  ];
  const [plain, rotated] = made;
  if (plain === undefined || rotated === undefined) throw new Error("two endpoints were made");
  const newest = await rows.rotate(rotated, 60);
  const encryption = createEncryption(next, [old]);
  // A process whose key is still the old one, and that was given the next: the first step of a change on many machines.
  const early = createEncryption(old, [next]);
  expect([
    await reencryptEndpoints(pool, encryption, 1),
    await reencryptEndpoints(pool, encryption, 1),
  ]).toEqual([1, 1]);
  expect(await reencryptEndpoints(pool, encryption, 1)).toBe(0);
  const alone = createEncryption(next);
  expect(await openSecrets(pool, alone, plain.id)).toEqual([plain.secret]);
  expect(await openSecrets(pool, alone, rotated.id)).toEqual([newest, rotated.secret]);
  expect(await openSecrets(pool, early, rotated.id)).toEqual([newest, rotated.secret]);
  await expect(openSecrets(pool, createEncryption(old), rotated.id)).rejects.toThrow(
    "encrypted with key",
  );
  // Until the last one has changed such a process encrypts with the old key, which opens everywhere; then all is encrypted with the next.
  expect([
    await reencryptEndpoints(pool, early, 10),
    await reencryptEndpoints(pool, encryption, 10),
  ]).toEqual([2, 2]);
  expect(await openSecrets(pool, alone, rotated.id)).toEqual([newest, rotated.secret]);

  const other = await webhookRows(pool, createEncryption(lost)).endpoint(
    organisationId,
    "https://c.example/",
  );
  const last = createEncryption(randomBytes(32), [next]);
  await expect(reencryptEndpoints(pool, last, 10)).rejects.toThrow("encrypted with key");
  expect(await openSecrets(pool, last, rotated.id)).toEqual([newest, rotated.secret]);
  expect(await openSecrets(pool, createEncryption(lost), other.id)).toEqual([other.secret]);
  const { rows: keys } = await pool.query(
    "SELECT DISTINCT encryption_key_id FROM webhook_endpoints",
  );
  expect(keys).toHaveLength(2);
});
