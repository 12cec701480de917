/** The credit of a reversal is allocated first to the invoice that it reverses. */
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FreshDatabase, freshDatabase } from "../../support/database.ts";
import { testPool } from "../../support/pool.ts";
import {
  addInvoice,
  addNote,
  addParty,
  entry,
  observedCredit,
  plan,
  planned,
  recordDone,
  take,
} from "../ledger-jobs/credit-party.ts";

let database: FreshDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await freshDatabase();
  pool = testPool(database.url, 4);
});

afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

test("a reversal's credit goes to the reversed invoice, then to later ones", async () => {
  const party = await addParty(pool);
  await addInvoice(party, "99");
  await addInvoice(party, "4", { status: "draft" });
  await addNote(party, "10");
  const of = "organisation_id = $1 AND number = 'INV-0002'";
  await pool.query(
    `UPDATE credit_note_lines
      SET reversed_invoice_id = (SELECT id FROM invoices WHERE ${of}) WHERE organisation_id = $1`,
    [party.organisationId],
  );
  expect(await plan(party)).toEqual([]);
  await pool.query(`UPDATE invoices SET status = 'approved' WHERE ${of}`, [party.organisationId]);
  await addInvoice(party, "3");
  const first = await take(party);
  await recordDone(party, first, observedCredit("10", "approved", entry(first)));
  expect(await planned(party)).toEqual([
    "done 4.00 CN-0001 INV-0002",
    "ready 3.00 CN-0001 INV-0003",
  ]);
});
