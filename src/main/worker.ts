/**
 * The composition root of the worker process: the only file that builds its parts and connects
 * them. The API's is `api.ts`. In all other files, neither process loads the libraries of the
 * other.
 */
import { type Config, SettingError } from "../config.ts";
import type { LedgerKinds } from "../ledger/port/ledger-kind.ts";
import { createIdempotencyStore } from "../store/access/idempotency.ts";
import { createBillingRun, type Parked } from "../store/billing/billing-run.ts";
import { createTestClock, findStoppedClocks } from "../store/billing/test-clock.ts";
import { boundQueries } from "../store/database/bound-queries.ts";
import { createEncryption, type Encryption } from "../store/database/encryption.ts";
import { createPool, type Pool } from "../store/database/pool.ts";
import { deleteExpiredEvents } from "../store/events/delete-expired-events.ts";
import { createDeliveryStore } from "../store/events/deliveries.ts";
import { createOutboxStore } from "../store/events/outbox.ts";
import type { Unpublished } from "../store/events/publish-isolated.ts";
import { reencryptEndpoints } from "../store/events/reencrypt-signing-secrets.ts";
import { deleteExpiredConsents } from "../store/ledger-connection/delete-expired-authorisations.ts";
import { createReferenceDataReading } from "../store/ledger-connection/reference-data.ts";
import { createAllocating } from "../store/ledger-jobs/allocation-scope.ts";
import { createAmendments } from "../store/ledger-jobs/amendments.ts";
import { createPosting } from "../store/ledger-jobs/post-documents.ts";
import { findStaleJobs } from "../store/ledger-jobs/stale-jobs.ts";
import { createLedgerSync } from "../store/ledger-sync/sync-store.ts";
import { createTerminations } from "../store/subscriptions/end-removals.ts";
import { createPoster } from "../webhooks/post.ts";
import { createBilling } from "../worker/activities/billing/billing-run.ts";
import { createTestClockActivities } from "../worker/activities/billing/test-clock.ts";
import { createDelivery } from "../worker/activities/events/deliver-due.ts";
import { createDeliveryPace } from "../worker/activities/events/delivery-pace.ts";
import { createPublishingActivities } from "../worker/activities/events/publish-changes.ts";
import { createRequestPermits } from "../worker/activities/events/request-permits.ts";
import { createCreditAllocation } from "../worker/activities/posting/allocate-credit.ts";
import { createAmendment } from "../worker/activities/posting/amend-invoice.ts";
import { createPostingActivities } from "../worker/activities/posting/posting.ts";
import {
  type ReferenceDataDependencies,
  readDueReferenceData,
} from "../worker/activities/posting/read-reference-data.ts";
import { createEndSubscriptionActivities } from "../worker/activities/subscriptions/end-subscription.ts";
import { createLedgerSyncActivities } from "../worker/activities/sync/ledger-sync.ts";
import { type Cleanup, startCleanup } from "../worker/temporal/cleanup.ts";
import { connectTemporal } from "../worker/temporal/connect.ts";
import { startDispatcher } from "../worker/temporal/dispatcher.ts";
import { createLedgerWork } from "../worker/temporal/ledger-work.ts";
import { runWorker } from "../worker/temporal/run-worker.ts";
import { OtherQueue } from "../worker/temporal/schedules.ts";
import { createStartWork } from "../worker/temporal/start-work.ts";
import { createLedgerAdapters, disconnectedText, logAnswer } from "./ledger-adapters.ts";
import { createLedgerConnect } from "./ledger-connect.ts";
import type { Log } from "./log.ts";
import { writeObject } from "./render-event-object.ts";
import type { Running } from "./run.ts";
import { serveWorkerMetrics } from "./worker-metrics.ts";

/** Keys change once in years, and each change restarts the workers. */
const reencryptEveryMs = 30 * 60_000;

/**
 * The most connections that webhook deliveries use at once. Most of the pool stays free for work
 * that callers wait for.
 */
const webhookQueries = 3;

/**
 * Starts a worker for these kinds of ledger: the workflows, their activities, the dispatcher and
 * the cleanup. Throws a
 * SettingError if SECRET_KEY is not set.
 */
export async function startWorker(config: Config, log: Log, kinds: LedgerKinds): Promise<Running> {
  if (config.secretKey === null)
    throw new SettingError(
      "SECRET_KEY is not set: the worker needs it to open ledger credentials.",
    );
  const metrics = await serveWorkerMetrics(config);
  const pool = createPool(
    { databaseUrl: config.database.url, size: config.database.poolSize, name: "worker" },
    (err) => log.warn({ err }, "a database connection was lost"),
  );
  const temporal = connectTemporal();
  const sealing = createEncryption(config.secretKey, config.secretKeysBefore);
  const adapters = createLedgerAdapters(pool, {
    kinds,
    callDeadlineMs: config.ledger.callDeadlineMs,
    connect: createLedgerConnect(config.ledger.addresses),
    sealing,
    apps: config.ledger.apps,
    onDisconnected: (organisationId) => log.warn({ organisationId }, disconnectedText),
    onAnswered: logAnswer(log),
  });
  const work = {
    ...createLedgerWork(temporal.client, config.taskQueue, (organisationId, err) =>
      log.warn({ organisationId, err }, "the ledger workflow could not be woken; trying again"),
    ),
    ...createStartWork(temporal.client, config.taskQueue, (workflowId, err) =>
      log.warn({ workflowId, err }, "a workflow could not be started; trying again"),
    ),
  };
  const { callDeadlineMs, publicUrl } = config.ledger;
  const parts = { ...work, openLedger: adapters.open, callDeadlineMs, publicUrl };
  const onParked = (organisationId: string, { subscriptionId, reason }: Parked) =>
    log.warn(
      { organisationId, subscriptionId, reason },
      "a subscription was parked by the billing run",
    );
  const webhooks = openWebhooks(config, pool, sealing, log);
  const activities = {
    ...createPostingActivities({ ...parts, openScope: createPosting(pool, sealing) }),
    ...createAmendment({ ...parts, openScope: createAmendments(pool, sealing) }),
    ...createCreditAllocation({ ...parts, openScope: createAllocating(pool, sealing) }),
    ...createEndSubscriptionActivities({ ...parts, openScope: createTerminations(pool, sealing) }),
    ...createBilling({ ...work, onParked, store: createBillingRun(pool) }),
    ...createLedgerSyncActivities({
      ...parts,
      mirroring: createLedgerSync(pool, sealing, config.ledger.syncIntervalMs),
      onUnfollowed: (organisationId, what) =>
        log.warn({ organisationId, ...what }, "something of the ledger cannot be followed"),
    }),
    ...createPublishingActivities({ ...work, ...publishingDependencies(pool, log) }),
    ...webhooks.activities,
    ...createTestClockActivities({ ...work, onParked, store: createTestClock(pool) }),
  };
  const settings = {
    taskQueue: config.taskQueue,
    activities,
    log,
    onSchedules: metrics.onSchedules,
  };
  const worker = await runWorker(temporal, settings).catch(asSetting);
  const onUnknown = (kind: string) =>
    log.warn({ kind }, "dispatcher: work of a kind that is not known here was left");
  const dispatcher = startDispatcher(
    async (graceMs) => [
      ...(await findStaleJobs(pool, graceMs, onUnknown)),
      ...(await findStoppedClocks(pool, graceMs)),
    ],
    work,
    (err) => log.warn({ err }, "dispatcher: the database could not be asked"),
  );
  const housekeepings = startHousekeepings(
    pool,
    sealing,
    { openLedger: adapters.open, callDeadlineMs },
    log,
  );
  return {
    port: metrics.port,
    done: worker.done,
    stop: async () => {
      webhooks.stopSending();
      await Promise.all([dispatcher, worker, ...housekeepings].map((part) => part.stop()));
      await Promise.all([adapters.close(), webhooks.close(), metrics.stop()]);
      await temporal.connection.close();
      await pool.end();
    },
  };
}

/** Starts the cleanups that delete expired rows, and the refresh of the ledgers' reference data. */
function startHousekeepings(
  pool: Pool,
  sealing: Encryption,
  ledger: Pick<ReferenceDataDependencies, "openLedger" | "callDeadlineMs">,
  log: Log,
): Cleanup[] {
  const onTrouble = (err: unknown) =>
    log.warn({ err }, "housekeeping: the database could not be asked");
  const keys = createIdempotencyStore(pool, { onTrouble });
  const forgetting = [deleteExpiredConsents, deleteExpiredEvents].map(
    (forget) => (atMost: number) => forget(pool, atMost),
  );
  const housekeepings = [keys.deleteExpired, ...forgetting].map((forget) =>
    startCleanup(forget, { onError: onTrouble }),
  );
  const onError = (organisationId: string, err: unknown) =>
    log.warn({ organisationId, err }, "what a ledger offers could not be read");
  const offers = { store: createReferenceDataReading(pool, sealing), ...ledger, onError };
  // Twenty calls at once, which are the lists of five organisations.
  housekeepings.push(
    startCleanup((atMost) => readDueReferenceData(offers, atMost), {
      batch: 20,
      onError: onTrouble,
    }),
  );
  return housekeepings;
}

/**
 * Throws the error of another task queue as an error of the setting TASK_QUEUE. Throws any other
 * error unchanged.
 */
function asSetting(error: unknown): never {
  throw error instanceof OtherQueue ? new SettingError(error.message, { cause: error }) : error;
}

/** The dependencies of the activities that publish events. */
function publishingDependencies(pool: Pool, log: Log) {
  const onUnpublished = (organisationId: string, { kind, id, error: err }: Unpublished) =>
    log.error(
      { organisationId, kind, id, err },
      "an object cannot be told to webhook endpoints; trying again in an hour",
    );
  return { store: createOutboxStore(pool, writeObject), onUnpublished };
}

/**
 * Opens the delivery of events to endpoints, and re-encrypts the endpoints' secrets with the newest
 * key.
 */
function openWebhooks(config: Config, pool: Pool, sealing: Encryption, log: Log) {
  const poster = createPoster({ mode: config.webhooks.addresses });
  const stopping = new AbortController();
  const activities = createDelivery({
    store: createDeliveryStore(boundQueries(pool, webhookQueries), sealing),
    poster,
    permits: createRequestPermits(),
    pace: createDeliveryPace(),
    firstPauseMs: config.webhooks.firstPauseMs,
    stopping: stopping.signal,
    onDisabled: (endpoint, reason) =>
      log.warn(
        { ...endpoint, reason },
        "a webhook endpoint is disabled by what came of its deliveries",
      ),
    onEncrypted: (endpoint, err) =>
      log.warn({ ...endpoint, err }, "a webhook endpoint's secret cannot be opened"),
  });
  const resealing = startCleanup((atMost) => reencryptEndpoints(pool, sealing, atMost), {
    everyMs: reencryptEveryMs,
    onError: (err) =>
      log.warn({ err }, "the secrets of a webhook endpoint could not be sealed anew"),
  });
  return {
    activities,
    stopSending: () => stopping.abort(),
    close: () => Promise.all([resealing.stop(), poster.close()]),
  };
}
