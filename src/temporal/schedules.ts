/**
 * The schedules of the service: made, or brought to what they should be, by each worker at its start. What they start asks the database
 * what is due, so that a start that was missed is made up for by the next one. architecture §5.
 */
import {
  type Client,
  isGrpcServiceError,
  ScheduleAlreadyRunning,
  type ScheduleOptions,
  type ScheduleOptionsStartWorkflowAction,
  ScheduleOverlapPolicy,
} from "@temporalio/client";
import type { Workflow } from "@temporalio/common";
import {
  billingRunType,
  billingScheduleId,
  changeScanType,
  changeScheduleId,
  ledgerSweepType,
  sweepScheduleId,
} from "../../workflows/contract.ts";
import type { WorkerLog } from "./run-worker.ts";
import { typedAttributes } from "./search-attributes.ts";

/** How often each asks what is due: what falls due at midnight is begun within the minute. */
const everyMinute = "1 minute";

/** How late a start may be: the next one finds all that a missed one would have found. */
const catchupWindow = "1 minute";

/** How long a run may take: it only starts workflows, and the next one must not wait for one that is stuck. */
const runTimeout = "10 minutes";

/** How long until a schedule that could not be made is tried again. */
const againMs = 10_000;

/** gRPC's code of a method that the server does not have. */
const unimplemented = 12;

/** A schedule: its id is that of its runs. `offset`: when in the minute, so that they do not begin at once. */
const schedules = [
  {
    id: billingScheduleId,
    type: billingRunType,
    offset: "0 seconds",
    summary: "starts the billing of organisations that have something due",
    kind: "billing_run",
  },
  {
    id: changeScheduleId,
    type: changeScanType,
    offset: "15 seconds",
    summary: "starts the telling of organisations where something changed",
    kind: "change_scan",
  },
  {
    id: sweepScheduleId,
    type: ledgerSweepType,
    offset: "30 seconds",
    summary: "starts the mirrors of organisations whose ledger is to be looked at",
    kind: "ledger_sweep",
  },
] as const;

/** Makes or updates the schedules; an operator's pause of one stays. */
export async function ensureSchedules(client: Pick<Client, "schedule">, taskQueue: string): Promise<void> {
  for (const one of schedules) await ensureSchedule(client, taskQueue, one);
}

async function ensureSchedule(
  { schedule }: Pick<Client, "schedule">,
  taskQueue: string,
  { id, type, offset, summary, kind }: (typeof schedules)[number],
): Promise<void> {
  const wanted: Omit<ScheduleOptions<ScheduleOptionsStartWorkflowAction<Workflow>>, "scheduleId" | "state"> = {
    spec: { intervals: [{ every: everyMinute, offset }] },
    action: {
      type: "startWorkflow",
      workflowType: type,
      workflowId: id,
      taskQueue,
      args: [],
      workflowExecutionTimeout: runTimeout,
      staticSummary: summary,
      typedSearchAttributes: typedAttributes({ OperationKind: kind }),
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow },
  };
  try {
    await schedule.create({ scheduleId: id, ...wanted });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await schedule.getHandle(id).update(({ state }) => ({ ...wanted, state }));
  }
}

/** The making of schedules, which may take several tries. */
export interface Scheduling {
  stop(): void;
}

/**
 * Ensures the schedules, again and again until it has worked. A server that knows no schedules is told of once: somebody else has to
 * start the runs there.
 */
export function startScheduling(client: Pick<Client, "schedule">, taskQueue: string, log: WorkerLog): Scheduling {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const ensure = async (): Promise<void> => {
    try {
      await ensureSchedules(client, taskQueue);
    } catch (err) {
      const isLacking = isUnimplemented(err);
      log.warn({ err }, `a schedule could not be made${isLacking ? "" : "; trying again"}`);
      if (!isLacking && !stopped) timer = setTimeout(ensure, againMs);
    }
  };
  void ensure();
  return {
    stop: () => {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** The server's answer may be wrapped by the library. */
function isUnimplemented(error: unknown): boolean {
  if (isGrpcServiceError(error)) return error.code === unimplemented;
  return error instanceof Error && error.cause !== undefined && isUnimplemented(error.cause);
}
