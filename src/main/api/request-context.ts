/** Surrounds each request with its trace and with the ids that all its log lines have. */
import { context, isSpanContextValid, trace } from "@opentelemetry/api";
import type { Within } from "../../transport/http/exchanges.ts";
import { organisationIdOf } from "../../transport/rpc/caller.ts";
import { type ObserveCall, observeCall } from "../../transport/rpc/observe.ts";
import { addToLogContext, withLogContext } from "../telemetry/log-context.ts";
import { continuedFrom, readTraceparent } from "../telemetry/trace-parent.ts";

/**
 * Continues the trace of the header `traceparent`. Without one, the call begins a trace if traces
 * are on.
 */
export const withinRequest: Within = (request, exchange, run) => {
  const { traceparent } = request.headers;
  const header = typeof traceparent === "string" ? traceparent : null;
  exchange.traceId = readTraceparent(header)?.traceId ?? null;
  withLogContext(exchange, () => context.with(continuedFrom(header), run));
};

/** Observes a call, and adds its organisation and its trace to the log lines of the request. */
export const observeInContext: ObserveCall = (pass, run) =>
  observeCall(pass, () => {
    const organisationId = organisationIdOf(pass.caller);
    const span = trace.getActiveSpan()?.spanContext();
    const isTraced = span !== undefined && isSpanContextValid(span);
    addToLogContext({ organisationId, ...(isTraced && { traceId: span.traceId }) });
    return run();
  });
