/**
 * One request and its response on their way through the transport. The port fills it before
 * anything is read, and the handlers add what the log needs.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { GateHeaders } from "../rpc/gate/gate.ts";

/**
 * A request of either HTTP version. The HTTP/2 compatibility object has the same members and
 * `stream`.
 */
export type HttpRequest = IncomingMessage & { readonly stream?: ServerHttp2Stream };

/** A response of either HTTP version. Only HTTP/2 has a `stream`. */
export type HttpResponse = ServerResponse & { readonly stream?: ServerHttp2Stream };

/** The state of one request. The port creates it for every request. */
export interface Exchange {
  /** The `Request-Id` of the response: a UUID of version 7. */
  readonly requestId: string;
  /** The path without the query and without a leading `/api` (REQUEST-2). */
  readonly path: string;
  /** The text after the question mark, `""` if there is none. */
  readonly query: string;
  /** The two headers of the gate, with their repeats. */
  readonly credentials: GateHeaders;
  /** The client waits for `100 Continue` before it sends its body. */
  readonly awaitsContinue: boolean;
  /**
   * Records how many bytes of the body are held until it is whole. Returns false, and records
   * nothing, if the unfinished bodies of this key, or of all keys, would hold too many (LIMIT-4).
   */
  readonly holdBody: (apiKeyId: string | null, bytes: number) => boolean;
  /** The time of the request's arrival, in milliseconds of the monotonic clock. */
  readonly startedMs: number;
  /** `billing.v1.SubscriptionService/CreateSubscription`, once it is known. */
  operation: string | null;
  /** `rest`, `connect`, `grpc` or `grpc-web`. Null for system endpoints. */
  protocol: string | null;
  /** The organisation of the key, once it is known. */
  organisationId: string | null;
  /** The id of the key, never the key. */
  apiKeyId: string | null;
  /** The trace that the request belongs to, null without one. */
  traceId: string | null;
  /** The error code of the answer, null for a success. */
  code: string | null;
  /** Its signal is aborted when the client disconnects. Created when a service method is called. */
  abort: AbortController | null;
}
