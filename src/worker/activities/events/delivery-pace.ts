/**
 * The pace and the number of requests to webhook endpoints. A worker process does other work, and
 * callers wait for some of it: each request pauses longer while the process has less than half of
 * its time free.
 */
import { performance } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";

/** Pauses before a request. Returns at once if the process has time. */
export type DeliveryPace = () => Promise<void>;

/** The share of its time that the process may be busy before requests pause. */
const maxShare = 0.5;

/** How often the share is measured. A shorter window would measure single statements. */
const windowMs = 25;

/** The longest pause. Each of five requests still continues at least ten times a second. */
const maxMs = 100;

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
      if (measure() > maxShare) pauseMs = Math.min(Math.max(pauseMs * growth, leastMs), maxMs);
      else pauseMs = pauseMs * shrinking < leastMs ? 0 : pauseMs * shrinking;
    }
    if (pauseMs > 0) await pause(pauseMs);
  };
}

/**
 * Permits for requests to webhook endpoints. They limit the requests of one organisation in this
 * process: many slow endpoints of one organisation leave connections to the others. The first
 * request of an endpoint always gets a permit, so that no endpoint waits for slow ones.
 */

/** The permits of all organisations. */
export interface RequestPermits {
  /**
   * Takes a permit and returns its release function. Null if all are taken and the request is not
   * the endpoint's first.
   */
  take(organisationId: string, isFirst: boolean): (() => void) | null;
}

/** Concurrent requests to each endpoint. Small servers accept as many from one sender. */
export const requestsAtOnce = 5;

/** Concurrent requests for each organisation: four endpoints with five requests each. */
export const organisationRequestsAtOnce = 20;

/** Creates the permits of one process. */
export function createRequestPermits(): RequestPermits {
  const inUse = new Map<string, number>();
  return {
    take: (organisationId, isFirst) => {
      const count = inUse.get(organisationId) ?? 0;
      if (!isFirst && count >= organisationRequestsAtOnce) return null;
      inUse.set(organisationId, count + 1);
      return () => {
        const left = (inUse.get(organisationId) ?? 1) - 1;
        if (left > 0) inUse.set(organisationId, left);
        else inUse.delete(organisationId);
      };
    },
  };
}
