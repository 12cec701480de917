/**
 * `npm run db:migrate`: migrates the database of DATABASE_URL, or the embedded one, to the newest
 * migration, and sums usage from before the sums were introduced.
 */
import { withDatabaseUrl } from "../packages/dev/src/postgres/database-url.ts";
import { sumEarlierUsage } from "../src/store/billing/usage-sums.ts";
import { migrate } from "../src/store/database/migrations/migrate.ts";

const log = (line: string): void => console.log(line);
const applied = await withDatabaseUrl(process.env, log, async (databaseUrl) => {
  const names = await migrate(databaseUrl, { log });
  await sumEarlierUsage(databaseUrl, log);
  return names;
});
if (applied.length === 0) log("the database is at the newest migration");
