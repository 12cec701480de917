/**
 * Restarts three APIs and two workers one by one, three times, behind a balancer that obeys
 * /readyz, while platforms create subscriptions and read lists. Ends non-zero if a request fails,
 * or if anything is lost or done twice.
 */
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Agent } from "undici";
import { startDemoLedger } from "../src/dev/demo-ledger/server.ts";
import {
  type CreatedOrganisation,
  createDemoOrganisation,
} from "../src/dev/local-stack/demo/first-data.ts";
import { startPostgres } from "../src/dev/local-stack/postgres/postgres.ts";
import { type Child, startChild } from "../src/dev/local-stack/processes/children.ts";
import { startTemporal } from "../src/dev/local-stack/temporal/temporal-server.ts";
import { createSettingUp } from "../src/store/admin/provision.ts";
import { createEncryption } from "../src/store/database/encryption.ts";
import { migrate } from "../src/store/database/migrations/migrate.ts";
import { createPool } from "../src/store/database/pool.ts";
import { searchAttributes } from "../src/worker/temporal/search-attributes.ts";
import { freePort } from "../test/support/ports.ts";
import { median, printFigure } from "./support/figure.ts";
import { requirePostedOnce } from "./support/posted-once.ts";
import { type ReadyProxy, startReadyProxy } from "./support/ready-proxy.ts";
import { addKeys, bareEnvironment } from "./support/system.ts";

const [apiCount, workerCount, times] = [3, 2, 3];

/** Longer than the balancer's interval, a check under load included. */
const drainSeconds = 2;

/** Callers at once. Each creates a subscription, then reads a list. */
const callers = 6;

/** Each key has 120 requests a minute. */
const keyCount = 120;

const startLimitMs = 60_000;

const programs = {
  api: fileURLToPath(new URL("../src/server.ts", import.meta.url)),
  worker: fileURLToPath(new URL("../src/worker.ts", import.meta.url)),
};

/** What is stopped at the end, in reverse order. */
type Stops = (() => Promise<unknown>)[];

/** A process that is restarted: stops it and starts the next one, ready. */
interface Restarted {
  restart(): Promise<void>;
}

/** The result of the load. */
interface Load {
  readonly acknowledged: Map<string, string>;
  readonly failed: string[];
  readonly tookMs: number[];
}

/** Runs the measurement. */
export async function run(): Promise<void> {
  const stops: Stops = [];
  try {
    await measure(stops);
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

async function measure(stops: Stops): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "billing-rolling-"));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  const { env, databaseUrl, demoUrl, encryption } = await startServers(folder, stops);
  const pool = createPool({ databaseUrl, size: 4, name: "bench" }, () => undefined);
  stops.push(() => pool.end());
  const zone = { livemode: true, timezone: "Pacific/Auckland", currency: "NZD", name: "Rolling" };
  const organisation = await createDemoOrganisation(
    createSettingUp(pool, encryption),
    demoUrl,
    zone,
  );
  const keys = await addKeys(pool, organisation.organisationId, keyCount);
  const proxy = await startReadyProxy();
  stops.push(() => proxy.stop());
  const processes: Restarted[] = [];
  for (let index = 0; index < workerCount; index += 1)
    processes.push(await startWorker(`worker-${index}`, env, folder, stops));
  for (let index = 0; index < apiCount; index += 1)
    processes.push(await startApi(`api-${index}`, env, folder, proxy, stops));

  const load: Load = { acknowledged: new Map(), failed: [], tookMs: [] };
  let isOver = false;
  const calling = Promise.all(
    Array.from({ length: callers }, () => callUntil(proxy, organisation, keys, load, () => isOver)),
  );
  const restartMs: number[] = [];
  const beganMs = performance.now();
  for (let time = 0; time < times; time += 1) {
    for (const process of processes) {
      const startedMs = performance.now();
      await process.restart();
      restartMs.push(performance.now() - startedMs);
    }
  }
  isOver = true;
  await calling;
  const seconds = (performance.now() - beganMs) / 1_000;
  const sorted = load.tookMs.toSorted((a, b) => a - b);
  printFigure("rolling_restarts", restartMs.length, "processes");
  printFigure("rolling_restart_median", median(restartMs) / 1_000, "s");
  printFigure("rolling_requests", load.tookMs.length, "requests");
  printFigure("rolling_requests_a_second", load.tookMs.length / seconds, "requests/s");
  printFigure("rolling_request_median", median(load.tookMs), "ms");
  printFigure("rolling_request_p99", sorted[Math.floor(sorted.length * 0.99)] ?? 0, "ms");
  printFigure("rolling_request_slowest", sorted.at(-1) ?? 0, "ms");
  printFigure("rolling_requests_failed", load.failed.length, "requests");
  assert.deepEqual(load.failed.slice(0, 5), [], "no request fails");
  await requirePostedOnce(pool, organisation, load.acknowledged);
  printFigure("rolling_created_once", load.acknowledged.size, "subscriptions");
}

async function startServers(folder: string, stops: Stops) {
  const log = () => undefined;
  const postgres = await startPostgres({
    dataFolder: join(folder, "postgres"),
    port: await freePort(),
    log,
  });
  stops.push(() => postgres.stop());
  const databaseUrl = postgres.url;
  await migrate(databaseUrl, { log });
  const temporal = await startTemporal({
    dataFile: join(folder, "temporal.db"),
    port: await freePort(),
    uiPort: await freePort(),
    namespace: "default",
    searchAttributes,
    log,
  });
  stops.push(() => temporal.stop());
  const ledger = await startDemoLedger({ databaseUrl, port: await freePort(), faults: false });
  stops.push(() => ledger.stop());
  const secretKey = randomBytes(32);
  const env: NodeJS.ProcessEnv = {
    ...bareEnvironment(),
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporal.address,
    SECRET_KEY: secretKey.toString("base64"),
    DRAIN_SECONDS: String(drainSeconds),
    LEDGER_ADDRESSES: "development",
  };
  const encryption = createEncryption(secretKey);
  return { env, databaseUrl, demoUrl: ledger.url, encryption };
}

/** Starts an API, and each next one on new ports, as a container's successor has a new address. */
async function startApi(
  name: string,
  env: NodeJS.ProcessEnv,
  folder: string,
  proxy: ReadyProxy,
  stops: Stops,
): Promise<Restarted> {
  let current: { readonly child: Child; readonly url: string } | null = null;
  const start = async () => {
    const port = await freePort();
    const ports = { API_PORT: String(port), ADMIN_PORT: String(await freePort()) };
    const child = await startChild({
      name,
      script: programs.api,
      env: { ...env, ...ports },
      logFile: join(folder, `${name}.log`),
      drainMs: startLimitMs,
    });
    const url = `http://127.0.0.1:${port}`;
    proxy.replace(current?.url ?? null, url);
    current = { child, url };
    await untilTrue(child, () => proxy.isReady(url));
  };
  stops.push(async () => current?.child.stop());
  await start();
  return {
    restart: async () => {
      await current?.child.stop();
      await start();
    },
  };
}

async function startWorker(
  name: string,
  env: NodeJS.ProcessEnv,
  folder: string,
  stops: Stops,
): Promise<Restarted> {
  let current: Child | null = null;
  const start = async () => {
    const child = await startChild({
      name,
      script: programs.worker,
      env,
      logFile: join(folder, `${name}.log`),
      drainMs: startLimitMs,
    });
    current = child;
    await untilTrue(child, async () => (await child.lastWords()).includes('"started"'));
  };
  stops.push(async () => current?.stop());
  await start();
  return {
    restart: async () => {
      await current?.stop();
      await start();
    },
  };
}

async function untilTrue(child: Child, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = performance.now() + startLimitMs;
  while (!(await isTrue())) {
    assert(performance.now() < endMs, `${child.name} starts: ${await child.lastWords()}`);
    await wait(50);
  }
}

async function callUntil(
  { url }: ReadyProxy,
  { apiKey }: CreatedOrganisation,
  keys: readonly string[],
  { acknowledged, failed, tookMs }: Load,
  isOver: () => boolean,
): Promise<void> {
  const dispatcher = new Agent({ connections: 1, pipelining: 1 });
  const call = async (method: "GET" | "POST", path: string, body?: object) => {
    const startedMs = performance.now();
    const key = keys[Math.floor(Math.random() * keys.length)] ?? apiKey;
    const answer = await dispatcher
      .request({
        origin: url,
        path,
        method,
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          ...(method === "POST" ? { "idempotency-key": randomUUID() } : {}),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      .catch((error: Error) => error);
    const text = answer instanceof Error ? answer.message : await answer.body.text();
    tookMs.push(performance.now() - startedMs);
    const status = answer instanceof Error ? 0 : answer.statusCode;
    if (status !== (method === "POST" ? 201 : 200)) {
      failed.push(`${method} ${path}: ${status} ${text}`);
      return null;
    }
    return JSON.parse(text);
  };
  const creation = { customer_code: "ACME", plan_code: "team", units: 10 };
  while (!isOver()) {
    const created = await call("POST", "/v1/subscriptions", creation);
    if (created !== null) acknowledged.set(created.id, created.invoice.id);
    await call("GET", "/v1/invoices?limit=10");
    // About as many requests as the keys may send.
    await wait(20);
  }
  await dispatcher.close();
}
