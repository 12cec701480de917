/** Adds the ids of an activity's run to all log lines that its work writes. */
import type { ActivityInterceptorsFactory } from "@temporalio/worker";
import { withLogContext } from "../telemetry/log-context.ts";

/** The ids in the first argument of an activity. A termination is a job with its id. */
interface Order {
  readonly organisationId?: string;
  readonly jobId?: string;
  readonly terminationId?: string;
}

/** Surrounds each activity. */
export const activityContext: ActivityInterceptorsFactory = ({ info }) => ({
  inbound: {
    execute: (input, next) => {
      const [order] = input.args;
      const { organisationId, jobId, terminationId } = (order ?? {}) as Order;
      const job = jobId ?? terminationId;
      const workflowId = info.workflowExecution?.workflowId;
      const context = {
        activity: info.activityType,
        ...(workflowId !== undefined && { workflowId }),
        ...(organisationId !== undefined && { organisationId }),
        ...(job !== undefined && { jobId: job }),
      };
      return withLogContext(context, () => next(input));
    },
  },
});
