/** The credit of a reversal is allocated first to the invoice that it reverses. */
import { expect } from "vitest";
import { databaseTest as test } from "../../support/fixtures.ts";
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

test("a reversal's credit goes to the reversed invoice, then to later ones", async ({ pool }) => {
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
