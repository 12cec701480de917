/**
 * Refuses requests to a procedure's path that no protocol accepts: another HTTP method or another
 * content type. The library would answer them with a bare status before its gate. Here they get the
 * answer of every other refusal. REQUEST-1, REQUEST-13.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import type { ContextValues } from "@connectrpc/connect";
import type {
  UniversalHandler,
  UniversalServerRequest,
  UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import { errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { Refusal } from "../../../domain/refusal.ts";
import { connectErrorOf, type ErrorReport } from "../refusals.ts";

/** The gate and the error form for such requests. */
interface UnsupportedRequestDependencies {
  /** Runs the gate of a method that has one. Throws its refusal. */
  readonly admit: (
    method: DescMethod,
    values: ContextValues | undefined,
    response: Headers,
  ) => Promise<void>;
  readonly reportError: (values: ContextValues | undefined, error: unknown) => ErrorReport;
}

/** Returns a handler that answers wrong methods and content types in full. */
export function refuseUnsupportedRequests(
  handler: UniversalHandler,
  parts: UnsupportedRequestDependencies,
): UniversalHandler {
  const guarded = async (request: UniversalServerRequest): Promise<UniversalServerResponse> => {
    if (!handler.allowedMethods.includes(request.method)) {
      return refuse(request, parts, 404, new Headers(), unknownMethod(handler, request));
    }
    if (
      request.method === "GET" ||
      handler.supportedContentType(request.header.get("Content-Type"))
    ) {
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
  return Object.assign(guarded, handler);
}

function unknownMethod(handler: UniversalHandler, request: UniversalServerRequest): Refusal {
  return new Refusal("unknown_endpoint", `There is no ${request.method} ${handler.requestPath}`);
}

/**
 * Returns Connect's error JSON with the table's status, or with the status that HTTP has for the
 * case.
 */
function refuse(
  request: UniversalServerRequest,
  parts: UnsupportedRequestDependencies,
  status: number | null,
  header: Headers,
  error: unknown,
): UniversalServerResponse {
  const report = parts.reportError(request.contextValues, error);
  const connectError = connectErrorOf(report);
  header.set("Content-Type", "application/json");
  for (const [name, value] of connectError.metadata) header.set(name, value);
  const body = errorToJsonBytes(connectError, undefined);
  header.set("Content-Length", String(body.byteLength));
  return { status: status ?? report.status, header, body: once(body) };
}

async function* once(body: Uint8Array): AsyncIterable<Uint8Array> {
  yield body;
}
