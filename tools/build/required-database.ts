/**
 * Takes the place of `packages/dev/src/postgres/database-url.ts` in a build, which has no
 * embedded PostgreSQL: DATABASE_URL must be set.
 */
import { readConfig } from "../../src/config.ts";

/** Runs `work` with the database of the settings. A wrong setting ends the process. */
export function withDatabaseUrl<T>(
  env: NodeJS.ProcessEnv,
  _log: (line: string) => void,
  work: (databaseUrl: string) => Promise<T>,
): Promise<T> {
  return work(databaseUrlOf(env));
}

function databaseUrlOf(env: NodeJS.ProcessEnv): string {
  try {
    return readConfig(env).database.url;
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
