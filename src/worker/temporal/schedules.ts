/**
 * The schedules of the service. They belong to a deployment: `npm run schedules` creates or changes
 * them, and no worker does. Each run asks the database what is due, so the next run makes up for a
 * missed one (PERIOD-4).
 */
import {
  type Client,
  isGrpcServiceError,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type ScheduleOptions,
  type ScheduleOptionsStartWorkflowAction,
  ScheduleOverlapPolicy,
  WorkflowNotFoundError,
} from "@temporalio/client";
import type { Workflow } from "@temporalio/common";
import {
  billingRunType,
  billingScheduleId,
  ledgerSyncScheduleId,
  ledgerSyncStartsType,
  outboxRelayType,
  outboxScheduleId,
} from "../../../workflows/contract.ts";
import type { WorkerLog } from "./run-worker.ts";
import { typedAttributes } from "./search-attributes.ts";

/** The interval of each schedule. What falls due at midnight begins within the minute. */
const everyMinute = "1 minute";

/** How late a run may start. The next run finds all that a missed one would have found. */
const catchupWindow = "1 minute";

/**
 * How long a run may take. It only starts workflows, and the next run must not wait for a stuck
 * one.
 */
const runTimeout = "10 minutes";

/** The pause before schedules that could not be read are read again. */
const retryMs = 10_000;

/** gRPC's code for a method that the server does not have. */
const unimplemented = 12;

/**
 * The schedules use another task queue. If this worker took them over, the workers of that queue
 * would get no more runs, and billing would stop once this worker is gone.
 */
export class OtherQueue extends Error {
  constructor(used: string, own: string) {
    super(
      `The schedules of this Temporal namespace use the task queue ${used}, this worker ${own}. ` +
        `Set TASK_QUEUE=${used}, or give this installation its own TEMPORAL_NAMESPACE. ` +
        `To move the schedules for good, stop the workers of ${used} and run ` +
        `TASK_QUEUE=${own} npm run schedules -- --move.`,
    );
  }
}

/**
 * A schedule. Its id is also the id of its runs. `offset` is the second of the minute, so that they
 * do not begin at once.
 */
const schedules = [
  {
    id: billingScheduleId,
    type: billingRunType,
    offset: "0 seconds",
    summary: "starts the billing of organisations that have something due",
    kind: "billing_run",
  },
  {
    id: outboxScheduleId,
    type: outboxRelayType,
    offset: "15 seconds",
    summary: "starts the publishing of organisations with outbox entries",
    kind: "outbox_relay",
  },
  {
    id: ledgerSyncScheduleId,
    type: ledgerSyncStartsType,
    offset: "30 seconds",
    summary: "starts the ledger sync of organisations with something to read",
    kind: "ledger_sync_starts",
  },
] as const;

type Schedules = Pick<Client, "schedule">;

/** The ids of the schedules. */
export const scheduleIds: readonly string[] = schedules.map(({ id }) => id);

/**
 * Creates or updates the schedules. An operator's pause stays. Throws OtherQueue, and changes
 * nothing, if they use another task queue.
 */
export async function ensureSchedules(client: Schedules, taskQueue: string): Promise<void> {
  await assertOwnQueue(client, taskQueue);
  for (const schedule of schedules) await ensureSchedule(client, taskQueue, schedule, false);
}

/** Throws OtherQueue if one of the schedules uses another task queue. A missing one does not. */
export async function assertOwnQueue(client: Schedules, taskQueue: string): Promise<void> {
  for (const { id } of schedules) await refuseOther(client, id, taskQueue);
}

async function refuseOther({ schedule }: Schedules, id: string, taskQueue: string): Promise<void> {
  try {
    const { action } = await schedule.getHandle(id).describe();
    if (action.taskQueue !== taskQueue) throw new OtherQueue(action.taskQueue, taskQueue);
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  }
}

/**
 * Creates or updates the schedules whatever task queue they use. Terminates their open runs on
 * another queue, because an open run keeps the next one from starting. The next run would find the
 * same work.
 */
export async function moveSchedules(
  client: Pick<Client, "schedule" | "workflow">,
  taskQueue: string,
): Promise<void> {
  for (const schedule of schedules) {
    await ensureSchedule(client, taskQueue, schedule, true);
    const { info } = await client.schedule.getHandle(schedule.id).describe();
    for (const { workflow } of info.runningActions) {
      await endRun(client, workflow.workflowId, taskQueue);
    }
  }
}

/** Terminates an open run on another queue. */
async function endRun(
  client: Pick<Client, "workflow">,
  workflowId: string,
  taskQueue: string,
): Promise<void> {
  const run = client.workflow.getHandle(workflowId);
  try {
    const { taskQueue: queue } = await run.describe();
    if (queue !== taskQueue)
      await run.terminate(`the schedules were moved to the task queue ${taskQueue}`);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

async function ensureSchedule(
  { schedule }: Pick<Client, "schedule">,
  taskQueue: string,
  { id, type, offset, summary, kind }: (typeof schedules)[number],
  mayMove: boolean,
): Promise<void> {
  const options: Omit<
    ScheduleOptions<ScheduleOptionsStartWorkflowAction<Workflow>>,
    "scheduleId" | "state"
  > = {
    spec: { intervals: [{ every: everyMinute, offset }] },
    action: {
      type: "startWorkflow",
      workflowType: type,
      workflowId: id,
      taskQueue,
      args: [],
      workflowExecutionTimeout: runTimeout,
      staticSummary: summary,
      typedSearchAttributes: typedAttributes({ JobKind: kind }),
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow },
  };
  try {
    await schedule.create({ scheduleId: id, ...options });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await schedule.getHandle(id).update(({ state, action }) => {
      if (!mayMove && action.taskQueue !== taskQueue)
        throw new OtherQueue(action.taskQueue, taskQueue);
      return { ...options, state };
    });
  }
}

/** The check of a worker's start, with retries. `refused` rejects if a retry throws OtherQueue. */
export interface QueueCheck {
  readonly refused: Promise<never>;
  stop(): void;
}

/**
 * Checks that no schedule uses another task queue, and retries until it knows. Resolves after the
 * first try. Rejects with OtherQueue. A server without schedules is logged once.
 */
export async function refuseOtherQueue(
  client: Schedules,
  taskQueue: string,
  log: WorkerLog,
): Promise<QueueCheck> {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const refused = Promise.withResolvers<never>();
  const check = async (): Promise<void> => {
    try {
      await assertOwnQueue(client, taskQueue);
    } catch (err) {
      if (err instanceof OtherQueue) throw err;
      const isLacking = isUnimplemented(err);
      log.warn({ err }, `the schedules could not be read${isLacking ? "" : "; trying again"}`);
      if (!isLacking && !stopped) timer = setTimeout(() => check().catch(refused.reject), retryMs);
    }
  };
  await check();
  return {
    refused: refused.promise,
    stop: () => {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** Returns the message of an error, with that of the server's error, which the library wraps. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

/** Whether the server has no schedules at all. The library may wrap its error. */
export function isUnimplemented(error: unknown): boolean {
  if (isGrpcServiceError(error)) return error.code === unimplemented;
  return error instanceof Error && error.cause !== undefined && isUnimplemented(error.cause);
}
