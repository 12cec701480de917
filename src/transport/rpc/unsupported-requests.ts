/**
 * Requests to a procedure's path that no protocol takes: another HTTP method, another content type. The library answers those
 * with a bare status before its gate; here they are told like every other refusal. decisions §1, steps 1 and 6.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import type { ContextValues } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { Refusal } from "../../domain/refusal.ts";
import { connectErrorOf, type Told } from "./refusals.ts";

/** How such a request is judged and told. */
export interface UnsupportedRequestDependencies {
  /** The gate, for methods that have one; throws its refusal. */
  readonly admit: (method: DescMethod, values: ContextValues | undefined, response: Headers) => Promise<void>;
  readonly tell: (values: ContextValues | undefined, error: unknown) => Told;
}

/** Replaces the first `count` handlers of a router by ones that answer wrong methods and content types in full. */
export function refuseUnsupportedRequests(handlers: UniversalHandler[], count: number, parts: UnsupportedRequestDependencies): void {
  for (const [index, handler] of handlers.slice(0, count).entries()) {
    const guarded = async (request: UniversalServerRequest): Promise<UniversalServerResponse> => {
      if (!handler.allowedMethods.includes(request.method)) {
        return refuse(request, parts, 404, new Headers(), unknownMethod(handler, request));
      }
      if (request.method === "GET" || handler.supportedContentType(request.header.get("Content-Type"))) {
        return handler(request);
      }
      const header = new Headers();
      try {
        await parts.admit(handler.method, request.contextValues, header);
      } catch (error) {
        return refuse(request, parts, null, header, error);
      }
      const message = "The Content-Type is none of Connect, gRPC or gRPC-Web";
      return refuse(request, parts, 415, header, new Refusal("invalid_parameter", message));
    };
    handlers[index] = Object.assign(guarded, handler);
  }
}

function unknownMethod(handler: UniversalHandler, request: UniversalServerRequest): Refusal {
  return new Refusal("unknown_endpoint", `There is no ${request.method} ${handler.requestPath}`);
}

/** Connect's error JSON with the table's status, or the one that HTTP has for the case. */
function refuse(
  request: UniversalServerRequest,
  parts: UnsupportedRequestDependencies,
  status: number | null,
  header: Headers,
  error: unknown,
): UniversalServerResponse {
  const told = parts.tell(request.contextValues, error);
  const connectError = connectErrorOf(told);
  header.set("Content-Type", "application/json");
  for (const [name, value] of connectError.metadata) header.set(name, value);
  const body = errorToJsonBytes(connectError, undefined);
  header.set("Content-Length", String(body.byteLength));
  return { status: status ?? told.status, header, body: once(body) };
}

async function* once(body: Uint8Array): AsyncIterable<Uint8Array> {
  yield body;
}
