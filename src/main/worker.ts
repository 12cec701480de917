/**
 * The composition root of the worker process: it builds the parts and connects them. The API's is
 * `api.ts`. In all other files, neither process loads the libraries of the other.
 */
import { type Config, encryptionOf, SettingError } from "../config.ts";
import type { LedgerKinds } from "../ledger/port/ledger-kind.ts";
import { createBillingRun, type Parked } from "../store/billing/billing-run.ts";
import { createTestClock, findStoppedClocks } from "../store/billing/test-clock.ts";
import type { Encryption } from "../store/database/encryption.ts";
import type { Pool } from "../store/database/pool.ts";
import { createAllocations } from "../store/ledger-jobs/allocations.ts";
import { createAmendments } from "../store/ledger-jobs/amendments/amendments.ts";
import { listenToWakes } from "../store/ledger-jobs/batch-wakes.ts";
import { createPostingStore } from "../store/ledger-jobs/posting-store.ts";
import { findStaleJobs } from "../store/ledger-jobs/stale-jobs.ts";
import { createLedgerSync } from "../store/ledger-sync/sync-store.ts";
import { createTerminations } from "../store/subscriptions/end-removals.ts";
import { warmUp } from "../store/tenant.ts";
import { createBilling } from "../worker/activities/billing/billing-run.ts";
import { createTestClockActivities } from "../worker/activities/billing/test-clock.ts";
import { createPublishingActivities } from "../worker/activities/events/publish-changes.ts";
import { createCreditAllocation } from "../worker/activities/posting/allocate-credit.ts";
import { createAmendment } from "../worker/activities/posting/amend-invoice.ts";
import {
  createLingeringPlaces,
  type LingeringPlaces,
} from "../worker/activities/posting/lingering-places.ts";
import { createPostingActivities } from "../worker/activities/posting/posting.ts";
import { createEndSubscriptionActivities } from "../worker/activities/subscriptions/end-subscription.ts";
import { createLedgerSyncActivities } from "../worker/activities/sync/ledger-sync.ts";
import { chooseCoreMetrics } from "../worker/temporal/core-metrics.ts";
import { startDispatcher } from "../worker/temporal/dispatcher.ts";
import { runWorker } from "../worker/temporal/run-worker.ts";
import { OtherQueue } from "../worker/temporal/schedules.ts";
import { createLedgerAdapters, type LedgerAdapters } from "./ledger/ledger-adapters.ts";
import { createLedgerConnect } from "./ledger/ledger-connect.ts";
import { awaitSchema } from "./readiness.ts";
import type { Running } from "./run.ts";
import type { Log } from "./telemetry/log.ts";
import { createWork, openPool, openTemporal } from "./telemetry/observed-parts.ts";
import { noTracing, type Tracing } from "./telemetry/tracing.ts";
import { createWorkerMetrics, type WorkerMetrics } from "./telemetry/worker-metrics.ts";
import { activityContext } from "./worker/activity-context.ts";
import { startCleanups } from "./worker/cleanups.ts";
import {
  observedAmendments,
  observedPosting,
  observedTerminations,
} from "./worker/observed-work.ts";
import { openWebhooks, publishingDependencies } from "./worker/webhooks.ts";
import { openWorkerHealth } from "./worker/worker-health.ts";

/** The parts that the activities share. */
interface Shared {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: WorkerMetrics;
  readonly pool: Pool;
  readonly encryption: Encryption;
  readonly adapters: LedgerAdapters;
  readonly work: ReturnType<typeof createWork>;
  readonly lingering: Pick<LingeringPlaces, "take">;
}

/**
 * Starts a worker for these kinds of ledger: the workflows, their activities, the dispatcher and
 * the cleanups, once the database is migrated. Throws a SettingError if SECRET_KEY is not set.
 */
export async function startWorker(
  config: Config,
  log: Log,
  kinds: LedgerKinds,
  tracing: Tracing = noTracing,
): Promise<Running> {
  const encryption = encryptionOf(config);
  const core = config.worker === null ? null : await chooseCoreMetrics();
  const metrics = createWorkerMetrics(core?.text);
  const temporal = openTemporal(config, metrics, tracing);
  const health = await openWorkerHealth(config, log, temporal, metrics);
  await awaitSchema(config, log);
  const pool = openPool("worker", config, log, metrics);
  const { callDeadlineMs, addresses } = config.ledger;
  const connect = createLedgerConnect(addresses);
  const parts = { ...config.ledger, kinds, connect, encryption, metrics, log };
  const adapters = createLedgerAdapters(pool, parts);
  const work = createWork(config, log, temporal, pool, {
    next: "trying again",
    isBegun: () => false,
  });
  const webhooks = openWebhooks(config, pool, encryption, { log, metrics });
  const lingering = createLingeringPlaces();
  const wakes = listenToWakes(config.database.url, lingering.wake, (err) =>
    log.warn({ err }, "wake-ups: connection lost"),
  );
  const shared = { config, log, metrics, pool, encryption, adapters, work, lingering };
  // Before the first activity, so that no transaction waits for the client with its locks held.
  await warmUp(pool).catch((err) =>
    log.warn({ err }, "the database could not be reached at the start"),
  );
  const worker = await runWorker(temporal, {
    ...config.temporal,
    taskQueue: config.taskQueue,
    activities: { ...activitiesOf(shared), ...webhooks.activities },
    log,
    onSchedule: metrics.onSchedule,
    interceptors: [...(tracing.temporal?.activities ?? []), activityContext],
    ...(tracing.temporal && { sinks: tracing.temporal.sinks }),
    ...(core && { telemetryOptions: core.telemetryOptions }),
  }).catch(asSetting);
  health.started(worker);
  const dispatcher = dispatch(shared);
  const cleanups = startCleanups(
    pool,
    encryption,
    { openLedger: adapters.open, callDeadlineMs },
    log,
  );
  return {
    port: health.port,
    done: worker.done,
    stop: async () => {
      health.drain();
      webhooks.stopSending();
      lingering.stop();
      await Promise.all([dispatcher, worker, ...cleanups].map((part) => part.stop()));
      await Promise.all([wakes.close(), adapters.close(), webhooks.close(), health.stop()]);
      await temporal.close();
      await pool.end();
    },
  };
}

/** The activities of all workflows except the deliveries of webhooks. */
function activitiesOf({ config, log, metrics, pool, encryption, adapters, work, ...rest }: Shared) {
  const { callDeadlineMs, publicUrl, syncIntervalMs } = config.ledger;
  const parts = { ...work, openLedger: adapters.open, callDeadlineMs, publicUrl };
  const observers = { log, metrics };
  const onParked = (organisationId: string, { subscriptionId, reason }: Parked) => {
    metrics.parked.inc();
    log.warn(
      { organisationId, subscriptionId, reason },
      "a subscription was parked by the billing run",
    );
  };
  const openPosting = observedPosting(createPostingStore(pool, encryption), observers);
  const openAmendments = observedAmendments(createAmendments(pool, encryption), observers);
  const openScope = observedTerminations(createTerminations(pool, encryption), observers);
  return {
    ...createPostingActivities({ ...parts, ...rest, openStore: openPosting }),
    ...createAmendment({ ...parts, openStore: openAmendments }),
    ...createCreditAllocation({ ...parts, openStore: createAllocations(pool, encryption) }),
    ...createEndSubscriptionActivities({ ...parts, openScope }),
    ...createBilling({ ...work, onParked, store: createBillingRun(pool) }),
    ...createLedgerSyncActivities({
      ...parts,
      ledgerSync: createLedgerSync(pool, encryption, syncIntervalMs),
      onSkipped: (organisationId, what) =>
        log.warn({ organisationId, ...what }, "an object of the ledger cannot be synced"),
    }),
    ...createPublishingActivities({ ...work, ...publishingDependencies(pool, log) }),
    ...createTestClockActivities({ ...work, onParked, store: createTestClock(pool) }),
  };
}

/** Starts the dispatcher, which finds work whose start was lost. */
function dispatch({ log, pool, work }: Shared): ReturnType<typeof startDispatcher> {
  const onUnknown = (kind: string) =>
    log.warn({ kind }, "dispatcher: work of a kind that is not known here was left");
  return startDispatcher(
    async (graceMs) => [
      ...(await findStaleJobs(pool, graceMs, onUnknown)),
      ...(await findStoppedClocks(pool, graceMs)),
    ],
    work,
    (err) => log.warn({ err }, "dispatcher: the database could not be reached"),
  );
}

/**
 * Throws the error of another task queue as an error of the setting TASK_QUEUE. Throws any other
 * error unchanged.
 */
function asSetting(error: unknown): never {
  throw error instanceof OtherQueue ? new SettingError(error.message, { cause: error }) : error;
}
