/**
 * The observation of a request: one line in the log, one sample in the histogram, one span in the
 * trace. It never has a key, a header, a body or an amount. The line has the same id as the
 * response's `Request-Id` (REQUEST-4). Requests for which no key was admitted share a line, because
 * anybody can send any number of them (LIMIT-5).
 */
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { Logger } from "pino";
import type { Histogram } from "prom-client";
import { Refusal } from "../../domain/refusal.ts";
import { credentialIdOf, organisationIdOf, type Principal } from "./caller.ts";
import type { GateHeaders, Pass } from "./gate/gate.ts";

/** What a request is about, as far as it is known. */
interface RequestFacts {
  /** The `Request-Id` of the response: a UUID of version 7. */
  readonly requestId: string;
  /**
   * `billing.v1.SubscriptionService/CreateSubscription`. Null until the method is found, because an
   * unknown path must not become a label of the metrics.
   */
  operation: string | null;
  /** `rest`, `connect`, `grpc` or `grpc-web`. Null for system endpoints. */
  protocol: string | null;
  /** The organisation of the key, once it is known. */
  organisationId: string | null;
  /** The id of the key or of the operator's token, never its value. */
  apiKeyId: string | null;
  /** The error code of the answer, null for a success. */
  code: string | null;
}

/** What the port knows of a request, and what the handlers add for its log line. */
export interface RequestRecord extends RequestFacts {
  /** The headers of the gate, with their repeats, which Connect's library does not show. */
  readonly credentials: GateHeaders;
  /**
   * Records how many bytes of the body are held until it is whole. Returns false, and records
   * nothing, if the unfinished bodies of this key, or of all keys, would hold too many (LIMIT-4).
   */
  readonly holdBody: (apiKeyId: string | null, bytes: number) => boolean;
}

/** One finished request as the port reports it. It has nothing of the header, query or body. */
export interface RequestLine extends Readonly<RequestFacts> {
  readonly httpVersion: string;
  readonly method: string;
  /** The path without its query. */
  readonly path: string;
  readonly status: number;
  readonly durationMs: number;
  /** False if the client disconnected before it had the whole answer. */
  readonly answered: boolean;
  /** The trace that the request belongs to. Absent without one. */
  readonly traceId?: string;
}

/** The labels of the histogram of requests. */
export type RequestLabel = "operation" | "protocol" | "outcome";

/** The targets of the observation. */
interface ObserveParts {
  readonly log: Pick<Logger, "info">;
  /** Seconds of each request. */
  readonly requests: Pick<Histogram<RequestLabel>, "observe">;
}

/** The observer of the requests of a process. */
export interface RequestObserver {
  /** Reports one finished request to log and metrics. */
  readonly observe: (request: RequestLine) => void;
  /** Writes what was counted, and ends the counts. */
  readonly stop: () => void;
}

/** Often enough to see a flood begin, and a megabyte or two a day at most. */
const countedSeconds = 10;

/** Creates the observer. Every ten seconds it writes the counts of requests without a line. */
export function createRequestObserver({ log, requests }: ObserveParts): RequestObserver {
  let counts: Record<string, number> = {};
  const writeCounts = () => {
    if (Object.keys(counts).length === 0) return;
    log.info({ counts, seconds: countedSeconds }, "requests without an admitted key");
    counts = {};
  };
  const timer = setInterval(writeCounts, countedSeconds * 1_000).unref();
  return {
    observe: (request) => {
      const outcome = request.answered ? (request.code ?? "ok") : "client_gone";
      const protocol = request.protocol ?? (request.path.startsWith("/v1/") ? "rest" : "connect");
      const labels = { operation: request.operation ?? "unknown", protocol, outcome };
      requests.observe(labels, request.durationMs / 1000);
      if (isCounted(request)) {
        const reason = request.code ?? (request.status < 400 ? outcome : String(request.status));
        counts[reason] = (counts[reason] ?? 0) + 1;
        return;
      }
      const { answered, code, durationMs, ...rest } = request;
      log.info(
        { ...rest, protocol, outcome, durationMs: Math.round(durationMs * 10) / 10 },
        "request",
      );
    },
    stop: () => {
      clearInterval(timer);
      writeCounts();
    },
  };
}

/** A fault of ours has its line, so that it can be found by its `Request-Id`. */
function isCounted({ apiKeyId, code }: RequestLine): boolean {
  return apiKeyId === null && code !== "internal_error";
}

/** Runs a call inside a span of its operation. Without tracing this costs a microsecond. */
export type ObserveCall = <T>(pass: Pass<Principal>, run: () => Promise<T>) => Promise<T>;

/** `OTEL_*` decides whether these spans are exported (src/main/telemetry/tracing.ts). */
export const observeCall: ObserveCall = async (pass, run) => {
  const { operation, caller, requestId } = pass;
  const attributes = {
    "rpc.system": "connect_rpc",
    "rpc.service": operation.method.parent.typeName,
    "rpc.method": operation.method.name,
    "billing.organisation_id": organisationIdOf(caller) ?? "",
    "billing.api_key_id": credentialIdOf(caller),
    "billing.request_id": requestId,
  };
  const span = trace
    .getTracer("billing")
    .startSpan(operation.name, { kind: SpanKind.SERVER, attributes });
  try {
    return await context.with(trace.setSpan(context.active(), span), run);
  } catch (error) {
    const code = error instanceof Refusal ? error.code : "internal_error";
    span.setAttribute("billing.outcome", code);
    // A refusal is an answer, not a fault. Its message may hold what a client sent, so only codes
    // are traced.
    if (!(error instanceof Refusal) || error.row.status >= 500) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: code });
    }
    throw error;
  } finally {
    span.end();
  }
};
