/**
 * What a deployment sets up in Temporal before its workers start: search attributes and the
 * schedule. `npm run schedules` creates or changes them, and no worker does. Each run asks the
 * database what is due, so the next run makes up for a missed one (PERIOD-4, ADMIN-27).
 */
import {
  type Client,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  type ScheduleOptions,
  type ScheduleOptionsStartWorkflowAction,
  ScheduleOverlapPolicy,
  WorkflowNotFoundError,
} from "@temporalio/client";
import type { Workflow } from "@temporalio/common";
import { billingRunType, billingScheduleId } from "../../../workflows/contract.ts";
import type { TemporalClient } from "./connect.ts";
import { ensureSearchAttributes, searchAttributes, typedAttributes } from "./search-attributes.ts";

/** The interval of the schedule. What falls due at midnight begins within the minute. */
const everyMinute = "1 minute";

/** How late a run may start. The next run finds all that a missed one would have found. */
const catchupWindow = "1 minute";

/**
 * How long a run may take. Its steps take less than a minute (`maxStepMs` of the workflows), so
 * only a run that waits for a worker takes longer. The next run must not wait for a stuck one.
 */
const runTimeout = "10 minutes";

/**
 * The schedule uses another task queue. If this worker took it over, the workers of that queue
 * would get no more runs, and billing would stop once this worker is gone.
 */
export class OtherQueue extends Error {
  constructor(used: string, own: string) {
    super(
      `The schedule of this Temporal namespace uses the task queue ${used}, this worker ${own}. ` +
        `Set TASK_QUEUE=${used}, or give this installation its own TEMPORAL_NAMESPACE. ` +
        `To move the schedule for good, stop the workers of ${used} and run ` +
        `TASK_QUEUE=${own} npm run schedules -- --move.`,
    );
  }
}

type Schedules = Pick<Client, "schedule">;

/**
 * Creates or updates the schedule. An operator's pause stays. Throws OtherQueue, and changes
 * nothing, if it uses another task queue.
 */
export async function ensureSchedule(client: Schedules, taskQueue: string): Promise<void> {
  await assertOwnQueue(client, taskQueue);
  await writeSchedule(client, taskQueue, false);
}

/** Throws OtherQueue if the schedule uses another task queue. A missing one does not. */
export async function assertOwnQueue({ schedule }: Schedules, taskQueue: string): Promise<void> {
  try {
    const { action } = await schedule.getHandle(billingScheduleId).describe();
    if (action.taskQueue !== taskQueue) throw new OtherQueue(action.taskQueue, taskQueue);
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  }
}

/**
 * Creates or updates the schedule whatever task queue it uses. Terminates its open runs on another
 * queue, because an open run keeps the next one from starting. The next run would find the same
 * work.
 */
export async function moveSchedule(
  client: Pick<Client, "schedule" | "workflow">,
  taskQueue: string,
): Promise<void> {
  await writeSchedule(client, taskQueue, true);
  const { info } = await client.schedule.getHandle(billingScheduleId).describe();
  for (const { workflow } of info.runningActions) {
    await endRun(client, workflow.workflowId, taskQueue);
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
      await run.terminate(`the schedule was moved to the task queue ${taskQueue}`);
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

async function writeSchedule(
  { schedule }: Schedules,
  taskQueue: string,
  mayMove: boolean,
): Promise<void> {
  const options: Omit<
    ScheduleOptions<ScheduleOptionsStartWorkflowAction<Workflow>>,
    "scheduleId" | "state"
  > = {
    spec: { intervals: [{ every: everyMinute }] },
    action: {
      type: "startWorkflow",
      workflowType: billingRunType,
      workflowId: billingScheduleId,
      taskQueue,
      args: [],
      workflowExecutionTimeout: runTimeout,
      staticSummary: "starts what is due: billing, publishing, deliveries and ledger sync",
      typedSearchAttributes: typedAttributes({ JobKind: "billing_run" }),
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow },
  };
  try {
    await schedule.create({ scheduleId: billingScheduleId, ...options });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await schedule.getHandle(billingScheduleId).update(({ state, action }) => {
      if (!mayMove && action.taskQueue !== taskQueue)
        throw new OtherQueue(action.taskQueue, taskQueue);
      return { ...options, state };
    });
  }
}

/** `move` also takes over the schedule of another task queue. `log` gets one line a step. */
interface SetUpSettings {
  readonly taskQueue: string;
  readonly move: boolean;
  readonly log: (line: string) => void;
}

/**
 * Registers missing search attributes, then creates or updates the schedule. Throws OtherQueue, and
 * changes no schedule, if it uses another task queue and is not to be moved.
 */
export async function setUpTemporal(
  { client, connection, namespace }: Pick<TemporalClient, "client" | "connection" | "namespace">,
  { taskQueue, move, log }: SetUpSettings,
): Promise<void> {
  try {
    const added = await ensureSearchAttributes(connection, namespace);
    if (added.length > 0) log(`search attributes were registered: ${added.join(", ")}`);
  } catch (error) {
    // In a cloud namespace only its console may register them.
    const names = searchAttributes.join(", ");
    const why = messageOf(error);
    log(`search attributes could not be registered (${why}): ${names}, all of type Keyword`);
  }
  if (move) await moveSchedule(client, taskQueue);
  else await ensureSchedule(client, taskQueue);
  log(
    `${billingScheduleId} (namespace ${namespace}) starts its runs on the task queue ${taskQueue}`,
  );
}

/** Returns the message of an error, with that of the server's error, which the library wraps. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
