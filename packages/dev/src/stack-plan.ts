/** What `npm start` is to start: its folders, its ports and the parts that no setting replaces. */
import { join } from "node:path";
import { dataFolderOf, postgresFolderOf } from "./postgres/database-url.ts";
import { apiHostOf } from "./processes/api-address.ts";
import { defaultPorts, localHost, readPort, type WantedPort } from "./processes/ports.ts";

/** The plan of a start. A port is undefined if a setting replaces its part. */
export interface StackPlan {
  readonly dataFolder: string;
  readonly postgresFolder: string;
  readonly temporalFile: string;
  readonly logFolder: string;
  readonly apiPort: number;
  readonly adminPort: number;
  readonly workerPort: number;
  readonly postgresPort: number | undefined;
  readonly temporalPort: number | undefined;
  readonly temporalUiPort: number | undefined;
  readonly demoLedgerPort: number | undefined;
  /** Set if the first data belong to a Tryton. */
  readonly trytonPort: number | undefined;
  readonly wanted: readonly WantedPort[];
}

/** Reads the plan. Throws an Error that names the first wrong port. */
export function planOf(env: NodeJS.ProcessEnv): StackPlan {
  const wanted: WantedPort[] = [];
  const want = (part: string, setting: string, fallback: number, host = localHost): number => {
    const port = readPort(env, setting, fallback);
    wanted.push({ part, port, setting, host });
    return port;
  };
  const apiPort = want("the API", "API_PORT", defaultPorts.api, apiHostOf(env));
  const adminPort = want(
    "the admin API",
    "ADMIN_PORT",
    defaultPorts.admin,
    env.ADMIN_HOST || localHost,
  );
  const workerPort = want("the worker", "WORKER_PORT", defaultPorts.worker);
  const ownDatabase = !env.DATABASE_URL;
  const ownTemporal = !env.TEMPORAL_ADDRESS;
  const dataFolder = dataFolderOf(env);
  return {
    dataFolder,
    postgresFolder: postgresFolderOf(env),
    temporalFile: join(dataFolder, "temporal", "temporal.db"),
    logFolder: join(dataFolder, "logs"),
    apiPort,
    adminPort,
    workerPort,
    postgresPort: ownDatabase
      ? want("PostgreSQL", "POSTGRES_PORT", defaultPorts.postgres)
      : undefined,
    temporalPort: ownTemporal
      ? want("Temporal", "TEMPORAL_PORT", defaultPorts.temporal)
      : undefined,
    temporalUiPort: ownTemporal
      ? want("the Temporal Web UI", "TEMPORAL_UI_PORT", defaultPorts.temporalUi)
      : undefined,
    demoLedgerPort:
      ownDatabase || ownTemporal
        ? want("the demo ledger", "DEMO_LEDGER_PORT", defaultPorts.demoLedger)
        : undefined,
    trytonPort:
      env.FIRST_LEDGER === "tryton"
        ? want("Tryton", "LOCAL_LEDGER_PORT", defaultPorts.tryton)
        : undefined,
    wanted,
  };
}
