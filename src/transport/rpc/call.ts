/**
 * One call of an operation, whatever protocol it came by: the parsed request is validated, its idempotency key claimed or
 * replayed, and the service's method run. decisions §1, steps 6 to 8.
 */
import assert from "node:assert/strict";
import { create, type DescMethodUnary, type Message } from "@bufbuild/protobuf";
import { Refusal } from "../../domain/refusal.ts";
import { isDatabaseUnreachable } from "../../store/access/api-keys.ts";
import type { Caller, Principal } from "./caller.ts";
import type { Pass } from "./gate.ts";
import type { Idempotency } from "./idempotency.ts";
import { type MethodImplementation, planned, type ServiceBinding } from "./implementation.ts";
import type { ObserveCall } from "./observe.ts";
import { operationOf } from "./operation.ts";
import { temporarilyUnavailable } from "./refusals.ts";
import type { TextFormats } from "./validation/string-rules.ts";
import { createValidate } from "./validation/validate.ts";

/** The answer: the response message, and whether it is the stored one of an earlier call (`Idempotent-Replayed: true`). */
export interface Answer {
  readonly message: Message;
  readonly replayed: boolean;
}

/** What a call is told beside its request. */
export interface CallContext {
  /** Aborted when the client has gone or the server shuts down. */
  readonly signal: AbortSignal;
}

/**
 * Answers a request that passed the gate. Throws the refusals of validation (`invalid_parameter`), of idempotency
 * (`idempotency_conflict`, `request_in_progress`), `temporarily_unavailable`, and the method's own.
 */
export type CallOperation<C extends Principal = Caller> = (
  pass: Pass<C>,
  request: Message,
  context: CallContext,
) => Promise<Answer>;

/** What calls stand on. */
export interface CallParts<C extends Principal = Caller> {
  readonly idempotency: Idempotency;
  readonly observe: ObserveCall;
  readonly implementations: readonly ServiceBinding<C>[];
  /** What the formats of the contract mean. */
  readonly formats: TextFormats;
}

/** Makes `call`. Throws where a method's implementation and its option `planned` disagree. */
export function createCall<C extends Principal = Caller>({
  idempotency,
  observe,
  implementations,
  formats,
}: CallParts<C>): CallOperation<C> {
  const methods = collectMethods(implementations);
  const validate = createValidate(
    [...methods.keys()].map(({ input }) => input),
    formats,
  );

  const run = async (pass: Pass<C>, request: Message, { signal }: CallContext): Promise<Answer> => {
    const { operation, caller, requestId, idempotencyKey } = pass;
    const { method } = operation;
    const implementation = methods.get(method);
    if (implementation === undefined) throw new Refusal("unknown_endpoint", `${operation.name} is not available yet`);
    validate(method.input, request);
    const execute = async (): Promise<Message> =>
      create(
        method.output,
        await implementation(request, { caller, operation: operation.name, requestId, idempotencyKey, signal }),
      );
    if (idempotencyKey !== null) return idempotency.run({ pass, idempotencyKey, request }, execute);
    return { message: operation.idempotencyKey === "none" ? await read(execute) : await execute(), replayed: false };
  };

  return (pass, request, context) => observe(pass, () => run(pass, request, context));
}

/** A read that could not reach the database has decided nothing; of a write that lost it midway nobody knows, so it is a 500. */
async function read(execute: () => Promise<Message>): Promise<Message> {
  try {
    return await execute();
  } catch (error) {
    throw isDatabaseUnreachable(error) ? temporarilyUnavailable(error) : error;
  }
}

function collectMethods<C extends Principal>(
  bindings: readonly ServiceBinding<C>[],
): ReadonlyMap<DescMethodUnary, MethodImplementation<DescMethodUnary, C>> {
  const methods = new Map<DescMethodUnary, MethodImplementation<DescMethodUnary, C>>();
  for (const { service, implementation } of bindings) {
    for (const method of service.methods) {
      const operation = operationOf(method);
      const own = (implementation as Record<string, MethodImplementation<DescMethodUnary, C> | typeof planned>)[
        method.localName
      ];
      assert(own !== undefined, `${operation.name} has no implementation`);
      assert(
        operation.planned === (own === planned),
        `${operation.name}: its option planned and its implementation disagree`,
      );
      if (own !== planned) methods.set(operation.method, own);
    }
  }
  return methods;
}
