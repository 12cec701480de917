/**
 * Delivers what is due to one webhook endpoint, a few seconds at a time: what its state allows, and
 * the end of what cannot be sent. What the endpoint answered is in the database alone, since
 * histories are read by operators. decisions §3 "Webhook endpoint".
 */
import type { DeliveryBatches } from "../../workflows/contract.ts";
import { wholeTimeMs } from "../domain/webhook-retry.ts";
import type { EndpointState } from "../store/deliveries.ts";
import type { EndpointKey } from "../store/due-endpoints.ts";
import { type DeliverParts, exhaust, type Progress } from "./delivery-parts.ts";
import { sendDue } from "./send-due.ts";

/** The activity of an endpoint's deliveries. */
export interface DeliveryActivities {
  /** Sends what is due for some seconds. Throws where the database cannot be asked. */
  deliverDue(endpoint: EndpointKey): Promise<DeliveryBatches>;
}

/**
 * For how long it sends: other endpoints wait for its place, and a worker that ends waits for it.
 */
const softMs = 5_000;

/** The same while an answer is long in coming: the other requests go on meanwhile. */
const hardMs = 20_000;

/** Rows of a statement that ends deliveries: some tens of milliseconds. */
const endedAtOnce = 1_000;

/** What is due and held by another process is asked for again after so long. */
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

/** Answers in how many milliseconds something is due. */
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
 * Nothing is sent to an endpoint whose breaker is open, and the time of what waits for it goes on.
 * Answers how many were looked at.
 */
async function exhaustHeld(parts: DeliverParts, key: EndpointKey, progress: Progress): Promise<number> {
  const overdue = await parts.store.findOverdue(key, wholeTimeMs(parts.firstPauseMs), endedAtOnce);
  await exhaust(parts, key, overdue, progress);
  return overdue.length;
}
