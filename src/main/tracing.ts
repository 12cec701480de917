/**
 * OpenTelemetry by its standard environment variables, started only where they ask for it: the SDK costs half a second of
 * every start. Spans are made through @opentelemetry/api, which does nothing until then.
 */

/** Ends the export: what is still held is sent. */
export type StopTracing = () => Promise<void>;

/** Any of these asks for an export. `OTEL_SDK_DISABLED=true` and exporters of `none` forbid it. */
const asking = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER"] as const;

/** Whether the environment asks for traces. Source: OpenTelemetry's specification of its environment variables. */
export function wantsTracing(env: NodeJS.ProcessEnv): boolean {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === "true" || env.OTEL_TRACES_EXPORTER === "none") return false;
  return asking.some((name) => Boolean(env[name]));
}

/** Starts the export of traces as the environment says; does nothing where it does not ask. Call it before anything else. */
export async function startTracing(env: NodeJS.ProcessEnv, serviceName: string): Promise<StopTracing> {
  if (!wantsTracing(env)) return async () => undefined;
  const { NodeSDK } = await import("@opentelemetry/sdk-node");
  // OTEL_SERVICE_NAME wins over this name; everything else the SDK reads by itself.
  const sdk = new NodeSDK(env.OTEL_SERVICE_NAME ? {} : { serviceName });
  sdk.start();
  return () => sdk.shutdown();
}
