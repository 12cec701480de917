/**
 * The whole service for a measurement: the processes of `npm start`, with new data in a temporary
 * folder and on free ports. No setting is changed, so that every limit is that of a real
 * installation.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Connection } from "@temporalio/client";
import type pg from "pg";
import {
  allScopes,
  type CreatedOrganisation,
  createDemoOrganisation,
} from "../../packages/dev/src/demo/first-data.ts";
import { createSettingUp } from "../../packages/dev/src/demo/provision.ts";
import { startStack } from "../../packages/dev/src/stack.ts";
import { collectParts } from "../../packages/dev/src/stack-settings.ts";
import { createEncryption, type Encryption } from "../../src/store/database/encryption.ts";
import { newId } from "../../src/store/database/ids.ts";
import { createPool } from "../../src/store/database/pool.ts";
import { generateApiKey } from "../../src/transport/rpc/gate/api-key.ts";
import { freePort } from "../../test/support/ports.ts";

/** The running service. */
export interface MeasuredSystem {
  readonly baseUrl: string;
  readonly databaseUrl: string;
  readonly demoLedgerUrl: string;
  /** For first data, floors and the checks at the end. As large as the service's own pools. */
  readonly pool: pg.Pool;
  /** Encrypts secrets with the service's key. */
  readonly encryption: Encryption;
  /**
   * Creates a live organisation with its catalogue and customers, on a new tenant of the demo
   * ledger.
   */
  organisation(name: string): Promise<CreatedOrganisation>;
  /** Starts a schedule's run now, for which a measurement would wait up to a minute. */
  runSchedule(scheduleId: string): Promise<void>;
  stop(): Promise<void>;
}

/** The service's default of DATABASE_POOL_SIZE, so that a floor has the same connections. */
const poolSize = 10;

/**
 * Only what a process needs to run: a setting of the caller's shell must not change a measurement.
 */
export function bareEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, BENCH_NODE_OPTIONS } = process.env;
  // For profiles: BENCH_NODE_OPTIONS="--cpu-prof --cpu-prof-dir=FOLDER".
  return { PATH, HOME, TMPDIR, NODE_OPTIONS: BENCH_NODE_OPTIONS };
}

/**
 * Starts the service. If a part fails, it stops what was started and throws the error. `settings`
 * are those of the demo ledger, which stands for an external system.
 */
export async function startMeasuredSystem(
  settings: Readonly<Partial<Record<"DEMO_LEDGER_LIMITS" | "DEMO_LEDGER_FAULTS", string>>> = {},
): Promise<MeasuredSystem> {
  const folder = await mkdtemp(join(tmpdir(), "billing-bench-"));
  const parts = collectParts(() => undefined);
  const end = async () => {
    await parts.stopAll();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const ports = await environment(folder);
    const stack = await startStack({
      env: { ...ports, ...settings },
      log: () => undefined,
      parts,
    });
    const { databaseUrl } = stack;
    const pool = createPool({ databaseUrl, size: poolSize, name: "bench" }, () => undefined);
    const encryption = createEncryption(Buffer.from(stack.secretKey, "base64"));
    const settingUp = createSettingUp(pool, encryption);
    const zone = { livemode: true, timezone: "Pacific/Auckland", currency: "NZD" };
    const demoLedgerUrl = stack.demoLedgerUrl ?? "";
    return {
      baseUrl: stack.baseUrl,
      databaseUrl,
      demoLedgerUrl,
      pool,
      encryption,
      organisation: (name) => createDemoOrganisation(settingUp, demoLedgerUrl, { ...zone, name }),
      runSchedule: (scheduleId) => runSchedule(`127.0.0.1:${ports.TEMPORAL_PORT}`, scheduleId),
      stop: async () => {
        await pool.end();
        await end();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

async function runSchedule(address: string, scheduleId: string): Promise<void> {
  const connection = await Connection.connect({ address });
  try {
    await new Client({ connection }).schedule.getHandle(scheduleId).trigger();
  } finally {
    await connection.close();
  }
}

async function environment(folder: string): Promise<NodeJS.ProcessEnv> {
  const env: NodeJS.ProcessEnv = { ...bareEnvironment(), DATA_FOLDER: folder };
  for (const name of [
    "API_PORT",
    "ADMIN_PORT",
    "WORKER_PORT",
    "POSTGRES_PORT",
    "TEMPORAL_PORT",
    "TEMPORAL_UI_PORT",
    "DEMO_LEDGER_PORT",
  ]) {
    env[name] = String(await freePort());
  }
  return env;
}

/**
 * Adds so many API keys to an organisation, and returns their values. The rate limit holds for each
 * key (ACCESS-5).
 */
export async function addKeys(
  pool: pg.Pool,
  organisationId: string,
  count: number,
): Promise<readonly string[]> {
  const keys = Array.from({ length: count }, () => generateApiKey(true));
  await pool.query(
    `INSERT INTO api_keys (id, organisation_id, name, key_hash, hint, scopes)
      SELECT id, $1, 'measured', hash, hint, $5 FROM unnest($2::uuid[], $3::bytea[],
        $4::text[]) AS k (id, hash, hint)`,
    [
      organisationId,
      keys.map(() => newId()),
      keys.map(({ hash }) => hash),
      keys.map(({ hint }) => hint),
      allScopes,
    ],
  );
  return keys.map(({ value }) => value);
}
