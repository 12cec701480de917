/**
 * Guards of the library's handlers: each counts the bodies that it reads, by any protocol (LIMIT-4;
 * REST counts its own), and refuses what no protocol accepts.
 */
import type { DescMessage, DescMethod } from "@bufbuild/protobuf";
import type { ContextValues } from "@connectrpc/connect";
import type {
  UniversalHandler,
  UniversalServerRequest,
  UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import { errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { Refusal } from "../../../domain/refusal.ts";
import { connectErrorOf, type ErrorReport, tooManyUnfinished } from "../refusals.ts";

/** What the guards need of a call, which its context values identify. */
export interface Guards {
  /** Runs the gate of a method that has one. Throws its refusal. */
  readonly admit: (
    method: DescMethod,
    values: ContextValues | undefined,
    response: Headers,
  ) => Promise<void>;
  /** Returns the public form of an error, and notes its code. */
  readonly report: (values: ContextValues | undefined, error: unknown) => ErrorReport;
  /** Records what the unfinished body holds. Returns false if that is too much. */
  readonly hold: (values: ContextValues | undefined, bytes: number) => boolean;
  /**
   * Compiles the strict check of a message's JSON, which throws a refusal. It is REST's reader with
   * protobuf's names.
   */
  readonly checkJson: (message: DescMessage) => (body: Uint8Array) => unknown;
}

/** Returns a handler that counts the bodies it reads. */
export function countBodies(handler: UniversalHandler, parts: Guards): UniversalHandler {
  const counting = (request: UniversalServerRequest) =>
    handler({ ...request, body: counted(request, parts) });
  return Object.assign(counting, handler);
}

async function* counted(
  { body, contextValues }: UniversalServerRequest,
  { hold, report }: Guards,
): AsyncIterable<Uint8Array> {
  let held = 0;
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      held += chunk.byteLength;
      if (!hold(contextValues, held))
        throw connectErrorOf(report(contextValues, tooManyUnfinished()));
      // A chunk would keep all that was read from the connection with it.
      yield new Uint8Array(chunk);
    }
  } finally {
    hold(contextValues, 0);
  }
}

/**
 * Returns a handler that answers another HTTP method and another content type in full. The library
 * would answer them with a bare status before its gate. REQUEST-1, REQUEST-13.
 */
export function refuseUnsupportedRequests(
  handler: UniversalHandler,
  parts: Guards,
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
  parts: Guards,
  status: number | null,
  header: Headers,
  error: unknown,
): UniversalServerResponse {
  const report = parts.report(request.contextValues, error);
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
