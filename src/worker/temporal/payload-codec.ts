/**
 * Encrypts payloads with AES-256-GCM before they reach Temporal: inputs, results, signals, queries,
 * summaries and details. Headers and search attributes stay plain, because the server and tracing
 * read them. Each payload has the id of its key, so that keys can be rotated. The form is that of
 * Temporal's samples, so a codec server for those can read it too.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { type Payload, type PayloadCodec, ValueError } from "@temporalio/common";
import proto from "@temporalio/proto";

const PayloadMessage = proto.temporal.api.common.v1.Payload;

/** The metadata of an encrypted payload. */
const encoding = Buffer.from("binary/encrypted");

/**
 * The standard length of a nonce. Random nonces are safe for 2^32 payloads under one key (NIST SP
 * 800-38D). At 100 payloads a second that is more than a year: rotate the key before.
 */
const nonceBytes = 12;

/** The full tag of GCM. Without an explicit length Node accepts shorter tags as well. */
const tagBytes = 16;

const algorithm = ["aes-256-gcm", { authTagLength: tagBytes }] as const;

/**
 * Creates the codec. It encrypts with `key`, and with null not at all. It decrypts with `key` and
 * the earlier ones, and passes on a plain payload. An unknown key or an altered payload throws a
 * ValueError that names the settings.
 */
export function createPayloadCodec(
  key: Uint8Array | null,
  earlier: readonly Uint8Array[] = [],
): PayloadCodec {
  const known = key === null ? earlier : [...earlier, key];
  const keys = new Map(known.map((each) => [payloadKeyId(each), each]));
  return {
    encode: async (payloads) =>
      key === null ? payloads : payloads.map((payload) => encrypt(payload, key)),
    decode: async (payloads) => payloads.map((payload) => decrypt(payload, keys)),
  };
}

/** Returns the id of a key: the head of its hash, which reveals nothing of it. */
export function payloadKeyId(key: Uint8Array): string {
  return createHash("sha256").update(key).digest("hex").slice(0, 16);
}

function encrypt(payload: Payload, key: Uint8Array): Payload {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm[0], key, nonce, algorithm[1]);
  const text = Buffer.concat([
    cipher.update(PayloadMessage.encode(payload).finish()),
    cipher.final(),
  ]);
  return {
    metadata: { encoding, "encryption-key-id": Buffer.from(payloadKeyId(key)) },
    data: Buffer.concat([nonce, text, cipher.getAuthTag()]),
  };
}

function decrypt(payload: Payload, keys: ReadonlyMap<string, Uint8Array>): Payload {
  const { metadata, data } = payload;
  if (metadata?.encoding === undefined || !encoding.equals(metadata.encoding)) return payload;
  const keyId = Buffer.from(metadata["encryption-key-id"] ?? []).toString();
  const key = keys.get(keyId);
  if (key === undefined) {
    throw new ValueError(
      `A payload was encrypted with key ${JSON.stringify(keyId)}, which is neither ` +
        "TEMPORAL_PAYLOAD_KEY nor among TEMPORAL_PAYLOAD_KEYS_BEFORE " +
        `(${[...keys.keys()].join(", ") || "none is set"}).`,
    );
  }
  const bytes = Buffer.from(data ?? []);
  try {
    const decipher = createDecipheriv(
      algorithm[0],
      key,
      bytes.subarray(0, nonceBytes),
      algorithm[1],
    ).setAuthTag(bytes.subarray(-tagBytes));
    const text = bytes.subarray(nonceBytes, -tagBytes);
    return PayloadMessage.decode(Buffer.concat([decipher.update(text), decipher.final()]));
  } catch (cause) {
    throw new ValueError(`A payload with key ${keyId} was altered or is incomplete.`, cause);
  }
}
