/**
 * Idempotency by the header `Idempotency-Key`. The same request with the same key runs once, and a
 * repeat gets the same bytes. Another request with that key is refused. IDEMPOTENCY-2,
 * IDEMPOTENCY-3.
 */
import { createHash } from "node:crypto";
import { clone, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { crashPoint } from "../../crash-points.ts";
import { Refusal } from "../../domain/refusal.ts";
import type { Claim, IdempotencyStore } from "../../store/access/idempotency.ts";
import type { Answer } from "./call.ts";
import { credentialIdOf, organisationIdOf, type Principal } from "./caller.ts";
import type { Pass } from "./gate/gate.ts";
import type { Operation } from "./operation.ts";
import { answered } from "./refusals.ts";

/** A request with an idempotency key. */
interface KeyedRequest {
  readonly pass: Pass<Principal>;
  readonly idempotencyKey: string;
  readonly request: Message;
}

/**
 * Runs a request with a key. `createIdempotency` creates it. It runs `execute` and stores its
 * response, or returns the stored one. Refuses `idempotency_conflict` (the key belongs to another
 * request, checked first), `request_in_progress` (with `Retry-After`), `temporarily_unavailable`
 * (nothing was begun). If `execute` fails, the key is released and the error is thrown
 * (IDEMPOTENCY-5).
 */
export type Idempotency = (keyed: KeyedRequest, execute: () => Promise<Message>) => Promise<Answer>;

/** The value of `Retry-After` (IDEMPOTENCY-4). */
const retryAfterSeconds = 2;

/** Creates idempotency over a store. */
export function createIdempotency(store: IdempotencyStore): Idempotency {
  return async ({ pass: { operation, caller }, idempotencyKey, request }, execute) => {
    const begin = store.begin({
      apiKeyId: credentialIdOf(caller),
      organisationId: organisationIdOf(caller),
      key: idempotencyKey,
      operation: operation.name,
      path: pathOf(operation, request),
      fingerprint: fingerprintOf(operation, request),
    });
    const begun = await answered(begin);
    switch (begun.kind) {
      case "replay":
        return { message: fromBinary(operation.method.output, begun.response), replayed: true };
      case "conflict":
        throw new Refusal(
          "idempotency_conflict",
          "This Idempotency-Key was used with a different request",
          "Idempotency-Key",
        );
      case "running": {
        const message = "The first request with this Idempotency-Key is still running";
        throw new Refusal("request_in_progress", message, null, retryAfterSeconds);
      }
      case "begun":
        crashPoint("key_begun");
        return finish(store, begun.claim, operation, execute);
    }
  };
}

async function finish(
  store: IdempotencyStore,
  claim: Claim,
  operation: Operation,
  execute: () => Promise<Message>,
): Promise<Answer> {
  const { output } = operation.method;
  let message: Message;
  let response: Uint8Array;
  try {
    message = await execute();
    response = toBinary(output, withoutSecrets(operation, message));
  } catch (error) {
    await store.release(claim);
    throw error;
  }
  const other = await store.complete(claim, response);
  crashPoint("key_completed");
  return other === null
    ? { message, replayed: false }
    : { message: fromBinary(output, other), replayed: true };
}

/** Returns the message without its secrets. */
function withoutSecrets({ method, secrets }: Operation, message: Message): Message {
  if (secrets.length === 0) return message;
  const kept = clone(method.output, message) as Message & Record<string, unknown>;
  for (const { localName } of secrets) kept[localName] = "";
  return kept;
}

/**
 * Returns the SHA-256 over the operation and the parsed request with its path parameters. The
 * request is in protobuf's binary form, in the field order of the proto file. White space, the
 * order of members and the protocol therefore do not affect it (IDEMPOTENCY-3).
 */
export function fingerprintOf(operation: Operation, request: Message): Uint8Array {
  const bytes = toBinary(operation.method.input, request);
  return createHash("sha256").update(operation.name).update("\0").update(bytes).digest();
}

/** Returns the REST path with its ids, for people who inspect the stored keys. */
function pathOf({ path, method }: Operation, request: Message): string {
  const { fields } = method.input;
  return path.replace(/\{([a-z_]+)\}/g, (whole, name: string) => {
    const field = fields.find((one) => one.name === name);
    return field === undefined
      ? whole
      : String((request as Message & Record<string, unknown>)[field.localName]);
  });
}
