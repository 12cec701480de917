/**
 * One request and its response on their way through the transport. The port fills it before
 * anything is read, and the handlers add what the log needs.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { RequestRecord } from "../rpc/observe.ts";

/**
 * A request of either HTTP version. The HTTP/2 compatibility object has the same members and
 * `stream`.
 */
export type HttpRequest = IncomingMessage & { readonly stream?: ServerHttp2Stream };

/** A response of either HTTP version. Only HTTP/2 has a `stream`. */
export type HttpResponse = ServerResponse & { readonly stream?: ServerHttp2Stream };

/** The state of one request. The port creates it for every request. */
export interface Exchange extends RequestRecord {
  /** The path without the query and without a leading `/api` (REQUEST-2). */
  readonly path: string;
  /** The text after the question mark, `""` if there is none. */
  readonly query: string;
  /** The client waits for `100 Continue` before it sends its body. */
  readonly awaitsContinue: boolean;
  /** The time of the request's arrival, in milliseconds of the monotonic clock. */
  readonly startedMs: number;
  /** The trace that the request belongs to, null without one. */
  traceId: string | null;
  /** Its signal is aborted when the client disconnects. Created when a service method is called. */
  abort: AbortController | null;
}
