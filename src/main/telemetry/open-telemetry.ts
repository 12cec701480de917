/**
 * OpenTelemetry's SDK and Temporal's interceptors for it. Only a process with traces loads this
 * file. Spans of workflows leave through the same processors as all others.
 */
import { NodeSDK, resources, type tracing } from "@opentelemetry/sdk-node";
// The SDK reads its exporters from the environment by this function, and shows them nowhere else.
import { getSpanProcessorsFromEnv } from "@opentelemetry/sdk-node/build/src/utils.js";
import {
  makeWorkflowExporter,
  OpenTelemetryActivityInboundInterceptor,
  OpenTelemetryWorkflowClientInterceptor,
} from "@temporalio/interceptors-opentelemetry-v2";
import type { Tracing } from "./tracing.ts";

/** Starts the SDK. Its standard variables choose exporter, sampler and resource. */
export function startOpenTelemetry(env: NodeJS.ProcessEnv, serviceName: string): Tracing {
  const spanProcessors = getSpanProcessorsFromEnv(undefined);
  const resource = resourceOf(env, serviceName);
  const sdk = new NodeSDK({ resource, spanProcessors });
  sdk.start();
  return {
    temporal: {
      client: [new OpenTelemetryWorkflowClientInterceptor()],
      activities: [
        (context) => ({ inbound: new OpenTelemetryActivityInboundInterceptor(context) }),
      ],
      sinks: { exporter: makeWorkflowExporter(allOf(spanProcessors), resource) },
    },
    stop: () => sdk.shutdown(),
  };
}

/** OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence over this name. */
function resourceOf(env: NodeJS.ProcessEnv, serviceName: string): resources.Resource {
  const defaults = resources.resourceFromAttributes({ "service.name": serviceName });
  const chosen = resources.detectResources({ detectors: [resources.envDetector] });
  const name = env.OTEL_SERVICE_NAME;
  const named = resources.resourceFromAttributes(name ? { "service.name": name } : {});
  return defaults.merge(chosen).merge(named);
}

/** One processor that passes each span to all of these. The SDK stops them. */
function allOf(processors: readonly tracing.SpanProcessor[]): tracing.SpanProcessor {
  return {
    onStart: (span, context) => {
      for (const processor of processors) processor.onStart(span, context);
    },
    onEnd: (span) => {
      for (const processor of processors) processor.onEnd(span);
    },
    forceFlush: async () => {
      await Promise.all(processors.map((processor) => processor.forceFlush()));
    },
    shutdown: async () => undefined,
  };
}
