/**
 * The whole stack of one command: PostgreSQL with its migrations and Temporal with its schedules at
 * once, then demo ledger, worker and API at once. DATABASE_URL and TEMPORAL_ADDRESS replace an
 * embedded part. With both set nothing embedded starts.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type DemoApp, demoAppEnv, newDemoApp } from "./demo/demo-app.ts";
import { type DemoWebhook, newDemoWebhook } from "./demo/demo-webhook.ts";
import { stopLeftPostgres } from "./postgres/postgres.ts";
import { privateFolder } from "./private-folder.ts";
import { adminAddressOf, answersReady, apiAddressOf } from "./processes/api-address.ts";
import { type Child, startChild } from "./processes/children.ts";
import { assertPortsFree, isListening, localHost } from "./processes/ports.ts";
import { waitUntil } from "./processes/process.ts";
import { type Counting, linesInto } from "./progress-line.ts";
import { secretKeyOf } from "./secret-key.ts";
import { planOf, type StackPlan } from "./stack-plan.ts";
import { startDatabase, startTemporalPart, startTrytonPart } from "./stack-servers.ts";
import type { Parts } from "./stack-settings.ts";
import { type LockedRecord, lockStartRecord } from "./start-record.ts";
import { stopLeftTemporal } from "./temporal/temporal-server.ts";
import type { TrytonServer } from "./tryton/server.ts";

/** The programs of this repository that run as children, by absolute path. */
interface Programs {
  readonly demoLedger: string;
  readonly api: string;
  readonly worker: string;
}

/** The settings of `startStack`. `programs` are this repository's by default; tests set others. */
interface StackSettings {
  readonly env: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
  /** Shows a long wait. The default is two lines of the log. */
  readonly lines?: Counting;
  readonly parts: Parts;
  readonly programs?: Programs;
}

/**
 * The addresses and secrets of a running stack. `demoLedgerUrl` is undefined if nothing embedded
 * runs, `temporalUiUrl` if Temporal is external.
 */
export interface Stack {
  readonly baseUrl: string;
  /** The base URL of the admin API. */
  readonly adminUrl: string;
  readonly databaseUrl: string;
  readonly demoLedgerUrl: string | undefined;
  /** The Tryton of the first data, or of a connection. Undefined if there is none. */
  readonly tryton: TrytonServer | undefined;
  /** Our app at the demo ledger, which is not registered yet. */
  readonly demoApp: DemoApp | undefined;
  /** The demo ledger's webhook, which is not registered yet. */
  readonly demoWebhook: DemoWebhook | undefined;
  readonly temporalUiUrl: string | undefined;
  /**
   * The key that encrypts ledger credentials, in base64: SECRET_KEY or the one in the data folder.
   */
  readonly secretKey: string;
  readonly logFolder: string;
}

/**
 * The API's default of SHUTDOWN_SECONDS, because an answer may wait 15 s for the ledger. It drains
 * while the worker still runs.
 */
const shutdownSeconds = 20;

/** The time beyond a program's own drain limit before it is ended. */
const drainGraceMs = 5_000;

/**
 * A ledger call ends within its own time limit. The next worker continues work that was cut off.
 */
const workerDrainMs = 20_000;

/** Its answers take milliseconds. */
const demoLedgerDrainMs = 5_000;

/** A start takes one to three seconds until ready. The rest is for a machine under load. */
const readyLimitMs = 60_000;

const repositoryPrograms: Programs = {
  demoLedger: fileURLToPath(new URL("../../demo-ledger/src/main.ts", import.meta.url)),
  api: fileURLToPath(new URL("../../../src/server.ts", import.meta.url)),
  worker: fileURLToPath(new URL("../../../src/worker.ts", import.meta.url)),
};

/**
 * Starts all parts into `parts` and returns once the API answers /readyz with 200. If it throws,
 * the caller stops `parts`. For a taken port the Error names the setting, before anything is
 * started. For a part that does not start the Error has its last words.
 */
export async function startStack(settings: StackSettings): Promise<Stack> {
  const { env, log, parts, programs = repositoryPrograms, lines = linesInto(log) } = settings;
  const plan = planOf(env);
  const record = await lockStartRecord(plan.dataFolder, log);
  await privateFolder(plan.logFolder, { whole: true });
  if (plan.postgresPort !== undefined) await stopLeftPostgres(plan.postgresFolder, log);
  if (plan.temporalPort !== undefined) await stopLeftTemporal(plan.temporalFile, log);
  await assertPortsFree(plan.wanted);

  const [databaseUrl, temporal] = await awaitBoth(
    startDatabase(plan, settings),
    startTemporalPart(plan, settings, lines),
  );
  const secretKey = await secretKeyOf(env, plan.dataFolder);
  const childEnv: NodeJS.ProcessEnv = {
    ...env,
    SECRET_KEY: secretKey,
    DATABASE_URL: databaseUrl,
    API_PORT: String(plan.apiPort),
    ADMIN_PORT: String(plan.adminPort),
    WORKER_PORT: String(plan.workerPort),
    // A webhook receiver in development listens on this machine.
    WEBHOOK_ADDRESSES: env.WEBHOOK_ADDRESSES || "development",
    // So does the demo ledger.
    LEDGER_ADDRESSES: env.LEDGER_ADDRESSES || "development",
    // As in the image: see deploy/entrypoint.sh.
    MALLOC_ARENA_MAX: env.MALLOC_ARENA_MAX || "2",
    ...temporal.env,
  };
  const tryton = await startTrytonPart(plan, settings, databaseUrl, record);
  const run = childRunner(childEnv, plan, parts, record);
  const demoLedgerUrl =
    plan.demoLedgerPort === undefined ? undefined : `http://${localHost}:${plan.demoLedgerPort}`;
  const running: Promise<void>[] = [];
  const demoApp = demoLedgerUrl === undefined ? undefined : newDemoApp(env, plan.adminPort);
  if (plan.demoLedgerPort !== undefined && demoLedgerUrl !== undefined) {
    if (demoApp !== undefined) Object.assign(childEnv, demoAppEnv(demoApp, demoLedgerUrl));
    const port = plan.demoLedgerPort;
    childEnv.DEMO_LEDGER_PORT = String(port);
    childEnv.DEMO_LEDGER_URL = demoLedgerUrl;
    // No fault happens until a person adds one on the demo ledger's page.
    childEnv.DEMO_LEDGER_FAULTS = env.DEMO_LEDGER_FAULTS || "1";
    const ready = () => isListening(port);
    running.push(run("Demo ledger", programs.demoLedger, demoLedgerDrainMs, ready, demoLedgerUrl));
  }
  const baseUrl = apiAddressOf(env, plan.apiPort);
  const demoWebhook = demoLedgerUrl === undefined ? undefined : newDemoWebhook(env, baseUrl);
  if (demoWebhook !== undefined) childEnv.XERO_WEBHOOK_KEY = demoWebhook.key;
  // The worker starts first, so that it ends after the API.
  running.push(run("Worker", programs.worker, workerDrainMs, undefined, ""));
  const apiSeconds =
    Number(env.DRAIN_SECONDS || 0) + Number(env.SHUTDOWN_SECONDS || shutdownSeconds);
  const apiDrainMs = apiSeconds * 1000 + drainGraceMs;
  running.push(run("API", programs.api, apiDrainMs, () => answersReady(baseUrl), baseUrl));
  await Promise.all(running);
  const adminUrl = adminAddressOf(env, plan.adminPort);
  const { logFolder } = plan;
  const temporalUiUrl = temporal.uiUrl;
  const ledger = { demoLedgerUrl, demoApp, demoWebhook, tryton };
  return { secretKey, baseUrl, adminUrl, databaseUrl, ...ledger, temporalUiUrl, logFolder };
}

/** Waits for both even if one fails, so that a stop finds everything that was started. */
async function awaitBoth<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second]);
  return Promise.all([first, second]);
}

type RunChild = (
  name: string,
  script: string,
  drainMs: number,
  ready: (() => Promise<boolean>) | undefined,
  where: string,
) => Promise<void>;

function childRunner(
  env: NodeJS.ProcessEnv,
  plan: StackPlan,
  parts: Parts,
  record: LockedRecord,
): RunChild {
  // One is spawned after the other, so that the record has them in order. They get ready together.
  let last: Promise<unknown> = Promise.resolve();
  return async (name, script, drainMs, ready, where) => {
    const logFile = join(plan.logFolder, `${name.toLowerCase().replaceAll(" ", "-")}.log`);
    const spawn = async (): Promise<Child> => {
      const child = await startChild({ name, script, env, logFile, drainMs });
      await record.add(name, child.pid);
      return child;
    };
    const create = async (): Promise<Child> => {
      const spawned = last.then(spawn);
      last = spawned.catch(() => undefined);
      const child = await spawned;
      if (ready !== undefined) await untilReady(child, ready);
      return child;
    };
    await parts.start(name, create, () => `${where === "" ? "" : `${where}, `}log ${logFile}`);
  };
}

/**
 * Returns once the child is ready. A child that ends or takes too long is ended, and the Error has
 * its last words.
 */
async function untilReady(child: Child, ready: () => Promise<boolean>): Promise<void> {
  let ended: string | undefined;
  void child.exited.then((how) => {
    ended = how;
  });
  const done = await waitUntil(async () => ended !== undefined || (await ready()), readyLimitMs);
  if (done && ended === undefined) return;
  await child.stop();
  const how =
    ended === undefined ? `not ready after ${readyLimitMs / 1000} s` : `ended with ${ended}`;
  throw new Error(
    `${child.name} did not start (${how}). Its last words:\n${await child.lastWords()}`,
  );
}
