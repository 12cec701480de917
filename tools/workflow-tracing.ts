/**
 * Carries a trace through the workflows, inside whose bundle this file is. A run that never pauses
 * would put the work of thousands of requests into the trace of the one that started it. So its
 * trace ends after a number of activities, and a continued run begins another one.
 */
import {
  OpenTelemetryInboundInterceptor,
  OpenTelemetryInternalsInterceptor,
  OpenTelemetryOutboundInterceptor,
} from "@temporalio/interceptors-opentelemetry-v2/lib/workflow/index.js";
import type { WorkflowInterceptors, WorkflowOutboundCallsInterceptor } from "@temporalio/workflow";

/**
 * Activities of a run that belong to its trace. An end or an amendment takes fewer. Each later one
 * is a separate trace, with the ids of workflow and run.
 */
const tracedActivities = 10;

/** Temporal calls it for each run. The name is Temporal's. */
export const interceptors = (): WorkflowInterceptors => ({
  inbound: [new OpenTelemetryInboundInterceptor()],
  outbound: [outbound()],
  internals: [new OpenTelemetryInternalsInterceptor()],
});

/** Without `continueAsNew`, which would pass the trace on for ever. */
function outbound(): WorkflowOutboundCallsInterceptor {
  const traced = new OpenTelemetryOutboundInterceptor();
  let scheduled = 0;
  return {
    scheduleActivity: (input, next) => {
      scheduled += 1;
      return scheduled > tracedActivities ? next(input) : traced.scheduleActivity(input, next);
    },
    startChildWorkflowExecution: (input, next) => traced.startChildWorkflowExecution(input, next),
    signalWorkflow: (input, next) => traced.signalWorkflow(input, next),
    getLogAttributes: (input, next) => traced.getLogAttributes(input, next),
  };
}
