/** Rows that a measurement inserts before their indexes. */
import type pg from "pg";
import { describe, expect, test } from "vitest";
import { withoutIndexes } from "../../bench/support/load/without-indexes.ts";
import { insertRows, partitionedTable } from "./partitioned-table.ts";

/** Rows found by the index of their column alone. */
async function foundByIndex(client: pg.Client): Promise<unknown> {
  await client.query("SET enable_seqscan = off");
  const { rows } = await client.query("SELECT count(*)::int AS found FROM grown WHERE part > 0");
  return rows[0]?.found;
}

describe("rows inserted without indexes", () => {
  test("are in every index of every partition afterwards", async () => {
    const { client } = await partitionedTable();
    let during: unknown;
    await withoutIndexes(client, ["grown"], async () => {
      await client.query(insertRows);
      during = await foundByIndex(client);
    });
    expect([during, await foundByIndex(client)]).toEqual([0, 2_000]);
  });

  test("are in every index also if the work fails after them", async () => {
    const { client } = await partitionedTable();
    const work = withoutIndexes(client, ["grown"], async () => {
      await client.query(insertRows);
      throw new Error("failed after its rows");
    });
    await expect(work).rejects.toThrow("failed after its rows");
    expect(await foundByIndex(client)).toBe(2_000);
  });
});
