/**
 * Keeps the trace of a request with the work that it leaves. A transaction within a trace passes it
 * to PostgreSQL as `billing.traceparent`. The columns `traceparent` of jobs and outbox entries have
 * it as their default. Without a trace nothing is sent, and the columns are null.
 */
import { type Span, SpanKind, SpanStatusCode, TraceFlags, trace } from "@opentelemetry/api";

/** Returns the span as W3C Trace Context's `traceparent`, or null if it is not sampled. */
export function traceparentOf(span: Span | undefined): string | null {
  if (span === undefined) return null;
  const { traceId, spanId, traceFlags } = span.spanContext();
  return traceFlags & TraceFlags.SAMPLED ? `00-${traceId}-${spanId}-01` : null;
}

/** Whether the work that runs now belongs to a trace. */
export function isTraced(): boolean {
  return trace.getActiveSpan() !== undefined;
}

/** Whether the spans of the trace under way are recorded. */
export function isRecorded(): boolean {
  return trace.getActiveSpan()?.isRecording() === true;
}

/**
 * Runs a transaction inside a span if a trace is under way. `run` gets the statements that begin
 * the transaction.
 */
export async function inTransactionSpan<T>(
  begin: string,
  run: (begin: string) => Promise<T>,
): Promise<T> {
  if (!isTraced()) return run(begin);
  const settings = { kind: SpanKind.CLIENT, attributes: { "db.system.name": "postgresql" } };
  return trace.getTracer("billing").startActiveSpan("transaction", settings, async (span) => {
    const traceparent = traceparentOf(span);
    try {
      return await run(
        traceparent === null ? begin : `${begin}; SET LOCAL billing.traceparent = '${traceparent}'`,
      );
    } catch (error) {
      // The message may have values of a row.
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}
