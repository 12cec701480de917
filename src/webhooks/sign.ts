/** Signs requests to webhook endpoints, and creates their secrets (WEBHOOK-1). */
import { createHmac, randomBytes } from "node:crypto";

/** The header of the signature, in the specification's spelling. */
export const signatureHeaderName = "Billing-Signature";

/** The prefix of secrets: scanners recognise one that leaks. */
const secretPrefix = "whsec_";

/** 256 bits, the length of a SHA-256 result. */
const secretBytes = 32;

/**
 * Returns a new signing secret: `whsec_` and 32 random bytes in base64url, 49 characters. It is
 * shown to its owner once.
 */
export function newSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString("base64url");
}

/**
 * Returns the value of `Billing-Signature`, `t=<unix seconds>,v1=<hex>`, for exactly these bytes (a
 * text counts as its UTF-8). `v1` is HMAC-SHA256 over `<t>.<body>`, keyed with the whole secret as
 * text. Each valid secret has its `v1`, in their order: two for 24 hours after a rotation
 * (WEBHOOK-1).
 */
export function signatureHeader(
  secrets: readonly string[],
  body: string | Uint8Array,
  unixSeconds: number,
): string {
  const members = secrets.map((secret) => `v1=${signature(secret, body, unixSeconds)}`);
  return [`t=${unixSeconds}`, ...members].join(",");
}

function signature(secret: string, body: string | Uint8Array, unixSeconds: number): string {
  return createHmac("sha256", secret).update(`${unixSeconds}.`).update(body).digest("hex");
}
