/** Identifies a request, so that its repeat finds what it has saved (IDEMPOTENCY-2). */
import { createHash } from "node:crypto";
import { type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { Refusal } from "../domain/refusal.ts";
import { type DerivedKind, derivedId, newId } from "../store/database/ids.ts";
import type { Call } from "../transport/rpc/caller.ts";

/**
 * `requestId` is derived from the API key and the Idempotency-Key. Without a key it belongs to this
 * request alone: after a lost answer the request finds by it what it has saved. `requestHash` is
 * the SHA-256 of the request. `requestedBy` is the API key, or the operator's token.
 */
export interface RequestIdentity {
  readonly requestId: string;
  readonly requestHash: Uint8Array<ArrayBuffer>;
  readonly requestedBy: string;
}

/** Returns the identity of a request with this hash that writes a `kind`. */
export function identify(
  kind: DerivedKind,
  { caller, idempotencyKey }: Call,
  requestHash: Uint8Array<ArrayBuffer>,
): RequestIdentity {
  const requestId =
    idempotencyKey === null ? newId() : derivedId(kind, caller.apiKeyId, idempotencyKey);
  return { requestId, requestHash, requestedBy: caller.apiKeyId };
}

/** Returns the SHA-256 of a request. Equal requests have equal hashes. */
export function hashRequest<Schema extends DescMessage>(
  schema: Schema,
  request: MessageShape<Schema>,
): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash("sha256").update(toBinary(schema, request)).digest());
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
