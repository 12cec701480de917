/** Organisations and API keys as rows, for tests without a catalogue and a ledger. */
import type pg from "pg";
import { newId } from "../../src/store/database/ids.ts";
import { generateApiKey } from "../../src/transport/rpc/gate/api-key.ts";

/** Fields that differ from those of a live organisation in euros. */
export interface OrganisationFields {
  readonly currency?: string;
  /** The clock of a sandbox. */
  readonly testClock?: Date | null;
}

/** Adds an organisation in UTC and returns its id. With `testClock` it is a sandbox. */
export async function addOrganisation(
  pool: pg.Pool,
  { currency = "EUR", testClock = null }: OrganisationFields = {},
): Promise<string> {
  const id = newId();
  await pool.query(
    `INSERT INTO organisations (id, name, timezone, default_currency, livemode, test_clock,
        number_prefix)
      VALUES ($1, 'Acme', 'UTC', $2, $3, $4, 'INV-')`,
    [id, currency, testClock === null, testClock],
  );
  return id;
}

/** A key in the database. */
export interface StoredKey {
  readonly apiKeyId: string;
  readonly organisationId: string;
  readonly hash: Buffer;
  readonly value: string;
}

/** Fields that differ from those of a live key that reads subscriptions. */
export interface KeyFields {
  readonly organisationId?: string;
  readonly livemode?: boolean;
  readonly scopes?: readonly string[];
  readonly expiresAt?: Date | null;
  readonly revokedAt?: Date | null;
}

/** Adds a key of the organisation. Without one, it adds the organisation too. */
export async function insertKey(pool: pg.Pool, fields: KeyFields = {}): Promise<StoredKey> {
  const organisationId = fields.organisationId ?? (await addOrganisation(pool));
  const { value, hash, hint } = generateApiKey(fields.livemode ?? true);
  const apiKeyId = newId();
  await pool.query(
    `INSERT INTO api_keys (id, organisation_id, name, key_hash, hint, scopes, expires_at,
      revoked_at)
     VALUES ($1, $2, 'test', $3, $4, $5, $6, $7)`,
    [
      apiKeyId,
      organisationId,
      hash,
      hint,
      fields.scopes ?? ["subscriptions:read"],
      fields.expiresAt ?? null,
      fields.revokedAt ?? null,
    ],
  );
  return { apiKeyId, organisationId, hash, value };
}

/** A key of an organisation with these scopes, as a client has it. */
export async function addApiKey(
  pool: pg.Pool,
  organisationId: string,
  scopes: readonly string[],
  fields: Pick<KeyFields, "livemode" | "expiresAt"> = {},
): Promise<{ readonly id: string; readonly value: string }> {
  const { apiKeyId, value } = await insertKey(pool, { organisationId, scopes, ...fields });
  return { id: apiKeyId, value };
}
