/**
 * The state of sending to one endpoint, and the record of its finished attempts. One statement
 * records many attempts. WEBHOOK-5.
 */
import { setTimeout as wait } from "node:timers/promises";
import { crashPoint } from "../../../crash-points.ts";
import { breakerSteps, wholeTimeMs } from "../../../domain/events/retry-schedule.ts";
import type { Attempt } from "../../../store/events/delivery-attempts.ts";
import type { ClaimedDelivery } from "../../../store/events/delivery-claims.ts";
import type { EndpointKey } from "../../../store/events/due-endpoints.ts";
import type { DeliverParts, Progress } from "./delivery-dependencies.ts";

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
  claimSize: number;
  claimedAtMs: number;
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
