/**
 * What every log line of a piece of work says: the trace, the request or the run, the organisation
 * and the job. It holds ids only, never secrets or personal data (INVARIANT-8).
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { trace } from "@opentelemetry/api";

/** The ids of one piece of work. They may be added while it runs. */
export interface LogContext {
  traceId?: string | null;
  readonly requestId?: string;
  readonly workflowId?: string;
  readonly activity?: string;
  organisationId?: string | null;
  readonly jobId?: string;
}

const storage = new AsyncLocalStorage<LogContext>();

/** Runs work whose log lines have these ids. */
export function withLogContext<T>(context: LogContext, run: () => T): T {
  return storage.run(context, run);
}

/** Adds ids to the context of the work that runs now. */
export function addToLogContext(
  ids: Partial<Pick<LogContext, "traceId" | "organisationId">>,
): void {
  const context = storage.getStore();
  if (context !== undefined) Object.assign(context, ids);
}

/** Returns the ids for a line of the work that runs now. Empty outside of any. */
export function logFields(): Readonly<Record<string, string>> {
  const context = storage.getStore();
  const traceId = trace.getActiveSpan()?.spanContext().traceId ?? context?.traceId;
  const fields: Record<string, string> = {};
  if (traceId) fields.traceId = traceId;
  if (context?.requestId) fields.requestId = context.requestId;
  if (context?.workflowId) fields.workflowId = context.workflowId;
  if (context?.activity) fields.activity = context.activity;
  if (context?.organisationId) fields.organisationId = context.organisationId;
  if (context?.jobId) fields.jobId = context.jobId;
  return fields;
}
