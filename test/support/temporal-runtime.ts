/**
 * The runtime of Temporal's SDK in a test process: there is one for all files that the process
 * runs.
 */
import { DefaultLogger, makeTelemetryFilterString, Runtime } from "@temporalio/worker";

let isInstalled = false;

/**
 * Installs it once. It logs errors only, because warnings of repeated tasks belong to what is
 * tested.
 */
export function quietRuntime(): void {
  if (isInstalled) return;
  const filter = makeTelemetryFilterString({ core: "ERROR", other: "ERROR" });
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger("ERROR"),
    telemetryOptions: { logging: { filter } },
  });
  isInstalled = true;
}
