/** The databases of the other tests. */
import pg from "pg";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../test/support/database.ts";

test("concurrent fresh databases are separate and dropped under open connections", async () => {
  const databases = await Promise.all(Array.from({ length: 8 }, () => freshDatabase()));
  expect(new Set(databases.map(({ url }) => url)).size).toBe(8);
  const [first] = databases;
  const client = new pg.Client({ connectionString: first?.url });
  client.on("error", () => undefined);
  await client.connect();
  const { rows } = await client.query<{ one: number }>("SELECT 1 AS one");
  expect(rows).toEqual([{ one: 1 }]);
  await Promise.all(databases.map((database) => database.drop()));
  await expect(new pg.Client({ connectionString: first?.url }).connect()).rejects.toMatchObject({
    code: "3D000",
  });
  await client.end().catch(() => undefined);
});
