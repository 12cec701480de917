/** The signing secrets of webhook endpoints sealed anew with the key of now, so that a key of before can go without a platform's doing. */
import type pg from "pg";
import type { Encryption } from "../database/encryption.ts";
import { inTransaction } from "../database/pool.ts";
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
 * Seals up to `atMost` endpoints' secrets anew that another key than the newest had sealed; the result is how many. Where one was sealed with
 * a key that is not known here, the others are sealed all the same, and then it rejects.
 */
export async function reencryptEndpoints(pool: pg.Pool, sealing: Encryption, atMost: number): Promise<number> {
  // What a key is called is told by what it seals.
  const { keyId } = sealing.seal("", "");
  const { rows } = await pool.query<{ organisation_id: string; id: string }>({
    text: `SELECT organisation_id, id FROM webhook_endpoints WHERE ${encryptedBefore} ORDER BY organisation_id, id LIMIT $2`,
    values: [keyId, atMost],
  });
  const failures: unknown[] = [];
  for (const { organisation_id: organisationId, id } of rows) {
    await reencryptOne(pool, sealing, keyId, organisationId, id).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
  return rows.length;
}

/** Held, so that no rotation is written over. */
async function reencryptOne(
  pool: pg.Pool,
  sealing: Encryption,
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
    const anew = (bytes: Buffer, by: string) => sealing.seal(sealing.open({ bytes, keyId: by }, bound), bound).bytes;
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
