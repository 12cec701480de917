/**
 * The whole service as processes of its own, for tests that speak HTTP: a database, a demo ledger with faults, an API and a
 * worker that can be killed and started again, and organisations in it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import type { CallCounts, DemoLimits } from "../../src/dev/demo-ledger/api/limits.ts";
import { startDemoLedger } from "../../src/dev/demo-ledger/server.ts";
import {
  createDemoOrganisation,
  type DemoOrganisation,
  type MadeOrganisation,
} from "../../src/dev/local-stack/first-data.ts";
import type { LedgerKinds } from "../../src/ledger/port/ledger-kind.ts";
import { createSettingUp } from "../../src/store/admin/provision.ts";
import { createEncryption } from "../../src/store/database/encryption.ts";
import { newId } from "../../src/store/database/ids.ts";
import { generateOperatorToken } from "../../src/transport/rpc/api-key.ts";
import type { OperatorRole } from "../../src/transport/rpc/caller.ts";
import { freshDatabase } from "./database.ts";
import { testPool } from "./pool.ts";
import { freePort } from "./ports.ts";
import { processHere } from "./process-here.ts";
import { temporalForTest } from "./temporal.ts";

/** An answer, read to its end. `json` is undefined where the body is no JSON. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape are looked into by tests
  readonly json: any;
}

/** What a request has beside verb and path. `body` is sent as JSON, or as it is where it is text. */
export interface Asked {
  readonly key?: string;
  readonly idempotencyKey?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** A process that can be ended in either way and started again, with other settings if wanted. */
export interface TestProcess {
  start(env?: NodeJS.ProcessEnv): Promise<void>;
  /** SIGKILL; returns once it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; returns once it is gone. */
  stop(): Promise<void>;
  /** Resolves when the running process ends by itself. */
  exited(): Promise<void>;
  /** Everything that it wrote since its last start. */
  output(): string;
}

/** The service under test. */
export interface TestSystem {
  readonly baseUrl: string;
  /** The application's side. */
  readonly adminUrl: string;
  readonly demoUrl: string;
  readonly databaseUrl: string;
  readonly temporal: { readonly address: string; readonly namespace: string };
  /** For looking into the database. */
  readonly pool: pg.Pool;
  readonly api: TestProcess;
  readonly worker: TestProcess;
  /** Makes an organisation with plans, charges and customers (`demo-catalogue.ts`); `changes` are columns of organisations. */
  organisation(
    settings?: Partial<DemoOrganisation>,
    changes?: Record<string, unknown>,
  ): Promise<MadeOrganisation>;
  ask(verb: string, path: string, asked?: Asked): Promise<Answered>;
  /** A call of the application's side over Connect: `PlanService/CreatePlan`, or a full path where it begins with a slash. */
  askAdmin(method: string, asked?: Asked): Promise<Answered>;
  /** The value of a new operator's token. */
  operator(role?: OperatorRole, name?: string): Promise<string>;
  /** Orders faults of the demo ledger; `clearFaults` takes them back. */
  fault(fault: object): Promise<void>;
  clearFaults(): Promise<void>;
  /** The sales invoices that an organisation's tenant has in the ledger. */
  ledgerInvoices(
    tenantId: string,
  ): Promise<readonly { readonly number: string; readonly status: string }[]>;
  /** The calls that a tenant's ledger took, and those that it turned away by a limit. */
  ledgerCalls(tenantId: string): Promise<CallCounts>;
  /** Stops and starts the demo ledger, on the same port and with the same books. */
  stopLedger(): Promise<void>;
  startLedger(): Promise<void>;
  stop(): Promise<void>;
}

/** What a system starts with. The rate limit is high unless a test is about it. */
export interface SystemSettings {
  readonly env?: NodeJS.ProcessEnv;
  /** The demo ledger's limits of calls, where they are not the generous ones. */
  readonly limits?: Partial<DemoLimits>;
  /** Processes that are not started at first. */
  readonly without?: readonly ("api" | "worker")[];
  /** Kinds of ledger that only tests have. API and worker then run in the test's own process. */
  readonly kinds?: LedgerKinds;
}

/** How long anything that comes by itself is waited for: a loaded machine with two cores is slow, and schedules start once a minute. */
const patienceMs = 100_000;

/** Most of what is waited for comes within a second: after it is looked for less often, since looking takes time from others. */
const [hasteMs, longMs] = [1_000, 5_000];
const [soonMs, laterMs, rarelyMs] = [25, 100, 250];

/** Waits until the condition holds, looking often, or every so many milliseconds; fails with `what` after 100 seconds. */
export async function until<T>(
  what: string | (() => string),
  look: () => Promise<T | false | null | undefined>,
  everyMs?: number,
): Promise<T> {
  const began = performance.now();
  for (;;) {
    const found = await look();
    if (found) return found;
    const passedMs = performance.now() - began;
    if (passedMs > patienceMs)
      throw new Error(`waited in vain until ${typeof what === "string" ? what : what()}`);
    await wait(everyMs ?? pauseAfter(passedMs));
  }
}

function pauseAfter(passedMs: number): number {
  if (passedMs < hasteMs) return soonMs;
  return passedMs < longMs ? laterMs : rarelyMs;
}

/** Starts a system of its own. */
export async function startSystem(settings: SystemSettings = {}): Promise<TestSystem> {
  const database = await freshDatabase();
  const temporal = await temporalForTest();
  const ledgerPort = await freePort();
  const { limits = {} } = settings;
  const startLedger = () =>
    startDemoLedger({ databaseUrl: database.url, port: ledgerPort, faults: true, limits });
  let ledger: Awaited<ReturnType<typeof startLedger>> | null = await startLedger();
  const demoUrl = ledger.url;
  const secretKey = randomBytes(32);
  const apiPort = await freePort();
  const adminPort = await freePort();
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  const baseUrl = `http://127.0.0.1:${apiPort}`;
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    TEMPORAL_CONFIG_FILE: fileURLToPath(new URL("temporal-profile.toml", import.meta.url)),
    SECRET_KEY: secretKey.toString("base64"),
    API_PORT: String(apiPort),
    ADMIN_PORT: String(adminPort),
    RATE_LIMIT_PER_MINUTE: "100000",
    LEDGER_CALL_SECONDS: "2",
    LEDGER_ADDRESSES: "development",
    ...settings.env,
  };
  const pool = testPool(database.url, 4);
  const settingUp = createSettingUp(pool, createEncryption(secretKey));
  const { kinds } = settings;
  const isUp = async () => (await fetch(`${baseUrl}/readyz`)).status === 200;
  const isStarted = async (output: string) => output.includes('"started"');
  const api = kinds ? processHere("api", env, kinds) : testProcess("server.ts", env, isUp);
  const worker = kinds
    ? processHere("worker", env, kinds)
    : testProcess("worker.ts", env, isStarted);
  const admin = async (verb: string, path: string, body?: object): Promise<Response> => {
    const answer = await fetch(`${demoUrl}/demo/${path}`, {
      method: verb,
      headers: { "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`demo ledger: ${answer.status} ${await answer.text()}`);
    return answer;
  };
  const system: TestSystem = {
    baseUrl,
    adminUrl,
    demoUrl,
    databaseUrl: database.url,
    temporal,
    pool,
    api,
    worker,
    organisation: async (own = {}, changes = {}) => {
      const defaults = {
        name: "Northwind",
        livemode: true,
        timezone: "Pacific/Auckland",
        currency: "NZD",
      };
      const made = await createDemoOrganisation(settingUp, demoUrl, { ...defaults, ...own });
      for (const [column, value] of Object.entries(changes)) {
        const text = `UPDATE organisations SET ${pg.escapeIdentifier(column)} = $2 WHERE id = $1`;
        await pool.query(text, [made.organisationId, value]);
      }
      return made;
    },
    ask: (verb, path, asked) => ask(`${baseUrl}${path}`, verb, asked),
    askAdmin: (method, asked) => {
      const path = method.startsWith("/") ? method : `/billing.admin.v1.${method}`;
      return ask(`${adminUrl}${path}`, "POST", { body: {}, ...asked });
    },
    operator: (role = "owner", name = role) => addOperator(pool, role, name),
    fault: async (fault) => void (await admin("POST", "faults", fault)),
    clearFaults: async () => void (await admin("DELETE", "faults")),
    ledgerInvoices: async (tenantId) => {
      const { rows } = await pool.query<{ number: string; status: string }>(
        "SELECT number, status FROM demo_ledger.invoices WHERE tenant_id = $1 ORDER BY number",
        [tenantId],
      );
      return rows;
    },
    ledgerCalls: async (tenantId) =>
      (await (await admin("GET", `tenants/${tenantId}/calls`)).json()) as CallCounts,
    stopLedger: async () => {
      await ledger?.stop();
      ledger = null;
    },
    startLedger: async () => {
      ledger ??= await startLedger();
    },
    stop: async () => {
      await Promise.all([api.stop(), worker.stop()]);
      await settingUp.close();
      await pool.end();
      await ledger?.stop();
      await database.drop();
    },
  };
  const wanted = [api, worker].filter(
    (_, index) => !settings.without?.includes(index === 0 ? "api" : "worker"),
  );
  await Promise.all(wanted.map((each) => each.start()));
  return system;
}

/** An operator with a token, as rows. */
async function addOperator(pool: pg.Pool, role: OperatorRole, name: string): Promise<string> {
  const { value, hash, hint } = generateOperatorToken();
  const operatorId = newId();
  await pool.query("INSERT INTO operators (id, name, role) VALUES ($1, $2, $3)", [
    operatorId,
    name,
    role,
  ]);
  await pool.query(
    "INSERT INTO operator_tokens (id, operator_id, name, token_hash, hint) VALUES ($1, $2, 'Test', $3, $4)",
    [newId(), operatorId, hash, hint],
  );
  return value;
}

async function ask(url: string, verb: string, asked: Asked = {}): Promise<Answered> {
  const headers = new Headers(asked.headers);
  if (asked.key !== undefined) headers.set("Authorization", `Bearer ${asked.key}`);
  if (asked.idempotencyKey !== undefined) headers.set("Idempotency-Key", asked.idempotencyKey);
  const body =
    asked.body === undefined || typeof asked.body === "string"
      ? asked.body
      : JSON.stringify(asked.body);
  if (body !== undefined && !headers.has("Content-Type"))
    headers.set("Content-Type", "application/json");
  const answer = await fetch(url, {
    method: verb,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, json: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Characters that are shown of what a process wrote that ended by itself. */
const lastWords = 4_000;

function testProcess(
  script: string,
  base: NodeJS.ProcessEnv,
  isReady: (output: string) => Promise<boolean>,
): TestProcess {
  const path = fileURLToPath(new URL(`../../src/${script}`, import.meta.url));
  let child: ChildProcess | null = null;
  let gone: Promise<void> = Promise.resolve();
  let output = "";
  let isAsked = false;
  const end = async (signal: NodeJS.Signals) => {
    isAsked = true;
    child?.kill(signal);
    await gone;
  };
  return {
    start: async (env = {}) => {
      output = "";
      isAsked = false;
      const own = spawn(process.execPath, [path], {
        env: { ...base, ...env },
        stdio: ["ignore", "pipe", "pipe"],
      });
      child = own;
      for (const stream of [own.stdout, own.stderr])
        stream.on("data", (chunk) => (output += String(chunk)));
      // What then is waited for in vain would not say why.
      own.once("exit", (code) => {
        if (code !== null && child === own && !isAsked)
          console.error(`${script} ended with ${code}: ${output.slice(-lastWords)}`);
      });
      // Not its exit: what it wrote last may come after that.
      gone = new Promise((resolve) => own.once("close", () => resolve()));
      const isUp = async () => {
        if (own.exitCode !== null)
          throw new Error(`${script} ended with ${own.exitCode}: ${output}`);
        return isReady(output).catch(() => false);
      };
      await until(() => `${script} is ready: ${output}`, isUp);
    },
    kill: () => end("SIGKILL"),
    stop: () => end("SIGTERM"),
    exited: () => gone,
    output: () => output,
  };
}
