/** Signing secrets are re-encrypted with a new key, except those of an unknown key. ADMIN-3. */
import { randomBytes } from "node:crypto";
import type pg from "pg";
import { expect } from "vitest";
import { createEncryption } from "../../../src/store/database/encryption.ts";
import { reencryptEndpoints } from "../../../src/store/events/reencrypt-signing-secrets.ts";
import { databaseTest as test } from "../../support/fixtures.ts";
import { openSecrets, webhookBuilder } from "../../support/webhook-builder.ts";

test("a new key re-encrypts all secrets, and one of an unknown key stops no other", async ({
  pool,
}) => {
  const [lost, old, next] = [randomBytes(32), randomBytes(32), randomBytes(32)];
  const rows = webhookBuilder(pool, createEncryption(old));
  const organisationId = await rows.organisation();
  const endpoints = [
    await rows.endpoint(organisationId, "https://a.example/"),
    await rows.endpoint(organisationId, "https://b.example/"),
  ];
  const [plain, rotated] = endpoints;
  if (plain === undefined || rotated === undefined) throw new Error("two endpoints were expected");
  const newest = await rows.rotate(rotated, 60);
  const encryption = createEncryption(next, [old]);
  // A process with the old key that also knows the next one: the first step of a rotation on many
  // machines.
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
  // Until the last process has changed, such a process encrypts with the old key, which all of them
  // know. Then everything is encrypted with the next key.
  expect([
    await reencryptEndpoints(pool, early, 10),
    await reencryptEndpoints(pool, encryption, 10),
  ]).toEqual([2, 2]);
  expect(await openSecrets(pool, alone, rotated.id)).toEqual([newest, rotated.secret]);

  const other = await webhookBuilder(pool, createEncryption(lost)).endpoint(
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

test("a rotation between the read and the write is not overwritten", async ({ pool }) => {
  const [old, next] = [randomBytes(32), randomBytes(32)];
  const rows = webhookBuilder(pool, createEncryption(old));
  const endpoint = await rows.endpoint(await rows.organisation(), "https://d.example/");
  const first = await rows.rotate(endpoint, 60);
  const rotated: string[] = [];
  const executor = {
    query: async (statement: pg.QueryConfig, ...others: []) => {
      const isWrite =
        statement.text.startsWith("UPDATE") &&
        JSON.stringify([statement, others]).includes(endpoint.id);
      if (isWrite && rotated.length === 0) rotated.push(await rows.rotate(endpoint, 60));
      return pool.query(statement, ...others);
    },
  } as unknown as pg.Pool;
  const encryption = createEncryption(next, [old]);
  await reencryptEndpoints(executor, encryption, 100).catch(() => undefined);
  expect(rotated).toHaveLength(1);
  expect(await openSecrets(pool, encryption, endpoint.id)).toEqual([rotated[0], first]);
});
