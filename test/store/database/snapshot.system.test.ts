/** A snapshot cannot write, lock or take a number, and sees one state. PREVIEW-2. */
import { expect } from "vitest";
import { sqlState } from "../../../src/store/database/errors.ts";
import { inSnapshot } from "../../../src/store/database/pool.ts";
import { databaseTest as test } from "../../support/fixtures.ts";
import { addOrganisation } from "../../support/organisation-builder.ts";

/** SQLSTATE of a statement that a READ ONLY transaction refuses. */
const readOnly = "25006";

test.for([
  `INSERT INTO document_counters (organisation_id, kind, next)
    SELECT id, 'invoice', 1 FROM organisations`,
  "UPDATE organisations SET name = 'written'",
  "DELETE FROM organisations",
  "SELECT 1 FROM organisations FOR UPDATE",
  "SELECT 1 FROM organisations FOR SHARE",
  "SELECT nextval(pg_get_serial_sequence('terminations', 'seq'))",
])("a snapshot refuses %s", async (text, { pool }) => {
  await addOrganisation(pool);
  const written = await inSnapshot(pool, (client) => client.query(text)).catch(sqlState);
  expect(written).toBe(readOnly);
});

test("a snapshot reads every table as of its first statement", async ({ pool }) => {
  const id = await addOrganisation(pool);
  const names = await inSnapshot(pool, async (client) => {
    const read = async () => {
      const text = "SELECT name FROM organisations WHERE id = $1";
      return (await client.query<{ name: string }>(text, [id])).rows[0]?.name;
    };
    const before = await read();
    await pool.query("UPDATE organisations SET name = 'later' WHERE id = $1", [id]);
    return [before, await read()];
  });
  expect(names).toEqual(["Acme", "Acme"]);
});
