/** What a start reads of the database, in order to load only what it needs. */
import { expect } from "vitest";
import {
  isFirstStartDone,
  isMigrated,
} from "../../../src/dev/local-stack/postgres/earlier-data.ts";
import { withDatabase } from "../../../src/store/database/migrations/migrate.ts";
import { databaseTest as test } from "../../support/fixtures.ts";

test("a database is migrated if it has every migration and no failed one", async ({
  database,
  pool,
}) => {
  expect(await isMigrated(database.url)).toBe(true);
  expect(await isMigrated(withDatabase(database.url, "there_is_none"))).toBe(false);
  await pool.query(
    `INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('failed', '', 'failed')`,
  );
  expect(await isMigrated(database.url)).toBe(false);
  await pool.query("UPDATE _prisma_migrations SET rolled_back_at = now() WHERE id = 'failed'");
  expect(await isMigrated(database.url)).toBe(true);
  await pool.query(
    `DELETE FROM _prisma_migrations WHERE migration_name =
      (SELECT max(migration_name) FROM _prisma_migrations WHERE rolled_back_at IS NULL)`,
  );
  expect(await isMigrated(database.url)).toBe(false);
});

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
