/**
 * Holds the bodies of Connect's JSON to a check of our own before the library reads them: it would take `"10"` for a number,
 * `null` for anything, and name a fault by its last member alone. decisions §1, step 6.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import type { ContextValues } from "@connectrpc/connect";
import {
  type Compression,
  readAllBytes,
  type UniversalHandler,
  type UniversalServerRequest,
} from "@connectrpc/connect/protocol";

/** What the check stands on. */
export interface StrictJsonParts {
  /** The check of a method's request; it throws a refusal at a fault. */
  readonly check: (method: DescMethod) => (body: Uint8Array) => void;
  /** An error of the check as the library is to tell it. */
  readonly tell: (values: ContextValues | undefined, error: unknown) => Error;
  /** How a body may be packed; the library refuses any other. */
  readonly compressions: readonly Compression[];
  /** Bytes, unpacked. */
  readonly readMaxBytes: number;
}

/**
 * Replaces the first `count` handlers of a router by ones that check JSON bodies. The body is read when the library asks for
 * it, so after the gate.
 */
export function checkJsonBodies(handlers: UniversalHandler[], count: number, parts: StrictJsonParts): void {
  for (const [index, handler] of handlers.slice(0, count).entries()) {
    const check = parts.check(handler.method);
    const checking = (request: UniversalServerRequest) =>
      handler(isJson(request) ? { ...request, body: checkedBody(request, check, parts) } : request);
    handlers[index] = Object.assign(checking, handler);
  }
}

function isJson({ method, header }: UniversalServerRequest): boolean {
  return method === "POST" && /^application\/json\b/i.test(header.get("Content-Type") ?? "");
}

async function* checkedBody(
  { body, header, contextValues }: UniversalServerRequest,
  check: (body: Uint8Array) => void,
  { tell, compressions, readMaxBytes }: StrictJsonParts,
): AsyncIterable<Uint8Array> {
  const bytes = await readAllBytes(body as AsyncIterable<Uint8Array>, readMaxBytes, header.get("Content-Length"));
  const compression = compressions.find(({ name }) => name === header.get("Content-Encoding"));
  // An encoding that is not known here never comes this far: the library refuses it first.
  const plain = compression === undefined ? bytes : await compression.decompress(bytes, readMaxBytes);
  try {
    check(plain);
  } catch (error) {
    throw tell(contextValues, error);
  }
  yield bytes;
}
