/** The pages that a work changed, read from PostgreSQL's log. */
import { describe, expect, test } from "vitest";
import {
  addLogReading,
  logPosition,
  readLoggedPages,
} from "../../bench/support/probe/logged-pages.ts";
import { insertRows, partitionedTable } from "./partitioned-table.ts";

describe("changed pages", () => {
  test("are those of a work alone, partitions counted as their table or index", async () => {
    const { client, pool } = await partitionedTable();
    await addLogReading(pool);
    // The tests' server does not wait for its log, of which only the written part can be read.
    await client.query("SET synchronous_commit = on");
    const from = await logPosition(pool);
    await client.query(insertRows);
    const to = await logPosition(pool);
    await client.query("CREATE TABLE later (id INT)");
    const pages = await readLoggedPages(pool, from, to);
    const names = pages.map(({ name }) => name).filter((name) => !name.startsWith("pg_"));
    expect(names.toSorted()).toEqual(["grown", "grown_part", "grown_pkey"]);
    expect(pages.find(({ name }) => name === "grown")?.distinct).toBeGreaterThan(8);
  });
});
