/**
 * Starts OpenTelemetry if its standard environment variables enable it. Otherwise nothing is
 * loaded, because the SDK adds half a second to every start. Spans use @opentelemetry/api, which
 * does nothing until the SDK starts.
 */

/** Stops the export after it has sent the buffered spans. */
type StopTracing = () => Promise<void>;

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
export async function startTracing(
  env: NodeJS.ProcessEnv,
  serviceName: string,
): Promise<StopTracing> {
  if (!wantsTracing(env)) return async () => undefined;
  const { NodeSDK } = await import("@opentelemetry/sdk-node");
  // OTEL_SERVICE_NAME takes precedence over this name. The SDK reads all other variables itself.
  const sdk = new NodeSDK(env.OTEL_SERVICE_NAME ? {} : { serviceName });
  sdk.start();
  return () => sdk.shutdown();
}
