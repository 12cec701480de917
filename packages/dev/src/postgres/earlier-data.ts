/**
 * What an earlier start left in the database, read without the libraries that create it: they cost
 * as much as the rest of a start, and only the first start needs them.
 */
import { withClient } from "../../../../src/store/database/migrations/migrate.ts";

/**
 * Whether a first start has nothing left to do: there is an organisation, and none whose clock
 * stands, as in a history that was not finished. False if the database cannot be read.
 */
export function isFirstStartDone(databaseUrl: string): Promise<boolean> {
  const text = `SELECT FROM organisations
    HAVING count(*) > 0 AND count(*) FILTER (WHERE test_clock <= now()) = 0`;
  return withClient(databaseUrl, async (client) => {
    const { rows } = await client.query(text);
    return rows.length > 0;
  }).catch(() => false);
}
