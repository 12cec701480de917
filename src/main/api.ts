/**
 * The composition root of the API process: the only file that builds its parts and connects them.
 * The worker's is `worker.ts`.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import type { Config } from "../config.ts";
import { Refusal } from "../domain/refusal.ts";
import { settingOf } from "../ledger/ledger-settings.ts";
import { type LedgerKinds, ledgerKindOf } from "../ledger/port/ledger-kind.ts";
import { services } from "../services/index.ts";
import { permits } from "../services/permits.ts";
import { textFormats } from "../services/text-formats.ts";
import { createAccess } from "../store/access/api-keys.ts";
import { createIdempotencyStore, type IdempotencyStore } from "../store/access/idempotency.ts";
import { createPool } from "../store/database/pool.ts";
import { createSchemaCheck } from "../store/database/schema-state.ts";
import { createOutcomes } from "../store/ledger-jobs/job-notifications.ts";
import { recordNotifications } from "../store/ledger-sync/record-notifications.ts";
import { createStore } from "../store/tenant.ts";
import { clientAddresses } from "../transport/http/client-addresses.ts";
import { exchangeOf } from "../transport/http/exchanges.ts";
import { ledgerWebhookAnswer, ledgerWebhookPathOf } from "../transport/http/ledger-webhooks.ts";
import { createReadiness, type Readiness } from "../transport/http/readiness.ts";
import { type HttpParts, startHttp } from "../transport/http/server.ts";
import type { Answer } from "../transport/http/system-endpoints.ts";
import { jsonCheck } from "../transport/rest/check-json.ts";
import type { HttpRequest, HttpResponse } from "../transport/rest/exchange.ts";
import { restHandler } from "../transport/rest/handler.ts";
import type { RequestFault } from "../transport/rest/request-fault.ts";
import { compileRoutes } from "../transport/rest/routes.ts";
import { createCall } from "../transport/rpc/call.ts";
import { createGate } from "../transport/rpc/gate.ts";
import { healthRoutes } from "../transport/rpc/health.ts";
import { createIdempotency } from "../transport/rpc/idempotency.ts";
import type { ServiceBinding } from "../transport/rpc/implementation.ts";
import { createRequestObserver, observeCall } from "../transport/rpc/observe.ts";
import { jobsOf } from "../transport/rpc/operation.ts";
import { reflectionRoutes } from "../transport/rpc/reflection.ts";
import { createReportError } from "../transport/rpc/refusals.ts";
import { connectRoutes } from "../transport/rpc/routes.ts";
import { checkTemporal, connectTemporal, type TemporalClient } from "../worker/temporal/connect.ts";
import { createLedgerWork } from "../worker/temporal/ledger-work.ts";
import { createStartWork } from "../worker/temporal/start-work.ts";
import { type AdminPort, encryptionOf, startAdminPort } from "./admin-api.ts";
import { createLedgerAdapters, disconnectedText, logAnswer } from "./ledger-adapters.ts";
import { createLedgerConnect } from "./ledger-connect.ts";
import type { Log } from "./log.ts";
import { createMetrics, type Metrics, watchPool } from "./metrics.ts";
import type { Running } from "./run.ts";

/** How long a readiness check may take. Probes themselves wait a few seconds. */
const checkMs = 1_500;

/**
 * Starts the API: REST, Connect, gRPC-Web and gRPC on one port, and the admin API on another.
 * Organisations can be connected to these kinds of ledger.
 */
export async function startApi(config: Config, log: Log, kinds: LedgerKinds): Promise<Running> {
  const metrics = createMetrics();
  const pool = createPool(
    { databaseUrl: config.database.url, size: config.database.poolSize, name: "api" },
    (err) => log.warn({ err }, "a database connection was lost"),
  );
  watchPool(metrics, pool);
  const outcomes = createOutcomes(config.database.url, pool, (err) =>
    log.warn({ err }, "outcomes: connection lost"),
  );
  const temporal = connectTemporal();
  const work = createLedgerWork(temporal.client, config.taskQueue, (organisationId, err) =>
    log.warn(
      { organisationId, err },
      "the ledger workflow could not be woken; the dispatcher will",
    ),
  );
  const starts = createStartWork(temporal.client, config.taskQueue, (workflowId, err) =>
    log.warn({ workflowId, err }, "a workflow could not be started; the dispatcher will"),
  );
  const { startAmendment, startTermination } = starts;
  const settlement = { wake: work.wake, startAmendment, startTermination, outcomes };
  const bindings = services({ store: createStore(pool), settlement });
  const keys = createIdempotencyStore(pool, {
    onTrouble: (err) => {
      metrics.idempotencyTrouble.inc();
      log.warn({ err }, "idempotency: the database could not be told; trying again");
    },
  });
  const stopping = new AbortController();
  const connect = createLedgerConnect(config.ledger.addresses);
  const adapters = createLedgerAdapters(pool, {
    kinds,
    callDeadlineMs: config.ledger.callDeadlineMs,
    connect,
    sealing: encryptionOf(config),
    apps: config.ledger.apps,
    onDisconnected: (organisationId) => log.warn({ organisationId }, disconnectedText),
    onAnswered: logAnswer(log),
  });
  const readiness = openReadiness(config, log, temporal);
  const port = await startHttp({
    host: config.api.host,
    port: config.api.port,
    tls: config.api.tls,
    trustedProxies: config.api.trustedProxies,
    onConnectionLimit: warnOfConnections(log),
    ...doors(config, log, metrics, pool, keys, bindings, readiness, stopping.signal),
    openapi: readOpenapi(),
    doors: ledgerWebhookEndpoints(config, kinds, pool, starts.startLedgerSync),
    readiness,
    // This port is public, so it shows no metrics.
    metrics: null,
    log: createRequestObserver({ log, requests: metrics.requests }),
    logFailure: (err, requestId) => log.error({ requestId, err }, "failure"),
  });
  const admin = await startAdmin(config, log, metrics, pool, keys, {
    ...starts,
    readiness,
    wake: work.wake,
    openLedger: adapters.open,
    kinds,
    // An adapter for a trial connection has no budget.
    connect: (connection) => ledgerKindOf(kinds, connection.kind).connect(connection, { connect }),
    shutdownSignal: stopping.signal,
  });
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
      await adapters.close();
      await keys.stop();
      await outcomes.close();
      await readiness.close();
      await temporal.connection.close();
      await pool.end();
      ended.resolve();
    },
  };
}

/**
 * Starts one check of the database and Temporal for both ports. The log has each change of its
 * result.
 */
function openReadiness(config: Config, log: Log, temporal: TemporalClient): Readiness {
  const onError = (err: Error) => log.warn({ err }, "readiness: connection lost");
  const schema = createSchemaCheck({ databaseUrl: config.database.url, onError });
  const readiness = createReadiness({
    checks: {
      database: { required: true, check: schema.check },
      // Without Temporal, accepted work is done later and reads are answered (INVARIANT-9).
      temporal: { required: false, check: () => checkTemporal(temporal, checkMs).then(() => null) },
    },
    onChange: (report) => log[report.status === "not_ready" ? "warn" : "info"](report, "readiness"),
  });
  return { ...readiness, close: () => readiness.close().then(schema.close) };
}

/** The endpoints for ledgers' webhooks, of the kinds whose signing key is set. */
function ledgerWebhookEndpoints(
  { api, ledger }: Config,
  kinds: LedgerKinds,
  pool: ReturnType<typeof createPool>,
  wake: (organisationId: string) => Promise<boolean>,
): ReadonlyMap<string, Answer> {
  const addressOf = clientAddresses(api.trustedProxies);
  return new Map(
    Object.entries(kinds).flatMap(([kind, { webhooks }]) => {
      const key = settingOf(ledger.webhookKeys, kind);
      if (webhooks === null || key === null) return [];
      const answer = ledgerWebhookAnswer({
        ...webhooks,
        wake,
        addressOf,
        read: (delivery) => webhooks.read(delivery, key),
        record: (notifications) => recordNotifications(pool, kind, notifications),
      });
      return [[ledgerWebhookPathOf(kind), answer]];
    }),
  );
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

/**
 * Opens the port of the admin API in this process. The process does not start if the port cannot be
 * opened.
 */
function startAdmin(
  config: Config,
  log: Log,
  metrics: Metrics,
  pool: ReturnType<typeof createPool>,
  keys: IdempotencyStore,
  parts: Omit<
    Parameters<typeof startAdminPort>[0],
    | "config"
    | "pool"
    | "keys"
    | "metrics"
    | "log"
    | "logFailure"
    | "onPoolError"
    | "onConnectionLimit"
  >,
): Promise<AdminPort> {
  const logFailure = (err: unknown, requestId: string) => log.error({ requestId, err }, "failure");
  return startAdminPort({
    ...parts,
    config,
    pool,
    keys,
    metrics: metrics.text,
    log: createRequestObserver({ log, requests: metrics.requests }),
    logFailure,
    onPoolError: (err) => log.warn({ err }, "a database connection was lost"),
    onConnectionLimit: warnOfConnections(log),
  });
}

/** The two transports over one gate and one call: REST, and Connect with gRPC. */
function doors(
  config: Config,
  log: Log,
  metrics: Metrics,
  pool: ReturnType<typeof createPool>,
  keys: IdempotencyStore,
  bindings: readonly ServiceBinding[],
  readiness: Readiness,
  shutdownSignal: AbortSignal,
): Pick<HttpParts, "rest" | "connect"> {
  const access = createAccess(pool, {
    limitPerMinute: config.api.rateLimitPerMinute,
    onBatch: (size) => metrics.admissions.observe(size),
  });
  const tell = createReportError((err, requestId) => log.error({ requestId, err }, "failure"));
  const gate = createGate({
    access,
    permits: (operation, caller) => permits(operation.name, caller),
  });
  const call = createCall({
    idempotency: createIdempotency(keys),
    observe: observeCall,
    implementations: bindings,
    formats: textFormats,
  });
  const publicServices = bindings.map(({ service }) => service);
  const health = healthRoutes({
    ...readiness,
    services: publicServices.map(({ typeName }) => typeName),
  });
  const open = config.api.grpcReflection ? [health, reflectionRoutes(publicServices)] : [health];
  const refusalOf = ({ code, message, param }: RequestFault) => new Refusal(code, message, param);
  const findRoute = compileRoutes(jobsOf(publicServices));
  const rest = restHandler({ findRoute, pass: gate.pass, call, tell, refusalOf });
  const checkJson = jsonCheck(refusalOf);
  return {
    rest,
    connect: connectNodeAdapter({
      ...connectRoutes(bindings, {
        gate,
        call,
        tell,
        checkJson,
        recordOf: exchangeOf,
        shutdownSignal,
        open,
      }),
      // An unknown procedure is answered like any other unknown path.
      fallback: (request, response) => {
        const exchange = exchangeOf(request);
        if (exchange !== undefined)
          void rest(request as HttpRequest, response as HttpResponse, exchange);
      },
    }),
  };
}

/** Reads the file that `npm run gen` writes. The entity tag is a hash of its bytes. */
function readOpenapi(): { readonly body: Buffer; readonly etag: string } {
  const body = readFileSync(new URL("../gen/openapi.json", import.meta.url));
  return { body, etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 27)}"` };
}
