/**
 * An operation as the manual describes it: its rules, its HTTP side, and the codes that its options
 * name.
 */
import { type DescMethod, getOption, type JsonValue } from "@bufbuild/protobuf";
import { operation as operationOption } from "../../src/gen/proto/billing/options/v1/options_pb.ts";
import { type HttpRoute, httpRoute } from "../../src/transport/rest/json-shape.ts";
import { type Operation, operationOf } from "../../src/transport/rpc/operation.ts";

/** The server's rules of an operation, with the members that only REST and the manual need. */
export interface DescribedOperation extends Operation {
  readonly http: HttpRoute;
  /** The codes that it can answer in addition to those of every operation. */
  readonly refusals: readonly string[];
  /** The example of a success with a rejected part, or null if the operation has none. */
  readonly partialExample: JsonValue;
}

/**
 * Returns the operation of a method, or `null` without a path. Health and reflection are not in the
 * manual.
 */
export function describedOperation(method: DescMethod): DescribedOperation | null {
  const http = httpRoute(method);
  if (http === null) return null;
  const { refusals, partialExample } = getOption(method, operationOption);
  const example: JsonValue = partialExample === "" ? null : JSON.parse(partialExample);
  return { ...operationOf(method), http, refusals, partialExample: example };
}
