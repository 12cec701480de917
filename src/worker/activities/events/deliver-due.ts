/**
 * Delivers what is due to one webhook endpoint, a few seconds at a time. The endpoint's state
 * decides whether deliveries are sent, wait or end. Its answers are stored only in the database,
 * because operators read histories. WEBHOOK-4.
 */
import type { DeliveryBatches } from "../../../../workflows/contract.ts";
import { wholeTimeMs } from "../../../domain/events/retry-schedule.ts";
import type { EndpointState } from "../../../store/events/deliveries.ts";
import type { EndpointKey } from "../../../store/events/due-endpoints.ts";
import { sendDue } from "./send-due.ts";
import { type DeliverParts, exhaust, type Progress } from "./sending.ts";

/**
 * How long one activity sends. Other endpoints wait for its place, and so does a stopping worker.
 */
const softMs = 5_000;

/**
 * The same limit while an answer is missing. The endpoint's other requests continue in the
 * meantime.
 */
const hardMs = 20_000;

/** Rows of a statement that ends deliveries. It takes some tens of milliseconds. */
const endedAtOnce = 1_000;

/** The pause if another process holds all due deliveries. */
const claimedPauseMs = 1_000;

/** Creates the activity over these dependencies. */
export function createDelivery(parts: DeliverParts) {
  return {
    /** Sends what is due for some seconds. Throws if the database cannot be queried. */
    deliverDue: async ({ organisationId, endpointId }: EndpointKey): Promise<DeliveryBatches> => {
      const nowMs = performance.now();
      const ends = { softEndMs: nowMs + softMs, hardEndMs: nowMs + hardMs };
      const progress: Progress = { delivered: 0, failed: 0, exhausted: 0, dropped: 0, ...ends };
      const nextInMs = await deliver(parts, { organisationId, endpointId }, progress);
      const { delivered, failed, exhausted, dropped } = progress;
      return { delivered, failed, exhausted, dropped, nextInMs };
    },
  };
}

/** The activity of an endpoint's deliveries. */
export type DeliveryActivities = ReturnType<typeof createDelivery>;

/** Returns in how many milliseconds something is due. */
async function deliver(
  parts: DeliverParts,
  key: EndpointKey,
  progress: Progress,
): Promise<number | null> {
  const { store, stopping } = parts;
  for (;;) {
    const endpoint = await store.load(key);
    if (endpoint === null || endpoint.dueMs === null) return null;
    if (endpoint.dueMs > 0) return Math.ceil(Math.max(endpoint.dueMs, endpoint.openMs ?? 0));
    if (performance.now() >= progress.softEndMs || stopping?.aborted) return 0;
    if (endpoint.isDisabled) {
      const dropped = await store.endDue(key, endedAtOnce);
      progress.dropped += dropped;
      if (dropped === 0) return claimedPauseMs;
    } else if (isBreakerOpen(endpoint)) {
      if ((await exhaustOverdue(parts, key, progress)) < endedAtOnce)
        return Math.ceil(endpoint.openMs);
    } else if ((await sendDue(parts, key, endpoint, progress)) === 0) {
      return claimedPauseMs;
    }
  }
}

function isBreakerOpen(
  endpoint: EndpointState,
): endpoint is EndpointState & { readonly openMs: number } {
  return endpoint.openMs !== null && endpoint.openMs > 0;
}

/**
 * Ends deliveries that wait for an open breaker longer than the 20 hours (WEBHOOK-2). The breaker
 * stops the requests, not that time. Returns how many were due to end.
 */
async function exhaustOverdue(
  parts: DeliverParts,
  key: EndpointKey,
  progress: Progress,
): Promise<number> {
  const overdue = await parts.store.findOverdue(key, wholeTimeMs(parts.firstPauseMs), endedAtOnce);
  await exhaust(parts, key, overdue, progress);
  return overdue.length;
}
