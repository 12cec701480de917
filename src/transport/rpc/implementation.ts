/**
 * The shape of a service: one function for each method of its proto. A service without one of its
 * methods does not compile.
 */
import type {
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type { Call, Caller, Principal } from "./caller.ts";

/**
 * Answers one method: takes the parsed, valid request and returns the response. Throws `Refusal`
 * for an expected no.
 */
export type MethodImplementation<M extends DescMethodUnary, C extends Principal = Caller> = (
  request: MessageShape<M["input"]>,
  call: Call<C>,
) => Promise<MessageInitShape<M["output"]>>;

/** A function for each method of a service, by its local name. */
export type Implementation<S extends DescService, C extends Principal = Caller> = {
  [P in keyof S["method"]]: S["method"][P] extends DescMethodUnary
    ? MethodImplementation<S["method"][P], C>
    : never;
};

/** A service with its implementation. */
export interface ServiceBinding<C extends Principal = Caller, S extends DescService = DescService> {
  readonly service: S;
  readonly implementation: Implementation<S, C>;
}

/** Binds a service to its implementation and keeps both types together. */
export function bind<S extends DescService, C extends Principal = Caller>(
  service: S,
  implementation: Implementation<S, C>,
): ServiceBinding<C> {
  return { service, implementation: implementation as unknown as Implementation<DescService, C> };
}
