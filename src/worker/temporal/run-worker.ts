/** The Temporal worker of one process: the pre-built workflow bundle, the activities, and a clean drain. */
import { fileURLToPath } from "node:url";
import { loadClientConnectConfig } from "@temporalio/envconfig";
import { DefaultLogger, NativeConnection, Runtime, Worker, type WorkerOptions } from "@temporalio/worker";
import { billingQueue, webhookQueue } from "../../../workflows/contract.ts";
import type { TemporalClient } from "./connect.ts";
import { beating } from "./heartbeats.ts";
import { type ScheduleTrouble, watchSchedules } from "./schedule-watch.ts";
import { startScheduling } from "./schedules.ts";
import { ensureSearchAttributes } from "./search-attributes.ts";

/** The part of a process's log that a worker writes to. */
export interface WorkerLog {
  info(line: string): void;
  warn(line: string): void;
  warn(what: object, line: string): void;
}

/** What a worker runs. */
export interface WorkerSettings {
  readonly taskQueue: string;
  readonly activities: object;
  readonly log: WorkerLog;
  /** Gets the faults of the schedules each minute. */
  readonly onSchedules: (troubles: readonly ScheduleTrouble[]) => void;
}

/** A worker at work. `done` rejects where it fails beyond repair; `stop` lets running activities finish. */
export interface RunningWorker {
  readonly done: Promise<void>;
  stop(): Promise<void>;
}

/** How long running activities may go on after the stop: a round of settling makes two ledger calls at most. */
const graceMs = 15_000;

/**
 * Rounds of billing and telling at once in a process: enough to keep a database of several cores busy, and few enough to leave most of the
 * process's connections to the ledger's rounds.
 */
const billingAtOnce = 4;

/** Rounds last two seconds: they are not asked for often. */
const billingPolls = 2;

/**
 * Endpoints at once in a process, each with five requests and fifty bodies at most: most of their
 * time is waiting, and each gives its place back within seconds.
 */
const endpointsAtOnce = 100;

/**
 * Deliveries last seconds: their tasks are not asked for often. Two is the least that a worker of
 * workflows may have.
 */
const webhookPolls = 2;

/**
 * Runs of endpoints that are kept in memory: their histories are short, and reading one again costs
 * less than the memory of another thousand, which is the default.
 */
const cachedEndpoints = 200;

/** How long the server is waited for at a time; a worker that starts before it tries again. */
const connectRetryMs = 1_000;

/** Built by `npm run gen`; bundling at start would cost two seconds each time. */
const bundle = fileURLToPath(new URL("../../gen/workflow-bundle.js", import.meta.url));

/** The SDK's warning for a worker without workflows. It is dropped for workers of activities only. */
const noWorkflows = "No workflows registered, not polling for workflow tasks";

/**
 * Connects, as often as it takes, registers the search attributes, and polls until stopped.
 * Rejects with OtherQueue if the schedules use another task queue.
 */
export async function runWorker(temporal: TemporalClient, settings: WorkerSettings): Promise<RunningWorker> {
  const forActivities = new Set<string>();
  const createWorker = (options: WorkerOptions): Promise<Worker> => {
    if (options.workflowBundle === undefined) forActivities.add(options.taskQueue);
    return Worker.create(options);
  };
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger("WARN", ({ message, meta }) => {
      if (message === noWorkflows && forActivities.has(meta?.taskQueue)) return;
      settings.log.warn({ err: meta?.error, workflowId: meta?.workflowId }, message);
    }),
  });
  const connection = await connect(settings);
  await registerAttributes(temporal, settings);
  const scheduling = await startScheduling(temporal.client, settings.taskQueue, settings.log).catch(
    async (error: unknown) => {
      await connection.close();
      throw error;
    },
  );
  const shared = {
    connection,
    namespace: temporal.namespace,
    activities: settings.activities,
    interceptors: { activity: [beating] },
    shutdownGraceTime: graceMs,
  };
  const workers = await Promise.all([
    createWorker({ ...shared, taskQueue: settings.taskQueue, workflowBundle: { codePath: bundle } }),
    createWorker({
      ...shared,
      taskQueue: billingQueue(settings.taskQueue),
      maxConcurrentActivityTaskExecutions: billingAtOnce,
      maxConcurrentActivityTaskPolls: billingPolls,
    }),
    createWorker({
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
  // Where one of them fails, the process is of no use without it.
  const done = Promise.race([Promise.all(runs), scheduling.refused])
    .finally(async () => {
      shutDown();
      await Promise.allSettled(runs);
      await connection.close();
    })
    .then(() => undefined);
  const watch = watchSchedules(temporal.client, settings.taskQueue, {
    log: settings.log,
    onLook: settings.onSchedules,
  });
  return {
    done,
    stop: async () => {
      watch.stop();
      scheduling.stop();
      shutDown();
      await done;
    },
  };
}

async function connect({ log }: WorkerSettings): Promise<NativeConnection> {
  const { connectionOptions } = loadClientConnectConfig();
  for (;;) {
    try {
      return await NativeConnection.connect(connectionOptions);
    } catch (error) {
      log.warn(`Temporal cannot be reached, trying again: ${error instanceof Error ? error.message : String(error)}`);
      await new Promise((resolve) => setTimeout(resolve, connectRetryMs));
    }
  }
}

/** A server that lets only its console register them says so in the log; workflows that carry one then fail to start there. */
async function registerAttributes({ connection, namespace }: TemporalClient, { log }: WorkerSettings): Promise<void> {
  try {
    const added = await ensureSearchAttributes(connection, namespace);
    if (added.length > 0) log.info(`registered search attributes: ${added.join(", ")}`);
  } catch (error) {
    log.warn(`search attributes: ${error instanceof Error ? error.message : String(error)}`);
  }
}
