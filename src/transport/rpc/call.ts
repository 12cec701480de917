/**
 * One call of an operation over any protocol. It validates the parsed request, claims or replays
 * its idempotency key, and runs the service's method (REQUEST-1).
 */
import assert from "node:assert/strict";
import { create, type DescMethodUnary, type Message } from "@bufbuild/protobuf";
import { Refusal } from "../../domain/refusal.ts";
import type { Caller, Principal } from "./caller.ts";
import type { Pass } from "./gate/gate.ts";
import type { Idempotency } from "./idempotency.ts";
import type { MethodImplementation, ServiceBinding } from "./implementation.ts";
import type { ObserveCall } from "./observe.ts";
import { operationOf } from "./operation.ts";
import { answered, unknownOutcome } from "./refusals.ts";
import type { TextFormats } from "./validation/string-rules.ts";
import { createValidate } from "./validation/validate.ts";

/**
 * The answer: the response message, and whether it is the stored response of an earlier call
 * (`Idempotent-Replayed: true`). Without an idempotency key the message is only its initialiser.
 * Creating it costs more than writing it, and Connect's library creates it if it is none.
 */
export interface Answer {
  readonly message: object;
  readonly replayed: boolean;
}

/** The context of a call, in addition to its request. */
interface CallContext {
  /** Aborted when the client disconnects or the server shuts down. */
  readonly signal: AbortSignal;
}

/**
 * Answers a request that passed the gate. Throws the refusals of validation (`invalid_parameter`),
 * of idempotency (`idempotency_conflict`, `request_in_progress`), `temporarily_unavailable`, and
 * those of the method.
 */
export type CallOperation<C extends Principal = Caller> = (
  pass: Pass<C>,
  request: Message,
  context: CallContext,
) => Promise<Answer>;

/** The dependencies of calls. */
interface CallParts<C extends Principal = Caller> {
  readonly idempotency: Idempotency;
  readonly observe: ObserveCall;
  readonly implementations: readonly ServiceBinding<C>[];
  /** The rules of the contract's text formats. */
  readonly formats: TextFormats;
  /** Runs a call, or refuses it because too many are in progress. */
  readonly limit?: <T>(pass: Pass<C>, run: () => Promise<T>) => Promise<T>;
}

/** Creates `call`. Throws if a method has no implementation. */
export function createCall<C extends Principal = Caller>({
  idempotency,
  observe,
  implementations,
  formats,
  limit = (_pass, run) => run(),
}: CallParts<C>): CallOperation<C> {
  const methods = collectMethods(implementations);
  const validate = createValidate(
    [...methods.keys()].map(({ input }) => input),
    formats,
  );

  const run: CallOperation<C> = async (pass, request, { signal }) => {
    const { operation, caller, requestId, idempotencyKey } = pass;
    const { method } = operation;
    const implementation = methods.get(method);
    if (implementation === undefined)
      throw new Refusal("unknown_endpoint", `${operation.name} is not available yet`);
    validate(method.input, request);
    const fields = { operation: operation.name, requestId, idempotencyKey };
    const context = { caller, ...fields, signal };
    // A read has decided nothing. The outcome of a write is unknown (REQUEST-14).
    if (operation.idempotencyKey === "none") {
      const message = await answered(implementation(request, context));
      return { message, replayed: false };
    }
    const write = () => answered(implementation(request, context), unknownOutcome);
    if (idempotencyKey === null) return { message: await write(), replayed: false };
    const execute = async (): Promise<Message> => create(method.output, await write());
    return idempotency({ pass, idempotencyKey, request }, execute);
  };

  return (pass, request, context) =>
    observe(pass, () => limit(pass, () => run(pass, request, context)));
}

function collectMethods<C extends Principal>(
  bindings: readonly ServiceBinding<C>[],
): ReadonlyMap<DescMethodUnary, MethodImplementation<DescMethodUnary, C>> {
  const methods = new Map<DescMethodUnary, MethodImplementation<DescMethodUnary, C>>();
  for (const { service, implementation } of bindings) {
    for (const method of service.methods) {
      const operation = operationOf(method);
      const implemented = (
        implementation as Record<string, MethodImplementation<DescMethodUnary, C>>
      )[method.localName];
      assert(implemented !== undefined, `${operation.name} has no implementation`);
      methods.set(operation.method, implemented);
    }
  }
  return methods;
}
