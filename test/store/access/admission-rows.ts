/** Inserts organisations and API keys for tests of admission and idempotency. */
import { randomUUID } from "node:crypto";
import type pg from "pg";
import { generateApiKey } from "../../../src/transport/rpc/gate/api-key.ts";

/** A key in the database. */
export interface StoredKey {
  readonly apiKeyId: string;
  readonly organisationId: string;
  readonly hash: Buffer;
  readonly value: string;
}

/** Inserts an organisation and returns its id. With `testClock` it is a sandbox. */
export async function insertOrganisation(
  pool: pg.Pool,
  testClock: Date | null = null,
): Promise<string> {
  const id = randomUUID();
  await pool.query(
    `INSERT INTO organisations (id, name, timezone, default_currency, livemode, test_clock)
      VALUES ($1, 'Acme', 'UTC', 'EUR', $2, $3)`,
    [id, testClock === null, testClock],
  );
  return id;
}

/** Inserts a key of the organisation. Without one, it inserts the organisation too. */
export async function insertKey(
  pool: pg.Pool,
  members: {
    readonly organisationId?: string;
    readonly expiresAt?: Date;
    readonly revokedAt?: Date;
    readonly scopes?: string[];
  } = {},
): Promise<StoredKey> {
  const organisationId = members.organisationId ?? (await insertOrganisation(pool));
  const { value, hash, hint } = generateApiKey(true);
  const apiKeyId = randomUUID();
  await pool.query(
    `INSERT INTO api_keys (id, organisation_id, name, key_hash, hint, scopes, expires_at,
      revoked_at)
     VALUES ($1, $2, 'test', $3, $4, $5, $6, $7)`,
    [
      apiKeyId,
      organisationId,
      hash,
      hint,
      members.scopes ?? ["subscriptions:read"],
      members.expiresAt ?? null,
      members.revokedAt ?? null,
    ],
  );
  return { apiKeyId, organisationId, hash, value };
}
