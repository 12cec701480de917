/** The Idempotency-Key header of a create: a hint that makes a fast resend harmless, never the guard. */
import { createHash } from "node:crypto";

/** What a key stands for. `body` is the exact text to be sent. */
export interface KeyedWrite {
  readonly tenantId: string;
  readonly clientId: string;
  readonly path: string;
  readonly jobKeys: readonly string[];
  readonly variant: string | null;
  readonly body: string;
}

/**
 * 64 hex digits (Xero takes 128 characters), the same for the same operations, variant and body.
 * The tenant is part of it because Xero keeps keys per app; the body is part of it because a key met with other content
 * would be answered 400 for six minutes. Facts: facts-ledger section 1.8.
 */
export function idempotencyKeyOf(write: KeyedWrite): string {
  const { tenantId, clientId, path, jobKeys, variant, body } = write;
  return createHash("sha256")
    .update(JSON.stringify([tenantId, clientId, path, variant, jobKeys]))
    .update(body)
    .digest("hex");
}
