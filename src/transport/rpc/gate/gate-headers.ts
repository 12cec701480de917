/**
 * Reads the two headers that a gate checks before the body: `Authorization` and `Idempotency-Key`.
 * The reading is strict (ACCESS-1, IDEMPOTENCY-1).
 */
import { Refusal } from "../../../domain/refusal.ts";
import type { Operation } from "../operation.ts";

/**
 * A header as sent: absent, once, or several times. Repeats joined by a comma and a space count as
 * several too.
 */
export type HeaderValue = string | readonly string[] | null | undefined;

/**
 * Returns the credential after `Bearer`, or null. The scheme matches in any case (RFC 9110, 11.1),
 * the credential does not.
 */
export function readBearer(header: HeaderValue): string | null {
  return typeof header === "string" ? (/^bearer +(\S+)$/i.exec(header)?.[1] ?? null) : null;
}

/**
 * 1 to 255 printable ASCII characters without spaces (IDEMPOTENCY-1). A list joined by ", " is
 * malformed as well.
 */
const idempotencyKeyForm = /^[\x21-\x7e]{1,255}$/;

/**
 * Returns the key that was sent, or null if there is none or the operation ignores it. Refuses
 * `idempotency_key_required`, `invalid_parameter`.
 */
export function readIdempotencyKey(
  rule: Operation["idempotencyKey"],
  header: HeaderValue,
): string | null {
  if (rule === "none") return null;
  if (header === undefined || header === null) {
    if (rule === "optional") return null;
    throw new Refusal(
      "idempotency_key_required",
      "This request needs the header Idempotency-Key",
      "Idempotency-Key",
    );
  }
  if (typeof header === "string" && idempotencyKeyForm.test(header)) return header;
  const message =
    "The header Idempotency-Key must be sent once, with 1 to 255 printable ASCII characters " +
    "and no space";
  throw new Refusal("invalid_parameter", message, "Idempotency-Key");
}
