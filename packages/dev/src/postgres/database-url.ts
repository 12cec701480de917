/**
 * The database of a command-line tool: DATABASE_URL, else the embedded one. That one may already
 * run, or is started only for the tool.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { withSecrets } from "../../../../src/main/settings/secret-files.ts";
import { defaultPorts, readPort } from "../processes/ports.ts";
import { findRunningPostgres, startPostgres } from "./postgres.ts";

/**
 * Returns the folder of embedded data: DATA_FOLDER, else `.data` of this project, which git
 * ignores.
 */
export function dataFolderOf(env: NodeJS.ProcessEnv): string {
  return env.DATA_FOLDER || fileURLToPath(new URL("../../../../.data", import.meta.url));
}

/** Returns the folder of the embedded PostgreSQL below the data folder. */
export function postgresFolderOf(env: NodeJS.ProcessEnv): string {
  return join(dataFolderOf(env), "postgres");
}

/**
 * Runs `work` with the URL. An embedded PostgreSQL that was started for it is stopped afterwards.
 * One that ran before stays.
 */
export async function withDatabaseUrl<T>(
  env: NodeJS.ProcessEnv,
  log: (line: string) => void,
  work: (databaseUrl: string) => Promise<T>,
): Promise<T> {
  const { DATABASE_URL: url } = withSecrets(env, ["DATABASE_URL"]);
  if (url) return work(url);
  const dataFolder = postgresFolderOf(env);
  const runningUrl = await findRunningPostgres(dataFolder);
  if (runningUrl !== undefined) return work(runningUrl);
  const port = readPort(env, "POSTGRES_PORT", defaultPorts.postgres);
  const postgres = await startPostgres({ dataFolder, port, log });
  try {
    return await work(postgres.url);
  } finally {
    await postgres.stop();
  }
}
