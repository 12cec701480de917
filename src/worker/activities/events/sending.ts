/**
 * The state of sending to one endpoint, and the record of its finished attempts. One statement
 * records many attempts. WEBHOOK-5.
 */
import { setTimeout as wait } from "node:timers/promises";
import { crashPoint } from "../../../crash-points.ts";
import { breakerSteps, maxPauseMs, wholeTimeMs } from "../../../domain/events/retry-schedule.ts";
import type { DeliveryStore } from "../../../store/events/deliveries.ts";
import type { Attempt } from "../../../store/events/delivery-attempts.ts";
import type { ClaimedDelivery } from "../../../store/events/delivery-claims.ts";
import type { EndpointKey } from "../../../store/events/due-endpoints.ts";
import type { Poster } from "../../../webhooks/post.ts";
import type { DeliveryPace, RequestPermits } from "./delivery-pace.ts";

/**
 * Pauses after a failed record. If the answers were lost, all their deliveries would be sent again.
 */
const recordPausesMs = [200, 1_000];

/** The state of sending to one endpoint. */
export interface Sending {
  readonly parts: DeliverParts;
  readonly key: EndpointKey;
  readonly progress: Progress;
  readonly isProbe: boolean;
  readonly waiting: ClaimedDelivery[];
  /** Attempts that are not recorded yet. */
  done: Done[];
  target: Target;
  /** Consecutive failures, including those not recorded yet. */
  failures: number;
  claimed: number;
  underWay: number;
  isOver: boolean;
  claiming: Promise<void> | null;
}

/** A finished attempt: where it went, and when (`performance.now()`). */
interface Done {
  readonly url: string;
  readonly sentAtMs: number;
  readonly attempt: Omit<Attempt, "agoMs">;
}

/** The address, and the secrets that sign. */
interface Target {
  readonly url: string;
  readonly secrets: readonly string[];
}

/** Records the attempts since the last record, with one statement for each address. */
export async function record(sending: Sending): Promise<void> {
  const done = sending.done;
  sending.done = [];
  for (const [url, sent] of Map.groupBy(done, (one) => one.url)) await recordOf(sending, url, sent);
}

async function recordOf(
  { parts, key, progress, isProbe }: Sending,
  url: string,
  sent: readonly Done[],
): Promise<void> {
  const { store, firstPauseMs, onDisabled } = parts;
  const recorded = await repeated(() =>
    store.record(key, {
      attempts: sent.map(({ attempt, sentAtMs }) => ({
        ...attempt,
        agoMs: performance.now() - sentAtMs,
      })),
      url,
      isProbe,
      breakerSteps: breakerSteps(firstPauseMs),
      wholeMs: wholeTimeMs(firstPauseMs),
    }),
  );
  crashPoint("delivery_saved");
  progress.delivered += recorded.delivered;
  progress.dropped += recorded.dropped;
  if (recorded.hasDisabled) {
    const gone = sent.find(({ attempt }) => attempt.verdict === "gone");
    onDisabled(key, gone?.attempt.error ?? "");
  }
}

async function repeated<T>(work: () => Promise<T>): Promise<T> {
  for (const pauseMs of recordPausesMs) {
    try {
      return await work();
    } catch {
      await wait(pauseMs);
    }
  }
  return work();
}

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
