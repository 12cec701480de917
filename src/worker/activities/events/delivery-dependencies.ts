/**
 * The dependencies and the progress of deliveries to an endpoint, and the end of exhausted ones.
 */
import { maxPauseMs, wholeTimeMs } from "../../../domain/events/retry-schedule.ts";
import type { DeliveryStore } from "../../../store/events/deliveries.ts";
import type { EndpointKey } from "../../../store/events/due-endpoints.ts";
import type { Poster } from "../../../webhooks/post.ts";
import type { DeliveryPace } from "./delivery-pace.ts";
import type { RequestPermits } from "./request-permits.ts";

/** The dependencies of deliveries. */
export interface DeliverParts {
  readonly store: DeliveryStore;
  readonly poster: Pick<Poster, "post">;
  readonly permits: RequestPermits;
  /** Pauses before each request. By default there is no pause. */
  readonly pace?: DeliveryPace;
  /** The pause after a delivery's first attempt. All other pauses are multiples of it. */
  readonly firstPauseMs: number;
  /** Called for each endpoint that is disabled because of bad or missing answers. */
  readonly onDisabled: (endpoint: EndpointKey, reason: string) => void;
  /** Called if an endpoint's secrets cannot be decrypted. */
  readonly onUndecryptable: (endpoint: EndpointKey, error: unknown) => void;
  /** Aborted when the process stops. Then nothing further is sent. */
  readonly stopping?: AbortSignal;
  /** Returns a number from 0 up to 1. `Math.random` by default. */
  readonly random?: () => number;
}

/** The progress of one activity. */
export interface Progress {
  delivered: number;
  failed: number;
  exhausted: number;
  dropped: number;
  /**
   * After `softEndMs` nothing is claimed unless a request is running. After `hardEndMs` nothing is
   * claimed at all. Both are times of `performance.now()`.
   */
  readonly softEndMs: number;
  readonly hardEndMs: number;
}

/** How late an attempt may be and still show that a worker was running. */
const lateMs = 10 * 60_000;

/**
 * Ends the deliveries whose 20 hours are over. Some may start again, or were resent in the
 * meantime.
 */
export async function exhaust(
  { store, firstPauseMs, onDisabled }: DeliverParts,
  key: EndpointKey,
  deliveryIds: readonly string[],
  progress: Progress,
): Promise<void> {
  if (deliveryIds.length === 0) return;
  const { exhausted, disabledReason } = await store.exhaust(key, deliveryIds, {
    wholeMs: wholeTimeMs(firstPauseMs),
    // A gap of two of the longest pauses is not an accident.
    awayMs: 2 * maxPauseMs(firstPauseMs) + lateMs,
  });
  progress.exhausted += exhausted;
  if (disabledReason !== null) onDisabled(key, disabledReason);
}
