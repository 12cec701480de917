/**
 * The Temporal worker of one process: the pre-built workflow bundle, the activities, and a clean
 * drain.
 */
import {
  type ActivityInterceptorsFactory,
  DefaultLogger,
  type InjectedSinks,
  NativeConnection,
  Runtime,
  type TelemetryOptions,
  Worker,
  type WorkerOptions,
} from "@temporalio/worker";
import type { Sinks } from "@temporalio/workflow";
import { billingQueue, webhookQueue } from "../../../workflows/contract.ts";
import { workflowBundleFile } from "../../assets.ts";
import type { TemporalClient, TemporalSettings } from "./connect.ts";
import { type ScheduleTrouble, watchSchedule } from "./schedule-watch.ts";
import { assertOwnQueue, messageOf, OtherQueue } from "./schedules.ts";
import { missingSearchAttributes } from "./search-attributes.ts";

/** The part of a process's log that a worker writes to. */
export interface WorkerLog {
  info(line: string): void;
  warn(line: string): void;
  warn(what: object, line: string): void;
}

/** The activities and observers of a worker, and how it connects. */
export interface WorkerSettings extends Pick<TemporalSettings, "connectionOptions" | "deployment"> {
  readonly taskQueue: string;
  readonly activities: object;
  readonly log: WorkerLog;
  /** Receives the fault of the schedule each minute, or null. */
  readonly onSchedule: (trouble: ScheduleTrouble | null) => void;
  /** What surrounds each activity, the outermost first. */
  readonly interceptors?: readonly ActivityInterceptorsFactory[];
  /** What gets the spans of the bundle's workflows. Without it they are dropped. */
  readonly sinks?: InjectedSinks<Sinks>;
  /** Where the SDK's own metrics go. */
  readonly telemetryOptions?: TelemetryOptions;
}

/**
 * A running worker. `done` rejects if the worker fails for good. `stop` lets running activities
 * finish.
 */
export interface RunningWorker {
  readonly done: Promise<void>;
  /** Returns the task queues that this process does not poll. */
  readonly unpolled: () => readonly string[];
  stop(): Promise<void>;
}

/**
 * How long running activities may continue after a stop. A posting batch makes two ledger calls at
 * most.
 */
const graceMs = 15_000;

/**
 * Concurrent batches of billing and publishing in a process. They keep a database of several cores
 * busy and leave most connections to posting.
 */
const billingAtOnce = 4;

/** Batches last two seconds, so few pollers are enough. */
const billingPolls = 2;

/**
 * Concurrent endpoints in a process, each with at most five requests and fifty bodies. They mostly
 * wait, and each releases its place within seconds.
 */
const endpointsAtOnce = 100;

/**
 * Deliveries last seconds, so few pollers are enough. A worker with workflows needs at least two.
 */
const webhookPolls = 2;

/**
 * Cached runs of endpoint workflows. Their histories are short, so reading one again costs less
 * than the memory for the default of another thousand.
 */
const cachedEndpoints = 200;

/**
 * How long a workflow task waits for the worker that has its run cached. A task that meets the end
 * of that worker waits so long before another one gets it. The SDK's ten seconds are most of the
 * time that a caller waits for the ledger.
 */
const cachedWorkerMs = 2_000;

/** The pause between attempts to connect. A worker that starts before the server tries again. */
const connectRetryMs = 1_000;

/** Bundled before: bundling at start would take two seconds each time. */
const bundle = workflowBundleFile();

/** The SDK's warning for a worker without workflows. It is dropped: billing has only activities. */
const noWorkflows = "No workflows registered, not polling for workflow tasks";

/**
 * The bundle's workflows report their spans to this sink, whether traces are on or off. Without a
 * sink of this name the SDK would log an error for each span.
 */
export const unsentSpans: InjectedSinks<Sinks> = { exporter: { export: { fn: () => undefined } } };

/**
 * Several heartbeats fit into the shortest `heartbeatTimeout` of `workflows/policies.ts`. The SDK
 * sends only as many as needed.
 */
const beatMs = 2_000;

/**
 * Sends heartbeats from the start of the activity to its end. By them the server notices a killed
 * worker within seconds and retries the activity.
 */
const beating: ActivityInterceptorsFactory = (context) => ({
  inbound: {
    execute: async (input, next) => {
      const timer = setInterval(() => context.heartbeat(), beatMs);
      try {
        return await next(input);
      } finally {
        clearInterval(timer);
      }
    },
  },
});

/**
 * Connects with unlimited retries and polls until stopped. Rejects with OtherQueue if the schedule
 * uses another task queue. It creates neither schedule nor search attributes: a deployment does
 * (`npm run schedules`).
 */
export async function runWorker(
  temporal: TemporalClient,
  settings: WorkerSettings,
): Promise<RunningWorker> {
  Runtime.install({
    ...(settings.telemetryOptions && { telemetryOptions: settings.telemetryOptions }),
    shutdownSignals: [],
    logger: new DefaultLogger("WARN", ({ message, meta }) => {
      if (message === noWorkflows) return;
      settings.log.warn({ err: meta?.error, workflowId: meta?.workflowId }, message);
    }),
  });
  const connection = await connect(settings);
  await warnOfAttributes(temporal, settings);
  await assertOwnQueue(temporal.client, settings.taskQueue).catch(async (err: unknown) => {
    // What cannot be read is checked again each minute, and only warned of.
    if (!(err instanceof OtherQueue))
      return settings.log.warn({ err }, "the schedule could not be read");
    await connection.close();
    throw err;
  });
  const shared = {
    connection,
    namespace: temporal.namespace,
    dataConverter: temporal.dataConverter,
    ...versionOf(settings),
    activities: settings.activities,
    interceptors: { activity: [...(settings.interceptors ?? []), beating] },
    sinks: settings.sinks ?? unsentSpans,
    shutdownGraceTime: graceMs,
    stickyQueueScheduleToStartTimeout: cachedWorkerMs,
  };
  const workers = await Promise.all([
    Worker.create({
      ...shared,
      taskQueue: settings.taskQueue,
      workflowBundle: { codePath: bundle },
    }),
    Worker.create({
      ...shared,
      taskQueue: billingQueue(settings.taskQueue),
      maxConcurrentActivityTaskExecutions: billingAtOnce,
      maxConcurrentActivityTaskPolls: billingPolls,
    }),
    Worker.create({
      ...shared,
      taskQueue: webhookQueue(settings.taskQueue),
      workflowBundle: { codePath: bundle },
      maxConcurrentActivityTaskExecutions: endpointsAtOnce,
      maxConcurrentActivityTaskPolls: webhookPolls,
      maxConcurrentWorkflowTaskPolls: webhookPolls,
      maxCachedWorkflows: cachedEndpoints,
    }),
  ]);
  const runs = workers.map((worker) => worker.run());
  const shutDown = () => {
    for (const worker of workers) if (worker.getState() === "RUNNING") worker.shutdown();
  };
  // If one worker fails, the process is of no use without it.
  const done = Promise.all(runs)
    .finally(async () => {
      shutDown();
      await Promise.allSettled(runs);
      await connection.close();
    })
    .then(() => undefined);
  const watch = watchSchedule(temporal.client, settings.taskQueue, {
    log: settings.log,
    onCheck: settings.onSchedule,
  });
  return {
    done,
    unpolled: () =>
      workers.filter((worker) => !isPolling(worker)).map(({ options }) => options.taskQueue),
    stop: async () => {
      watch.stop();
      shutDown();
      await done;
    },
  };
}

/** Whether the worker polls. The workflow poller of a worker without workflows is shut down. */
function isPolling(worker: Worker): boolean {
  const { runState, activityPollerState, workflowPollerState } = worker.getStatus();
  const isHealthy = activityPollerState === "POLLING" && workflowPollerState !== "FAILED";
  return runState === "RUNNING" && isHealthy;
}

async function connect({ log, connectionOptions }: WorkerSettings): Promise<NativeConnection> {
  for (;;) {
    try {
      return await NativeConnection.connect(connectionOptions);
    } catch (error) {
      log.warn(`Temporal cannot be reached, trying again: ${messageOf(error)}`);
      await new Promise((resolve) => setTimeout(resolve, connectRetryMs));
    }
  }
}

/** Workflows with a missing search attribute cannot be started. */
async function warnOfAttributes(
  { connection, namespace }: TemporalClient,
  { log }: WorkerSettings,
): Promise<void> {
  try {
    const missing = await missingSearchAttributes(connection, namespace);
    if (missing.length > 0)
      log.warn(`search attributes are missing: ${missing.join(", ")}. Run npm run schedules`);
  } catch (error) {
    log.warn(`search attributes: ${messageOf(error)}`);
  }
}

/**
 * Returns the options of worker versioning. A run is pinned: it ends on the version on which it
 * began, because no run lasts longer than an hour. So no change of a workflow needs a patch.
 */
export function versionOf({
  deployment,
}: Pick<TemporalSettings, "deployment">): Pick<WorkerOptions, "workerDeploymentOptions"> {
  if (deployment === null) return {};
  const { name: deploymentName, buildId } = deployment;
  return {
    workerDeploymentOptions: {
      version: { deploymentName, buildId },
      useWorkerVersioning: true,
      defaultVersioningBehavior: "PINNED",
    },
  };
}
