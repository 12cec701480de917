/** An operation as the manual tells it: its rules, its HTTP side, and the codes that its options name. */
import { type DescMethod, getOption, type JsonValue } from "@bufbuild/protobuf";
import { operation as operationOption } from "../../src/gen/proto/billing/options/v1/options_pb.ts";
import { type HttpRoute, httpRoute } from "../../src/transport/rest/json-shape.ts";
import { type Operation, operationOf } from "../../src/transport/rpc/operation.ts";

/** The rules that the server goes by, with what only REST and the manual need. */
export interface DescribedOperation extends Operation {
  readonly http: HttpRoute;
  /** The codes that it can answer beyond those that every operation can. */
  readonly refusals: readonly string[];
  /** A success of which a part was rejected; null where there is none. */
  readonly partialExample: JsonValue;
}

/** The operation of a method, `null` where it has no path: health and reflection are no part of the manual. */
export function describedOperation(method: DescMethod): DescribedOperation | null {
  const http = httpRoute(method);
  if (http === null) return null;
  const { refusals, partialExample } = getOption(method, operationOption);
  const example: JsonValue = partialExample === "" ? null : JSON.parse(partialExample);
  return { ...operationOf(method), http, refusals, partialExample: example };
}
