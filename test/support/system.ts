/**
 * The whole service for tests that speak HTTP: a database, a demo ledger with faults, an API and a
 * worker that can be stopped, killed and started again, and organisations in it.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import type { CallCounts, DemoLimits } from "../../packages/demo-ledger/src/api/limits.ts";
import { startDemoLedger } from "../../packages/demo-ledger/src/server.ts";
import {
  type CreatedOrganisation,
  createDemoOrganisation,
  type DemoOrganisation,
} from "../../packages/dev/src/demo/first-data.ts";
import { createSettingUp } from "../../packages/dev/src/demo/provision.ts";
import type { LedgerKinds } from "../../src/ledger/port/ledger-kind.ts";
import { createEncryption } from "../../src/store/database/encryption.ts";
import { newId } from "../../src/store/database/ids.ts";
import type { OperatorRole } from "../../src/transport/rpc/caller.ts";
import { generateOperatorToken } from "../../src/transport/rpc/gate/api-key.ts";
import { type Answered, ask, askUntilPosted, type RequestOptions, untilBegun } from "./answer.ts";
import { freshDatabase } from "./database.ts";
import { testPool } from "./pool.ts";
import { freePort } from "./ports.ts";
import { type TestProcess, testProcess } from "./process.ts";
import { hereOr, processHere } from "./process-here.ts";
import { tables } from "./rows.ts";
import { createSchedule, deleteSchedule, testTemporal } from "./temporal.ts";

export type { Answered, RequestOptions } from "./answer.ts";
export type { TestProcess } from "./process.ts";
export { until } from "./until.ts";

/** The service under test. */
export interface TestSystem {
  readonly baseUrl: string;
  /** The base URL of the admin API. */
  readonly adminUrl: string;
  readonly demoUrl: string;
  readonly databaseUrl: string;
  readonly temporal: { readonly address: string; readonly namespace: string };
  /** For reads of the database. */
  readonly pool: pg.Pool;
  readonly api: TestProcess;
  readonly worker: TestProcess;
  /**
   * Creates an organisation with plans, charges and customers (`demo-catalogue.ts`); `changes` are
   * columns of organisations.
   */
  organisation(
    settings?: Partial<DemoOrganisation>,
    changes?: Record<string, unknown>,
  ): Promise<CreatedOrganisation>;
  /**
   * Sends a request over REST. While the ledger and the worker run, a slow machine does not show in
   * the answer (`untilBegun`) and its documents (`askUntilPosted`).
   */
  ask(verb: string, path: string, options?: RequestOptions): Promise<Answered>;
  /**
   * Calls the admin API over Connect: `PlanService/CreatePlan`, or a full path if it begins with a
   * slash.
   */
  askAdmin(method: string, options?: RequestOptions): Promise<Answered>;
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
  /** Stops and starts the demo ledger, on the same port and with the same documents. */
  stopLedger(): Promise<void>;
  startLedger(): Promise<void>;
  stop(): Promise<void>;
}

/** What a system starts with. The rate limit is high unless a test is about it. */
export interface SystemSettings {
  readonly env?: NodeJS.ProcessEnv;
  /** The demo ledger's limits of calls, generous by default. */
  readonly limits?: Partial<DemoLimits>;
  /** Processes that are not started at first. */
  readonly without?: readonly ("api" | "worker")[];
  /**
   * Whether API and worker are always separate processes, for tests of signals, exits and all that
   * a process writes. Otherwise they run in the test's own process, because the start of a separate
   * one takes one to two seconds of processor time. To be killed they are started as separate ones.
   */
  readonly areSeparate?: boolean;
  /** The `src` of another tree from which API and worker start, as separate processes. */
  readonly sources?: string;
  /** Kinds of ledger that only tests have. Separate processes lack them. */
  readonly kinds?: LedgerKinds;
  /** The demo ledger's database, if it is to outlive the service's. */
  readonly ledgerDatabaseUrl?: string;
}

/** Starts a new system. */
export async function startSystem(settings: SystemSettings = {}): Promise<TestSystem> {
  const database = await freshDatabase();
  const temporal = await testTemporal();
  const ledgerPort = await freePort();
  const { limits = {}, ledgerDatabaseUrl = database.url } = settings;
  const startLedger = () =>
    startDemoLedger({ databaseUrl: ledgerDatabaseUrl, port: ledgerPort, faults: true, limits });
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
  await createSchedule(temporal, env.TASK_QUEUE);
  const pool = testPool(database.url, 4);
  const settingUp = createSettingUp(pool, createEncryption(secretKey));
  // From the sources, tests would share modules with the service, and Temporal's runtime.
  const isBuilt = Boolean(process.env.TEST_PROGRAMS);
  const { kinds, sources } = settings;
  const { areSeparate = sources !== undefined || (!isBuilt && kinds === undefined) } = settings;
  const isUp = async () => (await fetch(`${baseUrl}/readyz`)).status === 200;
  const isStarted = async (output: string) => output.includes('"started"');
  const processOf = (
    part: "api" | "worker",
    script: string,
    isReady: (output: string) => Promise<boolean>,
  ) => {
    const separate = testProcess(sources ? join(sources, script) : script, env, isReady);
    return areSeparate ? separate : hereOr(separate, processHere(part, env, { kinds, isReady }));
  };
  const api = processOf("api", "server.ts", isUp);
  const worker = processOf("worker", "worker.ts", isStarted);
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
      const created = await createDemoOrganisation(settingUp, demoUrl, { ...defaults, ...own });
      for (const [column, value] of Object.entries(changes)) {
        const text = `UPDATE organisations SET ${pg.escapeIdentifier(column)} = $2 WHERE id = $1`;
        await pool.query(text, [created.organisationId, value]);
      }
      return created;
    },
    ask: (verb, path, options) =>
      ledger !== null && worker.isRunning()
        ? untilBegun(() => askUntilPosted(baseUrl, verb, path, options))
        : ask(`${baseUrl}${path}`, verb, options),
    askAdmin: (method, options) => {
      const path = method.startsWith("/") ? method : `/billing.admin.v1.${method}`;
      return untilBegun(() => ask(`${adminUrl}${path}`, "POST", { body: {}, ...options }));
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
      await deleteSchedule(temporal);
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
  await tables(pool).operator.create({ data: { id: operatorId, name, role } });
  await tables(pool).operatorToken.create({
    data: { id: newId(), operatorId, name: "Test", tokenHash: new Uint8Array(hash), hint },
  });
  return value;
}
