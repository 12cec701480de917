/**
 * The Idempotency-Key header of a create. It makes a fast resend harmless, but is never the only
 * protection (XERO-2).
 */
import { createHash } from "node:crypto";

/** The parts of a key. `body` is the exact text to send. */
export interface KeyedWrite {
  readonly tenantId: string;
  readonly clientId: string;
  readonly path: string;
  readonly jobKeys: readonly string[];
  readonly variant: string | null;
  readonly body: string;
}

/**
 * Returns 64 hex digits (Xero takes 128 characters), equal for the same jobs, variant and body. The
 * tenant is included, because Xero stores keys for each app. The body is included, because a key
 * reused with other content answers 400 for six minutes.
 */
export function idempotencyKeyOf(write: KeyedWrite): string {
  const { tenantId, clientId, path, jobKeys, variant, body } = write;
  return createHash("sha256")
    .update(JSON.stringify([tenantId, clientId, path, variant, jobKeys]))
    .update(body)
    .digest("hex");
}
