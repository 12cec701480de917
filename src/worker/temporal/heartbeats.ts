/**
 * Sends heartbeats for every activity. By them the server notices a killed worker within seconds
 * and retries the activity.
 */
import type { ActivityInterceptorsFactory } from "@temporalio/worker";

/**
 * Several heartbeats fit into the shortest `heartbeatTimeout` of `workflows/policies.ts`. The SDK
 * sends only as many as needed.
 */
const everyMs = 2_000;

/** Sends heartbeats from the start of the activity to its end. */
export const beating: ActivityInterceptorsFactory = (context) => ({
  inbound: {
    execute: async (input, next) => {
      const timer = setInterval(() => context.heartbeat(), everyMs);
      try {
        return await next(input);
      } finally {
        clearInterval(timer);
      }
    },
  },
});
