/**
 * Reads the bytes of a request's body within the limit, and checks its header fields against the
 * contract.
 */
import type { HttpRequest } from "./exchange.ts";
import { RequestFault } from "./request-fault.ts";

/** The limit of a body, 1 MiB (REQUEST-5). */
const maxBodyBytes = 1_048_576;

/**
 * Whether the request announces a body. A body of unknown length counts, one of length 0 does not.
 */
export function hasBody(request: HttpRequest): boolean {
  const length = request.headers["content-length"];
  if (length !== undefined) return length !== "0";
  if (request.stream !== undefined) return !request.stream.endAfterHeaders;
  return request.headers["transfer-encoding"] !== undefined;
}

/**
 * Refuses a body whose announced size is over the limit, before any of it is read:
 * `request_too_large`.
 */
export function assertAnnouncedSize(request: HttpRequest, maxBytes = maxBodyBytes): void {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
}

/** Limits that replace those of the contract. */
interface BodyLimits {
  readonly maxBytes?: number;
  /**
   * Once it is aborted, the rest of the body stays unread and the promise rejects with the signal's
   * reason.
   */
  readonly signal?: AbortSignal;
}

/**
 * Returns the bytes of the body, empty if there is none. They are no promise if they have arrived:
 * each promise on the way of a request costs as much as its routing. Throws a `RequestFault`
 * `request_too_large` as soon as the body is known to be over the limit. The rest stays unread.
 * Throws `invalid_parameter` if the body ends early.
 */
export function readBody(
  request: HttpRequest,
  { maxBytes = maxBodyBytes, signal }: BodyLimits = {},
): Uint8Array | Promise<Uint8Array> {
  if (!hasBody(request)) return empty;
  // A small body has arrived with its head, and HTTP/1.1 has it buffered, so no event is awaited.
  if (request.stream === undefined && request.complete) {
    return withinLimit((request.read() as Buffer | null) ?? empty, maxBytes);
  }
  return collected(request, maxBytes, signal);
}

const empty = new Uint8Array(0);

function tooLarge(maxBytes: number): RequestFault {
  const limit = maxBytes < maxBodyBytes ? `${maxBytes / 1024} KiB` : "1 MiB";
  return new RequestFault("request_too_large", `The body is larger than ${limit}`);
}

function withinLimit(body: Uint8Array, maxBytes: number): Uint8Array {
  if (body.length > maxBytes) throw tooLarge(maxBytes);
  return body;
}

function collected(
  request: HttpRequest,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const stop = (reason: unknown) => {
      request.off("data", onData).pause();
      // The request may stay open as long as its client sends, so the chunks that were read are
      // released.
      chunks.length = 0;
      reject(reason);
    };
    const onData = (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxBytes) stop(tooLarge(maxBytes));
    };
    const endedEarly = () => reject(new RequestFault("invalid_parameter", "The body ended early"));
    request.on("data", onData);
    request.once("close", endedEarly);
    request.once("end", () => {
      request.off("close", endedEarly);
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length));
    });
    signal?.addEventListener("abort", () => stop(signal.reason), { once: true });
  });
}

const contentType = /^application\/json(?:[ \t]*;[ \t]*charset=(?:utf-8|"utf-8"))?[ \t]*$/i;

/**
 * Refuses a body whose header fields do not announce plain JSON in UTF-8: `invalid_parameter`
 * (REQUEST-6).
 */
export function assertJsonBody(request: HttpRequest): void {
  const type = request.headers["content-type"];
  if (type !== "application/json" && !contentType.test(type ?? "")) {
    throw new RequestFault("invalid_parameter", "Content-Type must be application/json, in UTF-8");
  }
  if (request.headers["content-encoding"] !== undefined) {
    throw new RequestFault("invalid_parameter", "A Content-Encoding is not accepted");
  }
}
