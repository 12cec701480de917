/**
 * Reads the bytes of a request's body within the limit, and checks its header fields against the
 * contract.
 */
import { Refusal } from "../../domain/refusal.ts";
import { tooManyUnfinished } from "../rpc/refusals.ts";
import type { HttpRequest } from "./exchange.ts";

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

/** Limits that replace those of the contract, or are added to them. */
interface BodyLimits {
  readonly maxBytes?: number;
  /** Records what the unfinished body holds. Returns false if that is too much (LIMIT-4). */
  readonly hold?: (bytes: number) => boolean;
  /**
   * Once it is aborted, the rest of the body stays unread and the promise rejects with the signal's
   * reason.
   */
  readonly signal?: AbortSignal;
}

/**
 * Returns the bytes of the body, empty if there is none. Throws `request_too_large` as soon as the
 * body is known to be over the limit, and `temporarily_unavailable` if too many bodies are
 * unfinished. The rest stays unread. Throws `invalid_parameter` if the body ends early.
 */
export function readBody(
  request: HttpRequest,
  { maxBytes = maxBodyBytes, hold = () => true, signal }: BodyLimits = {},
): Promise<Uint8Array> {
  if (!hasBody(request)) return Promise.resolve(new Uint8Array(0));
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let length = 0;
    const release = () => {
      request.off("data", onData);
      hold(0);
      // The request may stay open as long as its client sends.
      chunks = [];
    };
    const stop = (reason: unknown) => {
      release();
      request.pause();
      reject(reason);
    };
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBytes) stop(tooLarge(maxBytes));
      else if (!hold(length)) stop(tooManyUnfinished());
      // A chunk would keep all that was read from the connection with it.
      else chunks.push(Buffer.from(chunk));
    };
    const endedEarly = () => {
      release();
      reject(new Refusal("invalid_parameter", "The body ended early"));
    };
    request.on("data", onData);
    request.once("close", endedEarly);
    request.once("end", () => {
      request.off("close", endedEarly);
      resolve(Buffer.concat(chunks));
      release();
    });
    signal?.addEventListener("abort", () => stop(signal.reason), { once: true });
  });
}

function tooLarge(maxBytes: number): Refusal {
  const limit = maxBytes < maxBodyBytes ? `${maxBytes / 1024} KiB` : "1 MiB";
  return new Refusal("request_too_large", `The body is larger than ${limit}`);
}

const contentType = /^application\/json(?:[ \t]*;[ \t]*charset=(?:utf-8|"utf-8"))?[ \t]*$/i;

/**
 * Refuses a body whose header fields do not announce plain JSON in UTF-8: `invalid_parameter`
 * (REQUEST-6).
 */
export function assertJsonBody(request: HttpRequest): void {
  const type = request.headers["content-type"];
  if (!contentType.test(type ?? ""))
    throw new Refusal("invalid_parameter", "Content-Type must be application/json, in UTF-8");
  if (request.headers["content-encoding"] !== undefined)
    throw new Refusal("invalid_parameter", "A Content-Encoding is not accepted");
}
