/** Observes the calls of a Temporal client that start or signal workflows. */
import type { WorkflowClientInterceptor } from "@temporalio/client";

/** A call as the metrics name it. */
export type ClientCall = "start" | "signal" | "signal_with_start";

/** Gets a finished call with its duration in milliseconds, its retries included. */
export type ObserveClientCall = (call: ClientCall, isDone: boolean, tookMs: number) => void;

/** Returns the interceptor. It changes no call. */
export function observedCalls(observe: ObserveClientCall): WorkflowClientInterceptor {
  const measured = async <T>(call: ClientCall, run: () => Promise<T>): Promise<T> => {
    const beganMs = performance.now();
    let isDone = false;
    try {
      const result = await run();
      isDone = true;
      return result;
    } finally {
      observe(call, isDone, performance.now() - beganMs);
    }
  };
  return {
    startWithDetails: (input, next) => measured("start", () => next(input)),
    signal: (input, next) => measured("signal", () => next(input)),
    signalWithStart: (input, next) => measured("signal_with_start", () => next(input)),
  };
}
