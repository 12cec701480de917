/**
 * The whole service for a measurement: what `npm start` starts, as processes of its own over new data in a temporary folder,
 * on free ports and with no setting, so that every limit is the one of a real installation.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { allScopes, type MadeOrganisation, createDemoOrganisation } from "../../src/dev/local-stack/first-data.ts";
import { startStack } from "../../src/dev/local-stack/stack.ts";
import { collectParts } from "../../src/dev/local-stack/stack-settings.ts";
import { createSettingUp } from "../../src/store/admin/provision.ts";
import { createEncryption, type Encryption } from "../../src/store/database/encryption.ts";
import { newId } from "../../src/store/database/ids.ts";
import { createPool } from "../../src/store/database/pool.ts";
import { generateApiKey } from "../../src/transport/rpc/api-key.ts";
import { freePort } from "../../test/support/ports.ts";

/** The running service. */
export interface MeasuredSystem {
  readonly baseUrl: string;
  readonly databaseUrl: string;
  readonly demoLedgerUrl: string;
  /** For first data, floors and looking at the end; as large as the service's own pools. */
  readonly pool: pg.Pool;
  /** Seals what the service opens. */
  readonly sealing: Encryption;
  /** Makes a live organisation with its catalogue and customers on a tenant of its own in the demo ledger. */
  organisation(name: string): Promise<MadeOrganisation>;
  /** Gives an organisation so many further keys: the rate limit is of a key. */
  addKeys(organisationId: string, count: number): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** The service's default of DATABASE_POOL_SIZE, so that a floor has the same connections. */
const poolSize = 10;

/** Only what a process needs to run: a setting of the caller's shell must not change a measurement. */
function bareEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, BENCH_NODE_OPTIONS } = process.env;
  // For profiles: BENCH_NODE_OPTIONS="--cpu-prof --cpu-prof-dir=FOLDER".
  return { PATH, HOME, TMPDIR, NODE_OPTIONS: BENCH_NODE_OPTIONS };
}

/**
 * Starts all of it; where a part does not come up, what was started is stopped and its Error thrown. `settings` are those of the demo
 * ledger, which stands for something outside.
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
    const stack = await startStack({
      env: { ...(await environment(folder)), ...settings },
      log: () => undefined,
      parts,
    });
    const pool = createPool({ databaseUrl: stack.databaseUrl, size: poolSize, name: "bench" }, () => undefined);
    const sealing = createEncryption(Buffer.from(stack.secretKey, "base64"));
    const settingUp = createSettingUp(pool, sealing);
    const zone = { livemode: true, timezone: "Pacific/Auckland", currency: "NZD" };
    const demoLedgerUrl = stack.demoLedgerUrl ?? "";
    return {
      baseUrl: stack.baseUrl,
      databaseUrl: stack.databaseUrl,
      demoLedgerUrl,
      pool,
      sealing,
      organisation: (name) => createDemoOrganisation(settingUp, demoLedgerUrl, { ...zone, name }),
      addKeys: (organisationId, count) => addKeys(pool, organisationId, count),
      stop: async () => {
        await settingUp.close();
        await pool.end();
        await end();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

async function environment(folder: string): Promise<NodeJS.ProcessEnv> {
  const env: NodeJS.ProcessEnv = { ...bareEnvironment(), DATA_FOLDER: folder };
  for (const name of ["API_PORT", "POSTGRES_PORT", "TEMPORAL_PORT", "TEMPORAL_UI_PORT", "DEMO_LEDGER_PORT"]) {
    env[name] = String(await freePort());
  }
  return env;
}

async function addKeys(pool: pg.Pool, organisationId: string, count: number): Promise<readonly string[]> {
  const keys = Array.from({ length: count }, () => generateApiKey(true));
  await pool.query(
    `INSERT INTO api_keys (id, organisation_id, name, key_hash, hint, scopes)
      SELECT id, $1, 'measured', hash, hint, $5 FROM unnest($2::uuid[], $3::bytea[], $4::text[]) AS k (id, hash, hint)`,
    [organisationId, keys.map(() => newId()), keys.map(({ hash }) => hash), keys.map(({ hint }) => hint), allScopes],
  );
  return keys.map(({ value }) => value);
}
