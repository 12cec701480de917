/**
 * One request and its response on their way through the edge: what the port learns before anything is read, and what the
 * handlers note for the line of the log.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { GateHeaders } from "../rpc/gate.ts";

/** A request of either HTTP version: the HTTP/2 compatibility object has the same members, and its stream beside. */
export type HttpRequest = IncomingMessage & { readonly stream?: ServerHttp2Stream };

/** A response of either HTTP version; `stream` tells HTTP/2. */
export type HttpResponse = ServerResponse & { readonly stream?: ServerHttp2Stream };

/** Made by the port for every request. */
export interface Exchange {
  /** The `Request-Id` of the response: a UUID of version 7. */
  readonly requestId: string;
  /** The path without query and without the `/api` that may stand before it. decisions §1, step 1. */
  readonly path: string;
  /** What stands after the question mark, `""` where nothing does. */
  readonly query: string;
  /** The two headers that the gate judges, with their repeats. */
  readonly credentials: GateHeaders;
  /** The client waits for `100 Continue` before it sends its body. */
  readonly awaitsContinue: boolean;
  /** Milliseconds of the monotonic clock at the request's arrival. */
  readonly startedMs: number;
  /** `billing.v1.SubscriptionService/CreateSubscription`, once it is known. */
  operation: string | null;
  /** `rest`, `connect`, `grpc` or `grpc-web`; null for the port's own paths. */
  protocol: string | null;
  /** Whose key it was, once that is known. */
  organisationId: string | null;
  /** The id of that key, never the key. */
  apiKeyId: string | null;
  /** The error code of the answer, null for a success. */
  code: string | null;
  /** Its signal is aborted when the client goes away; made when a service method is called. */
  abort: AbortController | null;
}
