/** Reads W3C Trace Context's header `traceparent`, and continues the trace that it names. */
import {
  type Context,
  context,
  isSpanContextValid,
  type SpanContext,
  TraceFlags,
  trace,
} from "@opentelemetry/api";

/** Version 00, and later versions, which may append more fields. */
const form = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;

/** Returns the span that a `traceparent` names, or null if it names none. */
export function readTraceparent(text: string | null | undefined): SpanContext | null {
  const [, traceId, spanId, flags] = form.exec(text ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  const found = { traceId, spanId, traceFlags, isRemote: true };
  return isSpanContextValid(found) ? found : null;
}

/** Returns a context whose spans are children of the span that `traceparent` names, if it does. */
export function continuedFrom(traceparent: string | null | undefined): Context {
  const parent = readTraceparent(traceparent);
  return parent === null ? context.active() : trace.setSpanContext(context.active(), parent);
}
