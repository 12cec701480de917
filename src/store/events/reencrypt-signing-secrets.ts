/**
 * Re-encrypts the signing secrets of webhook endpoints with the current key, so that an old key can
 * be retired without any organisation's action (ADMIN-3).
 */
import type { Encryption } from "../database/encryption.ts";
import { inTransaction, type Pool } from "../database/pool.ts";
import { endpointSecretBound } from "./signing-secrets.ts";

interface EncryptedRow {
  organisation_id: string;
  id: string;
  encrypted_secret: Buffer;
  encryption_key_id: string;
  encrypted_previous: Buffer | null;
  previous_key_id: string | null;
}

const encryptedBefore = "(encryption_key_id <> $1 OR previous_key_id <> $1)";

/**
 * Re-encrypts up to `atMost` endpoints' secrets that an older key encrypted, and returns how many.
 * If one was encrypted with an unknown key, the others are still re-encrypted. Then it rejects.
 */
export async function reencryptEndpoints(
  pool: Pool,
  encryption: Encryption,
  atMost: number,
): Promise<number> {
  // Encrypting an empty secret returns the current key's id.
  const { keyId } = encryption.encrypt("", "");
  const { rows } = await pool.query<{ organisation_id: string; id: string }>({
    text: `SELECT organisation_id, id FROM webhook_endpoints WHERE ${encryptedBefore} ORDER BY organisation_id, id LIMIT $2`,
    values: [keyId, atMost],
  });
  const failures: unknown[] = [];
  for (const { organisation_id: organisationId, id } of rows) {
    await reencryptOne(pool, encryption, keyId, organisationId, id).catch((error: unknown) =>
      failures.push(error),
    );
  }
  if (failures.length > 0) throw failures[0];
  return rows.length;
}

/** The row is locked, so that a concurrent rotation is not overwritten. */
async function reencryptOne(
  pool: Pool,
  encryption: Encryption,
  keyId: string,
  organisationId: string,
  id: string,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const { rows } = await client.query<EncryptedRow>({
      text: `SELECT encrypted_secret, encryption_key_id, encrypted_previous, previous_key_id FROM webhook_endpoints
        WHERE ${encryptedBefore} AND organisation_id = $2 AND id = $3 FOR NO KEY UPDATE`,
      values: [keyId, organisationId, id],
    });
    const [row] = rows;
    if (row === undefined) return;
    const bound = endpointSecretBound(id);
    const anew = (bytes: Buffer, by: string) =>
      encryption.encrypt(encryption.decrypt({ bytes, keyId: by }, bound), bound).bytes;
    const { encrypted_previous: previous, previous_key_id: previousKeyId } = row;
    const hasPrevious = previous !== null && previousKeyId !== null;
    await client.query({
      text: `UPDATE webhook_endpoints SET encrypted_secret = $3, encryption_key_id = $4, encrypted_previous = $5, previous_key_id = $6
        WHERE organisation_id = $1 AND id = $2`,
      values: [
        organisationId,
        id,
        anew(row.encrypted_secret, row.encryption_key_id),
        keyId,
        hasPrevious ? anew(previous, previousKeyId) : null,
        hasPrevious ? keyId : null,
      ],
    });
  });
}
