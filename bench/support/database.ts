/**
 * A database alone for a measurement: PostgreSQL as `npm start` runs it, migrated, with new data in
 * a temporary folder.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { demoCatalogue } from "../../packages/dev/src/demo/demo-catalogue.ts";
import { createSettingUp } from "../../packages/dev/src/demo/provision.ts";
import { startPostgres } from "../../packages/dev/src/postgres/postgres.ts";
import { createEncryption } from "../../src/store/database/encryption.ts";
import { newId } from "../../src/store/database/ids.ts";
import { migrate, withDatabase } from "../../src/store/database/migrations/migrate.ts";
import { createPool } from "../../src/store/database/pool.ts";
import { freePort } from "../../test/support/ports.ts";

/** The running database. */
export interface MeasuredDatabase {
  readonly pool: pg.Pool;
  /**
   * Creates a live organisation in UTC with a plan of each type. Its ledger connection is never
   * used. Returns its id.
   */
  organisation(name: string): Promise<string>;
  stop(): Promise<void>;
}

/** The service's default of DATABASE_POOL_SIZE. */
const poolSize = 10;

/** Starts the database. If that fails, it stops what was started and throws the error. */
export async function startMeasuredDatabase(): Promise<MeasuredDatabase> {
  const folder = await mkdtemp(join(tmpdir(), "billing-bench-"));
  const removeFolder = () => rm(folder, { recursive: true, force: true });
  const postgres = await startPostgres({
    dataFolder: folder,
    port: await freePort(),
    database: "postgres",
    log: () => undefined,
  }).catch(async (error: unknown) => {
    await removeFolder();
    throw error;
  });
  const databaseUrl = withDatabase(postgres.url, "billing");
  const pool = createPool({ databaseUrl, size: poolSize, name: "bench" }, () => undefined);
  const settingUp = createSettingUp(pool, createEncryption(randomBytes(32)));
  const stop = async () => {
    await pool.end();
    await postgres.stop();
    await removeFolder();
  };
  try {
    await migrate(databaseUrl);
    return { pool, organisation: (name) => saveOrganisation(settingUp, name), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function saveOrganisation(
  settingUp: ReturnType<typeof createSettingUp>,
  name: string,
): Promise<string> {
  const id = newId();
  const now = new Date();
  const nowhere = "http://127.0.0.1:9";
  await settingUp.save({
    settings: {
      id,
      name,
      timezone: "UTC",
      defaultCurrency: "NZD",
      setupMode: false,
      canCreateLedgerContacts: false,
      livemode: true,
      usageAllowed: true,
      invoiceCreateDays: 0,
      firstInvoiceStatus: "draft",
      dueDays: 14,
      numberPrefix: "INV-",
      revenueAccount: "200",
      taxType: "OUTPUT2",
    },
    connection: {
      kind: "xero",
      grantKind: "custom",
      tenantId: id,
      baseUrl: nowhere,
      identityUrl: nowhere,
      clientId: id,
      clientSecret: id,
    },
    apiKeys: [],
    ...demoCatalogue("NZD", now),
    customers: [],
  });
  return id;
}
