/**
 * The pace of requests to webhook endpoints. A worker process does other work, and callers wait for
 * some of it. Each request pauses longer while the process has less than half of its time free.
 */
import { performance } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";

/** Pauses before a request. Returns at once if the process has time. */
export type DeliveryPace = () => Promise<void>;

/** The share of its time that the process may be busy before requests pause. */
const share = 0.5;

/** How often the share is measured. A shorter window would measure single statements. */
const windowMs = 25;

/** The longest pause. Each of five requests still continues at least ten times a second. */
const longestMs = 100;

/** How a pause grows above the share and shrinks below it, with each window. */
const [growth, leastMs, shrinking] = [1.5, 1, 0.7];

/** The share of time since the last call that the event loop was busy, from 0 to 1. */
type MeasureShare = () => number;

function measureProcess(): MeasureShare {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}

/** Creates the pace of one process. `now` is in milliseconds. */
export function createDeliveryPace(
  measure: MeasureShare = measureProcess(),
  now: () => number = () => performance.now(),
  pause: (ms: number) => Promise<unknown> = wait,
): DeliveryPace {
  let measuredMs = now();
  let pauseMs = 0;
  return async () => {
    if (now() - measuredMs >= windowMs) {
      measuredMs = now();
      if (measure() > share) pauseMs = Math.min(Math.max(pauseMs * growth, leastMs), longestMs);
      else pauseMs = pauseMs * shrinking < leastMs ? 0 : pauseMs * shrinking;
    }
    if (pauseMs > 0) await pause(pauseMs);
  };
}
