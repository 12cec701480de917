/**
 * Delivers what is due to one webhook endpoint, a few seconds at a time: what its state allows, and the end of what cannot be sent. What the endpoint
 * answered is in the database alone, since histories are read by operators. decisions §3 "Webhook endpoint".
 */
import type { DeliveryBatches } from "../../workflows/contract.ts";
import { longestPauseMs, wholeTimeMs } from "../domain/webhook-retry.ts";
import type { DeliveryStore, EndpointState } from "../store/deliveries.ts";
import type { EndpointKey } from "../store/due-endpoints.ts";
import type { Poster } from "../webhooks/post.ts";
import type { RequestPermits } from "./request-permits.ts";
import { sendDue } from "./send-due.ts";

/** What deliveries need. */
export interface DeliverParts {
  readonly store: DeliveryStore;
  readonly poster: Pick<Poster, "post">;
  readonly permits: RequestPermits;
  /** The pause after a delivery's first attempt, of which all others are multiples. */
  readonly firstPauseMs: number;
  /** Told of each endpoint that is disabled because of what it answered, or did not. */
  readonly onDisabled: (endpoint: EndpointKey, reason: string) => void;
  /** Told where an endpoint's secrets cannot be opened. */
  readonly onSealed: (endpoint: EndpointKey, error: unknown) => void;
  /** The process is to end: nothing further is sent. */
  readonly stopping?: AbortSignal;
  /** From 0 up to 1; by chance where it is left out. */
  readonly random?: () => number;
}

/** The activity of an endpoint's deliveries. */
export interface DeliveryActivities {
  /** Sends what is due for some seconds. Throws where the database cannot be asked. */
  deliverDue(endpoint: EndpointKey): Promise<DeliveryBatches>;
}

/** What one activity has done so far. */
export interface Progress {
  delivered: number;
  failed: number;
  exhausted: number;
  cancelled: number;
  /** From when on nothing is claimed unless a request is under way, and from when on nothing is (`performance.now()`). */
  readonly softEndMs: number;
  readonly hardEndMs: number;
}

/** For how long it sends: other endpoints wait for its place, and a worker that ends waits for it. */
const softMs = 5_000;

/** The same while an answer is long in coming: the other requests go on meanwhile. */
const hardMs = 20_000;

/** Rows of a statement that ends deliveries: some tens of milliseconds. */
const endedAtOnce = 1_000;

/** What is due and held by another process is asked for again after so long. */
const heldMs = 1_000;

/** How much later than planned an attempt may come without a sign that nobody was there. */
const lateMs = 10 * 60_000;

/** The activity over these parts. */
export function createDelivery(parts: DeliverParts): DeliveryActivities {
  return {
    deliverDue: async ({ organisationId, endpointId }) => {
      const nowMs = performance.now();
      const ends = { softEndMs: nowMs + softMs, hardEndMs: nowMs + hardMs };
      const progress: Progress = { delivered: 0, failed: 0, exhausted: 0, cancelled: 0, ...ends };
      const nextInMs = await deliver(parts, { organisationId, endpointId }, progress);
      const { delivered, failed, exhausted, cancelled } = progress;
      return { delivered, failed, exhausted, cancelled, nextInMs };
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
      const cancelled = await store.cancelDue(key, endedAtOnce);
      progress.cancelled += cancelled;
      if (cancelled === 0) return heldMs;
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

/** Nothing is sent to an endpoint whose breaker is open, and the time of what waits for it goes on. Answers how many were looked at. */
async function exhaustHeld(parts: DeliverParts, key: EndpointKey, progress: Progress): Promise<number> {
  const overdue = await parts.store.findOverdue(key, wholeTimeMs(parts.firstPauseMs), endedAtOnce);
  await exhaust(parts, key, overdue, progress);
  return overdue.length;
}

/** Ends those whose time is over. Others of them begin anew, or were resent meanwhile. */
export async function exhaust(
  { store, firstPauseMs, onDisabled }: DeliverParts,
  key: EndpointKey,
  deliveryIds: readonly string[],
  progress: Progress,
): Promise<void> {
  if (deliveryIds.length === 0) return;
  const { exhausted, disabledReason } = await store.exhaust(key, deliveryIds, {
    wholeMs: wholeTimeMs(firstPauseMs),
    // Two of the longest pauses are no chance.
    awayMs: 2 * longestPauseMs(firstPauseMs) + lateMs,
  });
  progress.exhausted += exhausted;
  if (disabledReason !== null) onDisabled(key, disabledReason);
}
