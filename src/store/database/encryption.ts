/** Secrets at rest: AES-256-GCM under a key from the environment, with the key's id beside each, so that keys can be changed. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";

/** A sealed secret: 12 bytes of nonce, 16 of tag, then the ciphertext. */
export interface EncryptedSecret {
  readonly keyId: string;
  readonly bytes: Buffer;
}

/** Seals with one key of 32 bytes, and opens with it and those before it. `bound` ties a secret to its place: it opens nowhere else. */
export interface Encryption {
  seal(secret: string, bound: string): EncryptedSecret;
  /** Throws where the secret was sealed with a key that is not known here, for another place, or was altered. */
  open(sealed: EncryptedSecret, bound: string): string;
}

/** A nonce of GCM's own length; random, since far fewer than 2^32 secrets are ever sealed with one key. NIST SP 800-38D. */
const nonceBytes = 12;

/** The full tag of GCM. Node opens shorter ones as well where no length is given. */
const tagBytes = 16;

const wholeTag = { authTagLength: tagBytes };

/**
 * Encryption with this key; what was sealed with one of `earlier` opens as well. A key's id is the head of its hash: it names the key
 * and tells nothing of it.
 */
export function createEncryption(key: Uint8Array, earlier: readonly Uint8Array[] = []): Encryption {
  if ([key, ...earlier].some(({ byteLength }) => byteLength !== 32)) {
    throw new Error("SECRET_KEY must be 32 bytes in base64.");
  }
  const keyId = idOf(key);
  const keys = new Map([...earlier, key].map((each) => [idOf(each), each]));
  return {
    seal: (secret, bound) => {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", key, nonce, wholeTag).setAAD(Buffer.from(bound));
      const text = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
      return { keyId, bytes: Buffer.concat([nonce, cipher.getAuthTag(), text]) };
    },
    open: (sealed, bound) => {
      const opening = keys.get(sealed.keyId);
      if (opening === undefined) {
        throw new Error(`The secret was sealed with key ${sealed.keyId}, SECRET_KEY is ${keyId}.`);
      }
      const decipher = createDecipheriv("aes-256-gcm", opening, sealed.bytes.subarray(0, nonceBytes), wholeTag)
        .setAAD(Buffer.from(bound))
        .setAuthTag(sealed.bytes.subarray(nonceBytes, nonceBytes + tagBytes));
      return decipher.update(sealed.bytes.subarray(nonceBytes + tagBytes), undefined, "utf8") + decipher.final("utf8");
    },
  };
}

function idOf(key: Uint8Array): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 16);
}
