/**
 * `npm run db:migrate`: migrates the database of DATABASE_URL, or the embedded one, to the newest
 * migration.
 */
import { withDatabaseUrl } from "../packages/dev/src/postgres/database-url.ts";
import { migrate } from "../src/store/database/migrations/migrate.ts";

const log = (line: string): void => console.log(line);
const applied = await withDatabaseUrl(process.env, log, (databaseUrl) =>
  migrate(databaseUrl, { log }),
);
if (applied.length === 0) log("the database is at the newest migration");
