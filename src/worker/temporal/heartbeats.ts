/** Heartbeats for every activity, so that the server notices within seconds that a worker was killed, and has it done again. */
import type { ActivityInterceptorsFactory } from "@temporalio/worker";

/** Several fit into the shortest `heartbeatTimeout` of `workflows/policies.ts`; the SDK sends only as many as are needed. */
const everyMs = 2_000;

/** Beats from the activity's begin to its end. */
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
