/**
 * Re-encrypts the signing secrets of webhook endpoints with the current key, so that an old key can
 * be retired without any organisation's action (ADMIN-3).
 */
import type { WebhookEndpoint } from "../../gen/prisma/client.ts";
import type { Encryption } from "../database/encryption.ts";
import { db, dbOfAll } from "../database/prisma/client.ts";
import type { Executor } from "../database/sql/statement.ts";
import { endpointSecretBound } from "./deliveries.ts";

const encryptedColumns = {
  organisationId: true,
  id: true,
  encryptedSecret: true,
  encryptionKeyId: true,
  encryptedPrevious: true,
  previousKeyId: true,
} as const;

type EncryptedEndpoint = Pick<WebhookEndpoint, keyof typeof encryptedColumns>;

/**
 * Re-encrypts up to `atMost` endpoints' secrets that an older key encrypted, and returns how many.
 * If one was encrypted with an unknown key, the others are still re-encrypted. Then it rejects.
 */
export async function reencryptEndpoints(
  executor: Executor,
  encryption: Encryption,
  atMost: number,
): Promise<number> {
  // Encrypting an empty secret returns the current key's id.
  const { keyId } = encryption.encrypt("", "");
  const endpoints = await dbOfAll(executor).webhookEndpoint.findMany({
    where: { OR: [{ encryptionKeyId: { not: keyId } }, { previousKeyId: { not: keyId } }] },
    select: encryptedColumns,
    orderBy: [{ organisationId: "asc" }, { id: "asc" }],
    take: atMost,
  });
  const failures: unknown[] = [];
  for (const endpoint of endpoints) {
    await reencryptOne(executor, encryption, endpoint).catch((error: unknown) =>
      failures.push(error),
    );
  }
  if (failures.length > 0) throw failures[0];
  return endpoints.length;
}

/**
 * Compares the secrets with the ones that were read, so that a concurrent rotation is not
 * overwritten. The next run re-encrypts what a rotation has written.
 */
async function reencryptOne(
  executor: Executor,
  encryption: Encryption,
  endpoint: EncryptedEndpoint,
): Promise<void> {
  const { organisationId, id, encryptedSecret, encryptedPrevious, previousKeyId } = endpoint;
  const bound = endpointSecretBound(id);
  const reencrypt = (secret: Uint8Array, by: string) => {
    const text = encryption.decrypt({ bytes: Buffer.from(secret), keyId: by }, bound);
    const { bytes, keyId } = encryption.encrypt(text, bound);
    return { bytes: Uint8Array.from(bytes), keyId };
  };
  const current = reencrypt(encryptedSecret, endpoint.encryptionKeyId);
  const previous =
    encryptedPrevious === null || previousKeyId === null
      ? { bytes: null, keyId: null }
      : reencrypt(encryptedPrevious, previousKeyId);
  await db(executor).webhookEndpoint.updateMany({
    where: { organisationId, id, encryptedSecret, encryptedPrevious },
    data: {
      encryptedSecret: current.bytes,
      encryptionKeyId: current.keyId,
      encryptedPrevious: previous.bytes,
      previousKeyId: previous.keyId,
    },
  });
}
