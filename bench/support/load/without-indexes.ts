/**
 * Inserts many rows while their indexes are suspended, and builds these afterwards. Each index of
 * random ids would otherwise read and write another page for each row.
 */
import type pg from "pg";

/** Enough to sort ten million entries of an index in few runs. */
const buildMemory = "1GB";

/** The tables with these names, and the partitions of those that are divided. */
const tablesText = `SELECT t.oid, t.oid::regclass::text AS name FROM pg_class t
  LEFT JOIN pg_inherits i ON i.inhrelid = t.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
  WHERE t.relkind = 'r' AND t.relnamespace = 'public'::regnamespace
    AND coalesce(p.relname, t.relname) = ANY ($1)`;

/**
 * Performs the work while inserts into these tables skip all their indexes, unique ones as well.
 * Then builds the indexes, also if the work failed. Nothing else may write to these tables.
 */
export async function withoutIndexes(
  client: pg.Client,
  tables: readonly string[],
  work: () => Promise<void>,
): Promise<void> {
  const { rows } = await client.query<{ oid: number; name: string }>(tablesText, [tables]);
  const suspend = "UPDATE pg_index SET indisready = false WHERE indrelid = ANY ($1)";
  await client.query(suspend, [rows.map(({ oid }) => oid)]);
  try {
    await work();
  } finally {
    await client.query(`SET maintenance_work_mem = '${buildMemory}'`);
    for (const { name } of rows) await client.query(`REINDEX TABLE ${name}`);
    await client.query("RESET maintenance_work_mem");
  }
}
