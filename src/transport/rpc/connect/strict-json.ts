/**
 * Checks JSON requests of every protocol (Connect, gRPC, gRPC-Web), in body or query, before the
 * library reads them. The library would accept `"10"` for a number and `null` for anything, and
 * would name only the last member of a fault's path. REQUEST-7, REQUEST-8.
 */
import { base64Decode } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  encodeEnvelope,
  envelopeDecompress,
  readAllBytes,
  transformSplitEnvelope,
  type UniversalHandler,
  type UniversalServerRequest,
} from "@connectrpc/connect/protocol";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import { connectErrorOf } from "../refusals.ts";
import type { Guards } from "./guards.ts";

/** The library's own choice, repeated because JSON is unpacked here as well. */
export const compressions = [compressionGzip, compressionBrotli];

/** The limit of a body (REQUEST-5). A compressed body counts by its unpacked size. */
export const readMaxBytes = 1024 * 1024;

/**
 * Returns a handler that checks JSON requests. The body is read when the library requests it, which
 * is after the gate.
 */
export function checkJsonBodies(handler: UniversalHandler, guards: Guards): UniversalHandler {
  const read = guards.checkJson(handler.method.input);
  const checking = (request: UniversalServerRequest) => {
    const check = (body: Uint8Array) => {
      try {
        read(body);
      } catch (error) {
        throw connectErrorOf(guards.report(request.contextValues, error));
      }
    };
    return handler(checked(handler, request, check));
  };
  return Object.assign(checking, handler);
}

type Check = (body: Uint8Array) => void;

function checked(
  handler: UniversalHandler,
  request: UniversalServerRequest,
  check: Check,
): UniversalServerRequest {
  if (request.method === "GET" && handler.allowedMethods.includes("GET")) {
    const posted = postedQuery(request);
    return posted === null ? request : { ...posted, body: checkedBody(posted, check) };
  }
  if (request.method !== "POST") return request;
  const type = request.header.get("Content-Type") ?? "";
  if (/^application\/json\b/i.test(type)) return { ...request, body: checkedBody(request, check) };
  const enveloped = /^application\/grpc(-web)?\+json\b/i.exec(type);
  if (enveloped === null) return request;
  const endFlag = enveloped[1] === undefined ? null : webTrailerFlag;
  return { ...request, body: checkedMessages(request, check, endFlag) };
}

/** The library skips a gRPC-Web client's envelope with this flag. */
const webTrailerFlag = 0x80;

/**
 * Turns Connect's GET into a POST that the library reads alike. Its message is in the query, where
 * no check could run after the gate. Returns null if it is not JSON.
 */
function postedQuery(request: UniversalServerRequest): UniversalServerRequest | null {
  const query = new URL(request.url).searchParams;
  if (query.get("encoding") !== "json") return null;
  const header = new Headers(request.header);
  header.set("Content-Type", "application/json");
  header.delete("Content-Length");
  const packing = query.get("compression");
  if (packing === null) header.delete("Content-Encoding");
  // An encoding that is no valid header value is as unknown as any other.
  else header.set("Content-Encoding", /^[\w-]+$/.test(packing) ? packing : "unknown");
  return { ...request, method: "POST", header, body: queryMessage(query) };
}

async function* queryMessage(query: URLSearchParams): AsyncIterable<Uint8Array> {
  const message = query.get("message") ?? "";
  if (query.get("base64") !== "1") {
    yield new TextEncoder().encode(message);
    return;
  }
  try {
    yield base64Decode(message);
  } catch (cause) {
    throw new ConnectError(
      "the message is not base64",
      Code.InvalidArgument,
      undefined,
      undefined,
      cause,
    );
  }
}

async function* checkedBody(
  { body, header }: UniversalServerRequest,
  check: Check,
): AsyncIterable<Uint8Array> {
  const bytes = await readAllBytes(
    body as AsyncIterable<Uint8Array>,
    readMaxBytes,
    header.get("Content-Length"),
  );
  const compression = compressions.find(({ name }) => name === header.get("Content-Encoding"));
  // The library refuses an unknown encoding before this point.
  const plain =
    compression === undefined ? bytes : await compression.decompress(bytes, readMaxBytes);
  check(plain);
  yield bytes;
}

/**
 * gRPC has each message in an envelope, packed or not. The library still refuses what it would
 * refuse by itself.
 */
async function* checkedMessages(
  { body, header }: UniversalServerRequest,
  check: Check,
  endFlag: number | null,
): AsyncIterable<Uint8Array> {
  const compression = compressions.find(({ name }) => name === header.get("Grpc-Encoding")) ?? null;
  for await (const { flags, data } of transformSplitEnvelope(readMaxBytes)(
    body as AsyncIterable<Uint8Array>,
  )) {
    if (endFlag === null || (flags & endFlag) === 0) {
      const plain = await envelopeDecompress({ flags, data }, compression, readMaxBytes);
      check(plain.data);
    }
    yield encodeEnvelope(flags, data);
  }
}
