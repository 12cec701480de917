/** The worker's part of webhooks to platforms: publishing, delivery, and their secrets' keys. */
import type { Config } from "../../config.ts";
import { writeObject } from "../../present/event-objects.ts";
import { boundQueries } from "../../store/database/bound-queries.ts";
import type { Encryption } from "../../store/database/encryption.ts";
import type { Pool } from "../../store/database/pool.ts";
import { createDeliveryStore } from "../../store/events/deliveries.ts";
import { createOutboxStore } from "../../store/events/outbox.ts";
import type { Unpublished } from "../../store/events/publish-changes.ts";
import { reencryptEndpoints } from "../../store/events/reencrypt-signing-secrets.ts";
import { createPoster } from "../../webhooks/post.ts";
import { createDelivery } from "../../worker/activities/events/deliver-due.ts";
import {
  createDeliveryPace,
  createRequestPermits,
} from "../../worker/activities/events/delivery-pace.ts";
import { startCleanup } from "../../worker/temporal/cleanup.ts";
import type { Log } from "../telemetry/log.ts";
import type { WorkerMetrics } from "../telemetry/worker-metrics.ts";
import { observedDeliveries } from "./observed-work.ts";
import { tracedPoster } from "./traced-poster.ts";

/** Keys change once in years, and each change restarts the workers. */
const reencryptEveryMs = 30 * 60_000;

/**
 * The most connections that webhook deliveries use at once. Most of the pool stays free for work
 * that callers wait for.
 */
const webhookQueries = 3;

/** The dependencies of the activities that publish events. */
export function publishingDependencies(pool: Pool, log: Log) {
  const onUnpublished = (organisationId: string, { kind, id, error: err }: Unpublished) =>
    log.error(
      { organisationId, kind, id, err },
      "an object cannot be published to webhook endpoints; trying again in an hour",
    );
  return { store: createOutboxStore(pool, writeObject), onUnpublished };
}

/**
 * Opens the delivery of events to endpoints, and re-encrypts the endpoints' secrets with the newest
 * key.
 */
export function openWebhooks(
  config: Config,
  pool: Pool,
  encryption: Encryption,
  { log, metrics }: { readonly log: Log; readonly metrics: WorkerMetrics },
) {
  const poster = createPoster({ mode: config.webhooks.addresses });
  const stopping = new AbortController();
  const activities = createDelivery({
    store: observedDeliveries(createDeliveryStore(boundQueries(pool, webhookQueries), encryption), {
      log,
      metrics,
    }),
    poster: tracedPoster(poster),
    permits: createRequestPermits(),
    pace: createDeliveryPace(),
    firstPauseMs: config.webhooks.firstPauseMs,
    stopping: stopping.signal,
    onDisabled: (endpoint, reason) =>
      log.warn({ ...endpoint, reason }, "a webhook endpoint is disabled because of its deliveries"),
    onUndecryptable: (endpoint, err) =>
      log.warn({ ...endpoint, err }, "a webhook endpoint's secret cannot be opened"),
  });
  const reencryption = startCleanup((atMost) => reencryptEndpoints(pool, encryption, atMost), {
    everyMs: reencryptEveryMs,
    onError: (err) =>
      log.warn({ err }, "the secrets of a webhook endpoint could not be re-encrypted"),
  });
  return {
    activities,
    stopSending: () => stopping.abort(),
    close: () => Promise.all([reencryption.stop(), poster.close()]),
  };
}
