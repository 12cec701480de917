/**
 * Loads the libraries of traces once for each thread of a worker, inside the bundle of the
 * workflows. Otherwise each run would load them again. Temporal freezes what is loaded here, so no
 * run can change what another one sees.
 */
import "@temporalio/interceptors-opentelemetry-v2/lib/workflow/performance-polyfill.js";
import { trace } from "@opentelemetry/api";

// Exported, because the bundler drops the imports that nothing uses.
export * as api from "@opentelemetry/api";
export * as core from "@opentelemetry/core";
export * as sdk from "@opentelemetry/sdk-trace-base";
export * as workflow from "@temporalio/workflow";

// The interceptors set the tracer of their run as the global one, which would be that of all runs.
// They use their own, and nothing reads the global one.
Object.defineProperty(trace, "setGlobalTracerProvider", { value: () => true });
