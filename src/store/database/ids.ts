/**
 * Creates ids: time-ordered ones (UUID version 7), and derived ones that identify a retried
 * creation as the same. OBJECT-1.
 */
import { createHash, randomUUID } from "node:crypto";

/**
 * Returns a new UUID version 7: 48 bits of milliseconds, then 74 random bits. RFC 9562, section
 * 5.7. The random bits are those of a UUID version 4, whose variant is the same. Node draws them in
 * advance, which costs a twentieth of a call for random bytes.
 */
export function newId(nowMs: number = Date.now()): string {
  const milliseconds = nowMs.toString(16).padStart(12, "0");
  return `${milliseconds.slice(0, 8)}-${milliseconds.slice(8)}-7${randomUUID().slice(15)}`;
}

/**
 * Kinds of object that a request with an Idempotency-Key can create. In the admin API an operator's
 * token stands for the API key.
 */
export type DerivedKind =
  | "customer"
  | "subscription"
  | "organisation"
  | "api_key"
  | "plan"
  | "charge"
  | "meter"
  | "operator"
  | "operator_token"
  | "unit_change"
  | "termination"
  | "restoration"
  | "break_off"
  | "webhook_endpoint"
  | "test_event";

/**
 * Returns the id of the object that a request with an Idempotency-Key creates. The id is the same
 * for the same key of the same API key, and for no other. It is a UUID version 8 over SHA-256 (RFC
 * 9562, section 5.8). `kind` separates a customer's ids from a subscription's. IDEMPOTENCY-7.
 */
export function derivedId(kind: DerivedKind, apiKeyId: string, idempotencyKey: string): string {
  const digest = createHash("sha256").update(`${kind}\0${apiKeyId}\0${idempotencyKey}`).digest();
  digest.writeUInt8((digest.readUInt8(6) & 0x0f) | 0x80, 6);
  digest.writeUInt8((digest.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = digest.toString("hex", 0, 16);
  const from = [0, 8, 12, 16, 20];
  return from.map((start, index) => hex.slice(start, from[index + 1])).join("-");
}

/** Whether a text is a UUID, in any case. Any other text identifies no object. REQUEST-12. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);
}
