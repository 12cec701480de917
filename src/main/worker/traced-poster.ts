/** Sends webhook requests inside a span of the trace that the event is about. */
import { SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { traceparentOf } from "../../store/database/trace-context.ts";
import type { Poster } from "../../webhooks/post.ts";
import { continuedFrom } from "../telemetry/trace-parent.ts";

/**
 * Returns the poster. A request with a `traceparent` gets that of its span, so that the receiver
 * continues the trace. Without traces the header stays as it is.
 */
export function tracedPoster(poster: Pick<Poster, "post">): Pick<Poster, "post"> {
  return {
    post: async (request) => {
      const { traceparent } = request.headers;
      const active = trace.getActiveSpan();
      if (traceparent === undefined || active === undefined) return poster.post(request);
      const settings = { kind: SpanKind.CLIENT, links: [{ context: active.spanContext() }] };
      const parent = continuedFrom(traceparent);
      const run = async () => {
        const span = trace.getActiveSpan();
        const spanTraceparent = traceparentOf(span) ?? traceparent;
        try {
          const headers = { ...request.headers, traceparent: spanTraceparent };
          const posted = await poster.post({ ...request, headers });
          if (posted.kind === "answered")
            span?.setAttribute("http.response.status_code", posted.status);
          else span?.setStatus({ code: SpanStatusCode.ERROR });
          return posted;
        } finally {
          span?.end();
        }
      };
      return trace.getTracer("billing").startActiveSpan("deliver event", settings, parent, run);
    },
  };
}
