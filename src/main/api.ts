/**
 * The composition root of the API process: it builds the parts and connects them. The worker's is
 * `worker.ts`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { docsSiteFolder, openapiFile } from "../assets.ts";
import { type Config, encryptionOf } from "../config.ts";
import { type LedgerKinds, ledgerKindOf } from "../ledger/port/ledger-kind.ts";
import type { Contradiction } from "../present/explanations.ts";
import { createDeps } from "../services/deps.ts";
import { services } from "../services/index.ts";
import { createIdempotencyStore } from "../store/access/idempotency.ts";
import type { Pool } from "../store/database/pool.ts";
import { createOutcomes } from "../store/ledger-jobs/job-notifications.ts";
import { createStore, warmUp } from "../store/tenant.ts";
import type { UsageCounts } from "../store/usage/store-batches.ts";
import { startHttp } from "../transport/http/server.ts";
import { createRequestObserver } from "../transport/rpc/observe.ts";
import { isOutcomeUnknown } from "../worker/temporal/connect.ts";
import { startAdminPort } from "./admin-api.ts";
import { docsSite } from "./api/docs-pages.ts";
import { createPublicTransports } from "./api/public-transports.ts";
import { openapiPages, publishedOpenapi } from "./api/published-openapi.ts";
import { withinRequest } from "./api/request-context.ts";
import { type HealthPortParts, openHealthPort } from "./health-port.ts";
import { createLedgerAdapters } from "./ledger/ledger-adapters.ts";
import { createLedgerConnect } from "./ledger/ledger-connect.ts";
import { ledgerWebhookEndpoints } from "./ledger/ledger-webhook-endpoints.ts";
import { awaitSchema, openReadiness } from "./readiness.ts";
import type { Running } from "./run.ts";
import { createLogFailure, type Log } from "./telemetry/log.ts";
import { createMetrics, type Metrics } from "./telemetry/metrics.ts";
import { createWork, openPool, openTemporal } from "./telemetry/observed-parts.ts";
import { noTracing, type Tracing } from "./telemetry/tracing.ts";

/**
 * Starts the API: REST, Connect, gRPC-Web and gRPC on one port, and the admin API on another.
 * Organisations can be connected to these kinds of ledger.
 */
export async function startApi(
  config: Config,
  log: Log,
  kinds: LedgerKinds,
  tracing: Tracing = noTracing,
): Promise<Running> {
  const stores = openStores(config, log);
  const { metrics, pool, outcomes, keys } = stores;
  const temporal = openTemporal(config, metrics, tracing);
  const work = createWork(config, log, temporal, pool, {
    next: "the dispatcher will",
    isBegun: isOutcomeUnknown,
  });
  const onIssued = (organisationId: string) => void work.wake(organisationId);
  const onUsage = (counts: UsageCounts) => countUsage(metrics, counts);
  const store = createStore(pool, onIssued, onUsage);
  const onContradiction = reportContradictions(log, metrics);
  const bindings = services(createDeps(store, { ...work, outcomes }, onContradiction));
  const stopping = new AbortController();
  const shutdownSignal = stopping.signal;
  void warmOnceMigrated(config, log, pool, shutdownSignal);
  const ledgers = openLedgers(config, log, kinds, { pool, metrics });
  const readiness = openReadiness(config, log, temporal, { isTemporalRequired: false });
  const shared = { config, keys, readiness, shutdownSignal };
  const requests = createRequestObserver({ log, requests: metrics.requests });
  const observed = {
    log: requests.observe,
    logFailure: createLogFailure(log),
    onConnectionLimit: warnOfConnections(log),
  };
  const parts = { ...shared, ...observed, pool, metrics, bindings };
  const { rest, connect } = createPublicTransports(parts);
  const { pages, withBrowsers } = openDocs(config);
  const port = await startHttp({
    setting: "API_PORT",
    ...config.api,
    ...observed,
    rest: withBrowsers(rest),
    connect,
    within: withinRequest,
    pages,
    ledgerEndpoints: ledgerWebhookEndpoints(config, kinds, pool, work.startLedgerSync),
    readiness,
    // This port is public, so it shows no metrics.
    metrics: null,
  });
  const admin = await startAdminPort({
    ...work,
    ...shared,
    ...observed,
    kinds,
    outcomes,
    onContradiction,
    openLedger: ledgers.adapters.open,
    connect: ledgers.tryOut,
    metrics: metrics.text,
    onPoolError: (err) => log.warn({ err }, "a database connection was lost"),
  });
  const metricsPort = await openMetricsPort(config, { readiness, metrics: metrics.text });
  const ended = Promise.withResolvers<void>();
  return {
    port: port.port,
    done: ended.promise,
    stop: async () => {
      readiness.drain();
      await wait(config.api.drainMs);
      stopping.abort();
      const graceMs = config.api.shutdownMs;
      await Promise.all([port.stop({ graceMs }), admin.stop({ graceMs })]);
      await metricsPort?.stop();
      requests.stop();
      await ledgers.adapters.close();
      await keys.stop();
      await outcomes.close();
      await readiness.close();
      await temporal.close();
      await pool.end();
      ended.resolve();
    },
  };
}

async function openMetricsPort({ metrics: address }: Config, parts: HealthPortParts) {
  return address === null ? null : openHealthPort("METRICS_PORT", address, parts);
}

/** The document of the contract in both forms, and the pages for platforms. */
function openDocs({ ledger: { publicUrl }, api: { supportContact } }: Config) {
  const openapi = publishedOpenapi(readFileSync(openapiFile()), { publicUrl, supportContact });
  const { pages, withBrowsers } = docsSite(join(docsSiteFolder(), "platforms"));
  return { pages: new Map([...pages, ...openapiPages(openapi)]), withBrowsers };
}

/** Never rejects. */
async function warmOnceMigrated(
  config: Config,
  log: Log,
  pool: Pool,
  signal: AbortSignal,
): Promise<void> {
  await awaitSchema(config, log, signal);
  if (signal.aborted) return;
  await warmUp(pool).catch((err) =>
    log.warn({ err }, "the database could not be reached at the start"),
  );
}

/** Opens the pool with its metrics, the outcomes of ledger jobs, and the idempotency keys. */
function openStores(config: Config, log: Log) {
  const metrics = createMetrics();
  const pool = openPool("api", config, log, metrics);
  const outcomes = createOutcomes(config.database.url, pool, (err) =>
    log.warn({ err }, "outcomes: connection lost"),
  );
  const keys = createIdempotencyStore(pool, {
    onTrouble: (err) => {
      metrics.idempotencyTrouble.inc();
      log.warn({ err }, "idempotency: the database could not be reached; trying again");
    },
  });
  return { metrics, pool, outcomes, keys };
}

function countUsage({ usageEvents }: Metrics, counts: UsageCounts): void {
  usageEvents.inc({ verdict: "created", timing: "in_time" }, counts.created - counts.late);
  usageEvents.inc({ verdict: "created", timing: "late" }, counts.late);
  usageEvents.inc({ verdict: "duplicate", timing: "" }, counts.duplicate);
  usageEvents.inc({ verdict: "rejected", timing: "" }, counts.rejected);
}

function reportContradictions(log: Log, { contradictions }: Metrics) {
  return (contradiction: Contradiction): void => {
    contradictions.inc();
    log.error(contradiction, "the facts of a document give another amount than it has");
  };
}

/** The least time between two warnings about addresses with too many connections. */
const connectionWarningMs = 60_000;

/**
 * Logs the limit: a proxy that TRUSTED_PROXIES does not list would otherwise be limited silently.
 */
function warnOfConnections(log: Log): (address: string) => void {
  let quietUntilMs = 0;
  return (address) => {
    if (performance.now() < quietUntilMs) return;
    quietUntilMs = performance.now() + connectionWarningMs;
    log.warn(
      { address },
      "an address holds too many connections; name it in TRUSTED_PROXIES if it is a proxy",
    );
  };
}

/** The adapters of connected ledgers, and new ones for connections that are tried out. */
function openLedgers(
  config: Config,
  log: Log,
  kinds: LedgerKinds,
  { pool, metrics }: { readonly pool: Pool; readonly metrics: Metrics },
) {
  const connect = createLedgerConnect(config.ledger.addresses);
  const encryption = encryptionOf(config);
  const parts = { ...config.ledger, kinds, connect, encryption, metrics, log };
  const adapters = createLedgerAdapters(pool, parts);
  const tryOut: Parameters<typeof startAdminPort>[0]["connect"] = (connection) =>
    // A trial has no budget.
    ledgerKindOf(kinds, connection.kind).connect(connection, { connect });
  return { adapters, tryOut };
}
