/**
 * The observed form of a system's parts: a PostgreSQL that counts statements, with a role for the
 * bench's own, and the environment that loads the probe into the service's processes.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { startPostgres } from "../../../src/dev/local-stack/postgres/postgres.ts";
import type { Parts } from "../../../src/dev/local-stack/stack-settings.ts";
import { freePort } from "../../../test/support/ports.ts";
import type { Observer } from "./observer.ts";
import { type Probes, probedEnvironment, probesIn } from "./probes.ts";
import { benchRole, countingSettings } from "./statements.ts";

/** What the start of a system needs, and what the bench reads afterwards. */
export interface ObservedParts {
  readonly env: Readonly<Record<string, string>>;
  readonly probes: Probes;
  readonly postgresLog: string;
}

/** Starts PostgreSQL in `parts`, so that it ends after the service. */
export async function startObservedParts(
  folder: string,
  parts: Parts,
  { slowMs, settings }: Observer,
): Promise<ObservedParts> {
  const dataFolder = join(folder, "observed-postgres");
  const port = await freePort();
  const postgres = await parts.start(
    "PostgreSQL",
    () =>
      startPostgres({
        dataFolder,
        port,
        log: () => undefined,
        serverSettings: { ...countingSettings(slowMs), ...settings },
      }),
    () => "",
  );
  await createBenchRole(postgres.url);
  const sockets = join(folder, "probes");
  await mkdir(sockets);
  return {
    env: { DATABASE_URL: postgres.url, ...(await probedEnvironment(sockets)) },
    probes: probesIn(sockets),
    postgresLog: join(dataFolder, "server.log"),
  };
}

/** The database listens on this machine only and ends with the bench: no secret is needed. */
async function createBenchRole(url: string): Promise<void> {
  const server = new URL(url);
  server.pathname = "/postgres";
  const client = new pg.Client({ connectionString: server.href });
  await client.connect();
  try {
    await client.query(`CREATE ROLE ${benchRole} SUPERUSER LOGIN PASSWORD '${benchRole}'`);
  } finally {
    await client.end();
  }
}

/** The same database for the bench's own role. */
export function asBenchRole(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.username = benchRole;
  url.password = benchRole;
  return url.href;
}
