/**
 * Starts OpenTelemetry if its standard environment variables enable it. Otherwise nothing is
 * loaded, because the SDK adds half a second to every start. Spans use @opentelemetry/api, which
 * does nothing until the SDK starts.
 */
import type { WorkflowClientInterceptor } from "@temporalio/client";
import type { ActivityInterceptorsFactory, InjectedSinks } from "@temporalio/worker";
import type { Sinks } from "@temporalio/workflow";

/** The parts of Temporal's client and worker that carry a trace through it. */
export interface TemporalTracing {
  readonly client: WorkflowClientInterceptor[];
  readonly activities: ActivityInterceptorsFactory[];
  /** Gets the spans of workflows, which run without access to the network. */
  readonly sinks: InjectedSinks<Sinks>;
}

/** The tracing of a process. */
export interface Tracing {
  /** Null if traces are off. */
  readonly temporal: TemporalTracing | null;
  /** Stops the export after it has sent the buffered spans. */
  stop(): Promise<void>;
}

/** Takes the spans of workflows without traces. Without it the SDK warns of each of them. */
export const droppedSpans: InjectedSinks<Sinks> = {
  exporter: { export: { fn: () => undefined, callDuringReplay: false } },
};

/** The tracing of a process without traces. */
export const noTracing: Tracing = { temporal: null, stop: async () => undefined };

/**
 * Any of these enables the export. `OTEL_SDK_DISABLED=true` and an exporter of `none` disable it.
 */
const asking = [
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  "OTEL_TRACES_EXPORTER",
] as const;

/** Whether the environment enables traces, by OpenTelemetry's specification of its variables. */
export function wantsTracing(env: NodeJS.ProcessEnv): boolean {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === "true" || env.OTEL_TRACES_EXPORTER === "none")
    return false;
  return asking.some((name) => Boolean(env[name]));
}

/** Starts the export of traces if the environment enables it. Call it before anything else. */
export async function startTracing(env: NodeJS.ProcessEnv, serviceName: string): Promise<Tracing> {
  return wantsTracing(env)
    ? (await import("./open-telemetry.ts")).startOpenTelemetry(env, serviceName)
    : noTracing;
}
