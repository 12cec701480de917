/**
 * Shows whether a worker process has work besides the deliveries of webhooks. Deliveries leave time
 * to it, and use the time of a process that has none.
 */
import type { ActivityInterceptorsFactory } from "@temporalio/worker";
import type { DeliveryActivities } from "../activities/events/deliver-due.ts";

/** The work of a process besides deliveries. */
export interface OtherWork {
  /** Whether there is such work, or was some within the last seconds. */
  readonly isThere: () => boolean;
  /** Runs the wait of a lingering batch, which is no work although its activity runs. */
  readonly whileLingering: <T>(wait: () => Promise<T>) => Promise<T>;
  /** Counts each activity as long as it runs. */
  readonly interceptor: ActivityInterceptorsFactory;
}

/** How long there still is work after the last of it: more follows in a process that has some. */
const afterMs = 2_000;

const deliveries: keyof DeliveryActivities = "deliverDue";

/** Creates it for one process. `now` is in milliseconds. */
export function createOtherWork(now: () => number = () => performance.now()): OtherWork {
  let running = 0;
  let untilMs = Number.NEGATIVE_INFINITY;
  const begin = () => {
    running += 1;
  };
  const end = () => {
    running -= 1;
    untilMs = now() + afterMs;
  };
  return {
    isThere: () => running > 0 || now() < untilMs,
    whileLingering: async (wait) => {
      end();
      try {
        return await wait();
      } finally {
        begin();
      }
    },
    interceptor: ({ info: { activityType } }) => ({
      inbound: {
        execute: async (input, next) => {
          if (activityType === deliveries) return next(input);
          begin();
          try {
            return await next(input);
          } finally {
            end();
          }
        },
      },
    }),
  };
}
