/**
 * Delivers what is due to one webhook endpoint, a few seconds at a time. The endpoint's state
 * decides whether deliveries are sent, wait or end. Its answers are in the database alone, because
 * operators read histories. decisions §3 "Webhook endpoint".
 */
import type { DeliveryBatches } from "../../../../workflows/contract.ts";
import { wholeTimeMs } from "../../../domain/events/retry-schedule.ts";
import type { EndpointState } from "../../../store/events/deliveries.ts";
import type { EndpointKey } from "../../../store/events/due-endpoints.ts";
import { type DeliverParts, exhaust, type Progress } from "./delivery-dependencies.ts";
import { sendDue } from "./send-due.ts";

/** The activity of an endpoint's deliveries. */
export interface DeliveryActivities {
  /** Sends what is due for some seconds. Throws where the database cannot be asked. */
  deliverDue(endpoint: EndpointKey): Promise<DeliveryBatches>;
}

/**
 * How long one activity sends: other endpoints wait for its place, and so does a worker that ends.
 */
const softMs = 5_000;

/** The same while an answer is missing: the endpoint's other requests go on meanwhile. */
const hardMs = 20_000;

/** Rows of a statement that ends deliveries: some tens of milliseconds. */
const endedAtOnce = 1_000;

/** Pause if another process holds all that is due. */
const heldMs = 1_000;

/** The activity over these parts. */
export function createDelivery(parts: DeliverParts): DeliveryActivities {
  return {
    deliverDue: async ({ organisationId, endpointId }) => {
      const nowMs = performance.now();
      const ends = { softEndMs: nowMs + softMs, hardEndMs: nowMs + hardMs };
      const progress: Progress = { delivered: 0, failed: 0, exhausted: 0, dropped: 0, ...ends };
      const nextInMs = await deliver(parts, { organisationId, endpointId }, progress);
      const { delivered, failed, exhausted, dropped } = progress;
      return { delivered, failed, exhausted, dropped, nextInMs };
    },
  };
}

/** Returns in how many milliseconds something is due. */
async function deliver(parts: DeliverParts, key: EndpointKey, progress: Progress): Promise<number | null> {
  const { store, stopping } = parts;
  for (;;) {
    const endpoint = await store.load(key);
    if (endpoint === null || endpoint.dueMs === null) return null;
    if (endpoint.dueMs > 0) return Math.ceil(Math.max(endpoint.dueMs, endpoint.openMs ?? 0));
    if (performance.now() >= progress.softEndMs || stopping?.aborted) return 0;
    if (endpoint.isDisabled) {
      const dropped = await store.endDue(key, endedAtOnce);
      progress.dropped += dropped;
      if (dropped === 0) return heldMs;
    } else if (isHeld(endpoint)) {
      if ((await exhaustHeld(parts, key, progress)) < endedAtOnce) return Math.ceil(endpoint.openMs);
    } else if ((await sendDue(parts, key, endpoint, progress)) === 0) {
      return heldMs;
    }
  }
}

function isHeld(endpoint: EndpointState): endpoint is EndpointState & { readonly openMs: number } {
  return endpoint.openMs !== null && endpoint.openMs > 0;
}

/**
 * An open breaker stops the requests, not the 20 hours: deliveries that wait for it are exhausted.
 * Returns how many were due to end.
 */
async function exhaustHeld(parts: DeliverParts, key: EndpointKey, progress: Progress): Promise<number> {
  const overdue = await parts.store.findOverdue(key, wholeTimeMs(parts.firstPauseMs), endedAtOnce);
  await exhaust(parts, key, overdue, progress);
  return overdue.length;
}
