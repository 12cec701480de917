/**
 * The dependencies and the progress of deliveries to an endpoint, and the end of exhausted ones.
 */
import { longestPauseMs, wholeTimeMs } from "../../../domain/events/retry-schedule.ts";
import type { DeliveryStore } from "../../../store/events/deliveries.ts";
import type { EndpointKey } from "../../../store/events/due-endpoints.ts";
import type { Poster } from "../../../webhooks/post.ts";
import type { DeliveryPace } from "./delivery-pace.ts";
import type { RequestPermits } from "./request-permits.ts";

/** What deliveries need. */
export interface DeliverParts {
  readonly store: DeliveryStore;
  readonly poster: Pick<Poster, "post">;
  readonly permits: RequestPermits;
  /** Pauses before each request; not at all by default. */
  readonly pace?: DeliveryPace;
  /** The pause after a delivery's first attempt, of which all others are multiples. */
  readonly firstPauseMs: number;
  /** Called for each endpoint that is disabled because of its answers, or the lack of them. */
  readonly onDisabled: (endpoint: EndpointKey, reason: string) => void;
  /** Called if an endpoint's secrets cannot be opened. */
  readonly onEncrypted: (endpoint: EndpointKey, error: unknown) => void;
  /** The process is to end: nothing further is sent. */
  readonly stopping?: AbortSignal;
  /** From 0 up to 1; `Math.random` by default. */
  readonly random?: () => number;
}

/** What one activity has done so far. */
export interface Progress {
  delivered: number;
  failed: number;
  exhausted: number;
  dropped: number;
  /**
   * From when on nothing is claimed unless a request is under way, and from when on nothing is
   * (`performance.now()`).
   */
  readonly softEndMs: number;
  readonly hardEndMs: number;
}

/** How late an attempt may come and still show that a worker was there. */
const lateMs = 10 * 60_000;

/** Ends the deliveries whose 20 hours are over. Some may begin again, or were resent meanwhile. */
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
