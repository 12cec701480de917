/**
 * Shows whether a worker process has work besides the deliveries of webhooks. Deliveries leave time
 * to it, and use the time of a process that has none.
 */
import type { ActivityInterceptorsFactory } from "@temporalio/worker";
import type { DeliveryActivities } from "../activities/events/deliver-due.ts";
import type { PostingActivities } from "../activities/posting/posting.ts";

/** The work of a process besides deliveries. */
export interface OtherWork {
  /** Whether there is such work, or was some within the last seconds. */
  readonly isThere: () => boolean;
  /** Notes the wake-up of a standing batch. */
  readonly woken: () => void;
  /** Notes each activity. */
  readonly interceptor: ActivityInterceptorsFactory;
}

/** How long there still is work after the last of it: more follows in a process that has some. */
const afterMs = 2_000;

const deliveries: keyof DeliveryActivities = "deliverDue";

/** Its batches mostly stand and wait for a caller, so only their ends and wake-ups are work. */
const posting: keyof PostingActivities = "postBatch";

/** Creates it for one process. `now` is in milliseconds. */
export function createOtherWork(now: () => number = () => performance.now()): OtherWork {
  let running = 0;
  let untilMs = Number.NEGATIVE_INFINITY;
  const woken = () => {
    untilMs = now() + afterMs;
  };
  return {
    isThere: () => running > 0 || now() < untilMs,
    woken,
    interceptor: ({ info: { activityType } }) => ({
      inbound: {
        execute: async (input, next) => {
          if (activityType === deliveries) return next(input);
          const isCounted = activityType !== posting;
          if (isCounted) running += 1;
          woken();
          try {
            return await next(input);
          } finally {
            if (isCounted) running -= 1;
            woken();
          }
        },
      },
    }),
  };
}
