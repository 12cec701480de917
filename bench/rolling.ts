/**
 * Restarts three APIs and two workers one by one, three times, behind a balancer that obeys
 * /readyz, while platforms create subscriptions and read lists. Ends non-zero if a request fails,
 * or if anything is lost or done twice.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import { startDemoLedger } from "../packages/demo-ledger/src/server.ts";
import {
  type CreatedOrganisation,
  createDemoOrganisation,
} from "../packages/dev/src/demo/first-data.ts";
import { createSettingUp } from "../packages/dev/src/demo/provision.ts";
import { startPostgres } from "../packages/dev/src/postgres/postgres.ts";
import { setUpSchedule } from "../packages/dev/src/temporal/set-up-schedules.ts";
import { startTemporal } from "../packages/dev/src/temporal/temporal-server.ts";
import { createEncryption } from "../src/store/database/encryption.ts";
import { migrate } from "../src/store/database/migrations/migrate.ts";
import { createPool } from "../src/store/database/pool.ts";
import { searchAttributes } from "../src/worker/temporal/search-attributes.ts";
import { freePort } from "../test/support/ports.ts";
import { median, printFigure } from "./support/figure.ts";
import { requirePostedOnce } from "./support/posted-once.ts";
import { startReadyProxy } from "./support/ready-proxy.ts";
import {
  type Restarted,
  type Stops,
  startRolledApi,
  startRolledWorker,
} from "./support/rolled-processes.ts";
import { type Load, startLoad, type Window } from "./support/rolling-load.ts";
import { addKeys, bareEnvironment } from "./support/system.ts";

const [apiCount, workerCount, times] = [3, 2, 3];

/** Longer than the balancer's interval, a check under load included. */
const drainSeconds = 2;

/** Each key has 120 requests a minute. */
const keyCount = 120;

/** Without a restart, before the first one and after each: for comparison. */
const quietMs = { first: 15_000, between: 1_000 };

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
  const place = { env, folder, stops };
  const processes: Restarted[] = [];
  for (let index = 0; index < workerCount; index += 1)
    processes.push(await startRolledWorker(`worker-${index}`, place));
  for (let index = 0; index < apiCount; index += 1)
    processes.push(await startRolledApi(`api-${index}`, place, proxy));

  const load = startLoad(proxy.url, keys);
  await wait(quietMs.first);
  const restarts: Window[] = [];
  for (let time = 0; time < times; time += 1) {
    for (const process of processes) {
      const startedMs = performance.now();
      await process.restart();
      restarts.push({ startedMs, endedMs: performance.now() });
      await wait(quietMs.between);
    }
  }
  await load.stop();
  await report(pool, organisation, load, restarts);
}

/** Prints the figures, then rejects unless every request succeeded and was carried out once. */
async function report(
  pool: pg.Pool,
  organisation: CreatedOrganisation,
  { acknowledged, failed, requests }: Load,
  restarts: readonly Window[],
): Promise<void> {
  const took = ({ startedMs, endedMs }: Window) => endedMs - startedMs;
  const isDuring = (one: Window) =>
    restarts.some(({ startedMs, endedMs }) => {
      return one.startedMs < endedMs && one.endedMs > startedMs;
    });
  printFigure("rolling_restarts", restarts.length, "processes");
  printFigure("rolling_restart_median", median(restarts.map(took)) / 1_000, "s");
  printFigure("rolling_requests", requests.length, "requests");
  printFigure("rolling_requests_failed", failed.length, "requests");
  for (const [phase, some] of [
    ["during", requests.filter(isDuring)],
    ["outside", requests.filter((one) => !isDuring(one))],
  ] as const) {
    for (const method of ["POST", "GET"]) {
      const sorted = some
        .filter((one) => one.method === method)
        .map(took)
        .toSorted((a, b) => a - b);
      const name = `rolling_${phase}_${method === "POST" ? "creations" : "lists"}`;
      printFigure(name, sorted.length, "requests");
      printFigure(`${name}_p50`, median(sorted), "ms");
      printFigure(`${name}_p99`, sorted[Math.floor(sorted.length * 0.99)] ?? 0, "ms");
      printFigure(`${name}_slowest`, sorted.at(-1) ?? 0, "ms");
    }
  }
  assert.deepEqual(failed.slice(0, 5), [], "no request fails");
  await requirePostedOnce(pool, organisation, acknowledged);
  printFigure("rolling_created_once", acknowledged.size, "subscriptions");
  printFigure("rolling_done_twice", 0, "subscriptions");
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
  await setUpSchedule(env, log);
  const encryption = createEncryption(secretKey);
  return { env, databaseUrl, demoUrl: ledger.url, encryption };
}
