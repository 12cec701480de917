/**
 * Credit notes as the ledger shows them after a post or an allocation. Remaining and allocated
 * credit always come to the note's total (INVARIANT-3).
 */
import { describe, expect } from "vitest";
import { recordOutcomes } from "../../../src/store/ledger-jobs/record-outcomes.ts";
import { databaseTest as test } from "../../support/fixtures.ts";
import { anId, issueCredit, ourCredit, ourDue } from "../../worker/activities/issue-credit.ts";
import {
  addInvoice,
  addNote,
  addParty,
  creditOn,
  entry,
  ledgerIdOf,
  observedCredit,
  planned,
  recordDone,
  recordRefused,
  take,
  takenNotes,
} from "./credit-party.ts";

describe.concurrent("an observed note", () => {
  test("is written with its allocations, and with those removed", async ({ pool }) => {
    const party = await addParty(pool);
    await addInvoice(party, "50");
    await addNote(party, "10");
    await addInvoice(party, "4");
    const first = await take(party);
    // A person put some of it on an older invoice of ours, and some on a foreign one.
    const byHand = creditOn(await ledgerIdOf(party, "INV-0001"), "3.0000");
    const elsewhere = creditOn(anId(), "2.0000");
    await recordDone(
      party,
      first,
      observedCredit("10", "approved", entry(first), byHand, elsewhere),
    );
    expect(await ourDue(pool, party)).toEqual([
      { number: "INV-0001", status: "AUTHORISED", due: "47.00" },
      { number: "INV-0002", status: "PAID", due: "0.00" },
    ]);
    expect((await ourCredit(pool, party))[0]).toMatchObject({ remaining: "1.00" });
    // Only the credit left in the ledger can be allocated.
    await addInvoice(party, "2");
    expect((await planned(party)).at(-1)).toBe("ready 1.00 CN-0001 INV-0003");
    await recordDone(party, await take(party), observedCredit("10", "approved", byHand));
    expect(await ourDue(pool, party)).toMatchObject([
      { due: "47.00" },
      { status: "AUTHORISED", due: "4.00" },
      { due: "2.00" },
    ]);
    expect((await ourCredit(pool, party))[0]).toMatchObject({
      remaining: "7.00",
      allocations: [{ amount: "3.00" }],
    });
  });

  test("used up on foreign invoices leaves nothing to plan", async ({ pool }) => {
    const party = await addParty(pool);
    await addNote(party, "10");
    await addInvoice(party, "4");
    const elsewhere = creditOn(anId(), "10.0000");
    await recordRefused(party, await take(party), observedCredit("10", "paid", elsewhere));
    expect(await ourCredit(pool, party)).toMatchObject([
      { status: "PAID", remaining: "0.00", allocations: [] },
    ]);
    expect(await addInvoice(party, "3")).toEqual([]);
    expect(await planned(party)).toEqual(["refused 4.00 CN-0001 INV-0001"]);
  });

  test("with more credit than its total is refused, and nothing is written", async ({ pool }) => {
    const party = await addParty(pool);
    await addNote(party, "10");
    await addInvoice(party, "4");
    const first = await take(party);
    const { note } = observedCredit("10", "approved", entry(first));
    if (note === null) throw new Error("the note was observed");
    await recordDone(party, first, { note: { ...note, remainingCredit: "6.0100" }, invoice: null });
    expect(await planned(party)).toEqual(["refused 4.00 CN-0001 INV-0001"]);
    expect((await ourCredit(pool, party))[0]).toMatchObject({
      remaining: "10.00",
      allocations: [],
    });
  });

  test("that does not fit the columns is refused, and nothing is written", async ({ pool }) => {
    const party = await addParty(pool);
    await addNote(party, "10");
    await addInvoice(party, "4");
    const first = await take(party);
    const absurd = { ...entry(first), amount: "5.0000" };
    await recordDone(party, first, observedCredit("10", "approved", absurd));
    expect(await planned(party)).toEqual(["refused 4.00 CN-0001 INV-0001"]);
    expect((await ourCredit(pool, party))[0]).toMatchObject({
      remaining: "10.00",
      allocations: [],
    });
    expect(await ourDue(pool, party)).toMatchObject([{ due: "4.00" }]);
  });
});

describe.concurrent("a posted document", () => {
  test("has the ledger's total with tax, and all of its credit left", async ({ pool }) => {
    const party = await addParty(pool);
    await issueCredit(pool, party.organisationId, party.subscriptionId, "10");
    await recordOutcomes(pool, party.organisationId, await takenNotes(party, "11.5"));
    expect(await ourCredit(pool, party)).toMatchObject([
      { status: "AUTHORISED", total: "11.50", remaining: "11.50" },
    ]);
  });

  test("with credit used meanwhile has only the rest planned", async ({ pool }) => {
    const party = await addParty(pool);
    await issueCredit(pool, party.organisationId, party.subscriptionId, "10");
    await addInvoice(party, "50");
    const used = [
      creditOn(await ledgerIdOf(party, "INV-0001"), "3.0000"),
      creditOn(anId(), "2.0000"),
    ];
    const outcomes = await takenNotes(party, "11.5", "approved", ...used);
    expect(await recordOutcomes(pool, party.organisationId, outcomes)).toEqual([
      party.subscriptionId,
    ]);
    expect(await ourCredit(pool, party)).toMatchObject([
      {
        status: "AUTHORISED",
        total: "11.50",
        remaining: "6.50",
        allocations: [{ invoice: "INV-0001", amount: "3.00" }],
      },
    ]);
    expect(await ourDue(pool, party)).toMatchObject([{ due: "47.00" }]);
    expect(await planned(party)).toEqual(["ready 6.50 CN-0001 INV-0001"]);
  });

  test("used up meanwhile is recorded, even if the invoice cannot be", async ({ pool }) => {
    const party = await addParty(pool);
    await addInvoice(party, "4");
    await issueCredit(pool, party.organisationId, party.subscriptionId, "10");
    // More than the total of the invoice here.
    const used = creditOn(await ledgerIdOf(party, "INV-0001"), "10.0000");
    const outcomes = await takenNotes(party, "10", "paid", used);
    expect(await recordOutcomes(pool, party.organisationId, outcomes)).toEqual([]);
    expect(await ourCredit(pool, party)).toMatchObject([
      { status: "PAID", remaining: "0.00", allocations: [] },
    ]);
    expect((await ourDue(pool, party))[0]).toMatchObject({ due: "4.00" });
  });

  test("has the ledger's ids on its lines", async ({ pool }) => {
    const party = await addParty(pool);
    await addInvoice(party, "4", { status: "draft" });
    const { rows } = await pool.query<{ is_named: boolean }>(
      `SELECT ledger_line_id = 'line of ' || id AS is_named FROM invoice_lines
        WHERE organisation_id = $1`,
      [party.organisationId],
    );
    expect(rows).toEqual([{ is_named: true }]);
  });
});
