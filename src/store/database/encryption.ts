/**
 * Encrypts secrets at rest with AES-256-GCM, under a key from the environment. The key's id is
 * stored with each secret, so that keys can be rotated. ADMIN-3.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";

/** An encrypted secret: 12 bytes of nonce, 16 of tag, then the ciphertext. */
interface EncryptedSecret {
  readonly keyId: string;
  readonly bytes: Buffer;
}

/**
 * Encrypts with one key of 32 bytes, and decrypts with it and the earlier ones. `bound` ties a
 * secret to its place: it cannot be decrypted for another place.
 */
export type Encryption = ReturnType<typeof createEncryption>;

/**
 * GCM's standard nonce length. Random nonces are safe, because far fewer than 2^32 secrets are
 * encrypted with one key. NIST SP 800-38D.
 */
const nonceBytes = 12;

/** The full tag of GCM. Without an explicit length Node accepts shorter tags as well. */
const tagBytes = 16;

const wholeTag = { authTagLength: tagBytes };

/**
 * Creates the encryption with this key. Secrets encrypted with one of `earlier` can still be
 * decrypted. A key's id is the head of its hash: it identifies the key and reveals nothing of it.
 */
export function createEncryption(key: Uint8Array, earlier: readonly Uint8Array[] = []) {
  if ([key, ...earlier].some(({ byteLength }) => byteLength !== 32)) {
    throw new Error("SECRET_KEY must be 32 bytes in base64.");
  }
  const keyId = idOf(key);
  const keys = new Map([...earlier, key].map((each) => [idOf(each), each]));
  return {
    encrypt: (secret: string, bound: string): EncryptedSecret => {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", key, nonce, wholeTag).setAAD(Buffer.from(bound));
      const text = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
      return { keyId, bytes: Buffer.concat([nonce, cipher.getAuthTag(), text]) };
    },
    /**
     * Throws if the secret was encrypted with an unknown key or for another place, or was altered.
     */
    decrypt: (encrypted: EncryptedSecret, bound: string): string => {
      const knownKey = keys.get(encrypted.keyId);
      if (knownKey === undefined) {
        throw new Error(
          `The secret was encrypted with key ${encrypted.keyId}, SECRET_KEY is ${keyId}.`,
        );
      }
      const decipher = createDecipheriv(
        "aes-256-gcm",
        knownKey,
        encrypted.bytes.subarray(0, nonceBytes),
        wholeTag,
      )
        .setAAD(Buffer.from(bound))
        .setAuthTag(encrypted.bytes.subarray(nonceBytes, nonceBytes + tagBytes));
      return (
        decipher.update(encrypted.bytes.subarray(nonceBytes + tagBytes), undefined, "utf8") +
        decipher.final("utf8")
      );
    },
  };
}

function idOf(key: Uint8Array): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 16);
}
