/** Signing of what is sent to a webhook endpoint, and the secrets for it. Spec: Events, Delivery rules 1. */
import { createHmac, randomBytes } from "node:crypto";

/** The header of the signature, as the specification spells it. */
export const signatureHeaderName = "Billing-Signature";

/** What secrets begin with: one that leaks is recognised by scanners. */
const secretPrefix = "whsec_";

/** 256 bits, as long as what SHA-256 makes of them. */
const secretBytes = 32;

/** A new signing secret: `whsec_` and 32 random bytes in base64url, 49 characters. It is shown to its owner once. */
export function newSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString("base64url");
}

/**
 * The value of `Billing-Signature`, `t=<unix seconds>,v1=<hex>`, for exactly these bytes (a text counts as its UTF-8): `v1` is HMAC-SHA256 over
 * `<t>.<body>`, keyed with the whole secret as text. Each secret that counts has its `v1`, in their order: two for 24 hours after a rotation.
 */
export function signatureHeader(secrets: readonly string[], body: string | Uint8Array, unixSeconds: number): string {
  const members = secrets.map((secret) => `v1=${signature(secret, body, unixSeconds)}`);
  return [`t=${unixSeconds}`, ...members].join(",");
}

function signature(secret: string, body: string | Uint8Array, unixSeconds: number): string {
  return createHmac("sha256", secret).update(`${unixSeconds}.`).update(body).digest("hex");
}
