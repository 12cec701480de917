/** A database with a partitioned table, for tests of what measurements do to PostgreSQL. */
import pg from "pg";
import { onTestFinished } from "vitest";
import { freshDatabase } from "../support/database.ts";
import { testPool } from "../support/pool.ts";

/** Inserts rows into `grown`, whose index is `grown_part`. */
export const insertRows = "INSERT INTO grown SELECT n, n FROM generate_series(1, 2000) n";

/** Creates the table `grown` in a new database, which is dropped after the test. */
export async function partitionedTable(): Promise<{
  readonly client: pg.Client;
  readonly pool: pg.Pool;
}> {
  const database = await freshDatabase();
  const client = new pg.Client({ connectionString: database.url });
  const pool = testPool(database.url, 1);
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    await pool.end();
    await database.drop();
  });
  await client.query(`
    CREATE TABLE grown (id INT PRIMARY KEY, part INT) PARTITION BY HASH (id);
    CREATE INDEX grown_part ON grown (part);
    CREATE TABLE grown_0 PARTITION OF grown FOR VALUES WITH (MODULUS 2, REMAINDER 0);
    CREATE TABLE grown_1 PARTITION OF grown FOR VALUES WITH (MODULUS 2, REMAINDER 1)`);
  return { client, pool };
}
