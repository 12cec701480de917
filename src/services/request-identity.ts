/** Identifies a request, so that its repeat finds what it has saved (IDEMPOTENCY-2). */
import { createHash } from "node:crypto";
import { type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { Refusal } from "../domain/refusal.ts";
import { type DerivedKind, derivedId, newId } from "../store/database/ids.ts";
import type { Call } from "../transport/rpc/caller.ts";

/** The identity of a request. */
export type RequestIdentity = ReturnType<typeof identify>;

/**
 * Returns the identity of a request that writes a `kind`. `requestId` is derived from the API key
 * and the Idempotency-Key. Without a key it belongs to this request alone: after a lost answer the
 * request finds by it what it has saved. `requestHash` is the SHA-256 of the request, which equal
 * requests have in common. `requestedBy` is the API key, or the operator's token.
 */
export function identify<Schema extends DescMessage>(
  kind: DerivedKind,
  { caller, idempotencyKey }: Call,
  schema: Schema,
  request: MessageShape<Schema>,
) {
  const { apiKeyId: requestedBy } = caller;
  const requestId =
    idempotencyKey === null ? newId() : derivedId(kind, requestedBy, idempotencyKey);
  const hash = createHash("sha256").update(toBinary(schema, request)).digest();
  return { requestId, requestHash: new Uint8Array(hash), requestedBy };
}

/** Whether an earlier write was of this very request. */
export function isSameRequest(
  earlierHash: Uint8Array,
  { requestHash }: Pick<RequestIdentity, "requestHash">,
): boolean {
  return Buffer.compare(earlierHash, requestHash) === 0;
}

/**
 * Refuses `idempotency_conflict` with this message, unless an earlier write was of this very
 * request.
 */
export function requireSameRequest(
  earlierHash: Uint8Array | null,
  identity: Pick<RequestIdentity, "requestHash">,
  message: string,
): void {
  if (earlierHash !== null && isSameRequest(earlierHash, identity)) return;
  throw new Refusal("idempotency_conflict", message);
}
