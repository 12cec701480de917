/** What a start reads of the database, in order to load only what it needs. */
import { expect } from "vitest";
import { databaseTest as test } from "../../../test/support/fixtures.ts";
import { isFirstStartDone } from "../src/postgres/earlier-data.ts";

test("a first start is done if there is an organisation and no clock stands in the past", async ({
  database,
  pool,
}) => {
  expect(await isFirstStartDone(database.url)).toBe(false);
  await pool.query(
    `INSERT INTO organisations (id, name, timezone, default_currency, livemode)
      VALUES (gen_random_uuid(), 'First', 'UTC', 'EUR', false)`,
  );
  expect(await isFirstStartDone(database.url)).toBe(true);
  await pool.query("UPDATE organisations SET test_clock = now() - interval '1 month'");
  expect(await isFirstStartDone(database.url)).toBe(false);
});
