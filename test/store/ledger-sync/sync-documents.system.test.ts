/**
 * Documents that people changed in the ledger: what the sync writes here. Older state never
 * replaces newer state.
 */
import type pg from "pg";
import { describe, expect } from "vitest";
import { databaseTest as test } from "../../support/fixtures.ts";
import { tables } from "../../support/rows.ts";
import { anId, ourCredit } from "../../worker/activities/issue-credit.ts";
import {
  addInvoice,
  addNote,
  entry,
  ledgerIdOf,
  observedCredit,
  type Party,
  plan,
  planned,
  recordDone,
  take,
} from "../ledger-jobs/credit-party.ts";
import {
  addConnectedParty,
  clockOf,
  describeDocument,
  ledgerTime,
  noteIdOf,
  notificationsOf,
  observedInvoice,
  observedNote,
  open,
} from "./sync-fixture.ts";

/** A connected organisation with an invoice of this status over 100, and its id in the ledger. */
async function withInvoice(
  pool: pg.Pool,
  status = "approved",
): Promise<{ readonly party: Party; readonly id: string }> {
  const party = await addConnectedParty(pool);
  await addInvoice(party, "100", { status });
  return { party, id: await ledgerIdOf(party, "INV-0001") };
}

describe.concurrent("an invoice", () => {
  test.for([
    ["paid", { status: "paid", amountDue: "0" }, "paid 0.00 of 100.00"],
    ["paid in part and sent", { amountDue: "40", sent: true }, "approved 40.00 of 100.00"],
    ["voided", { status: "voided", amountDue: "0" }, "voided 0.00 of 100.00"],
    ["changed in its lines", { total: "115", amountDue: "115" }, "approved 115.00 of 115.00"],
  ] as const)("that a person %s in the ledger changes here", async ([_, changes, after], {
    pool,
  }) => {
    const { party, id } = await withInvoice(pool);
    const synced = await open(pool, party).syncInvoices(
      [observedInvoice(id, changes), observedInvoice(anId(), changes)],
      await clockOf(party),
    );
    expect(synced).toMatchObject({ changed: 1, credited: [], again: [] });
    expect(await describeDocument(party, "INV-0001")).toBe(after);
    // The same observation again changes nothing.
    const again = await open(pool, party).syncInvoices(
      [observedInvoice(id, changes)],
      await clockOf(party),
    );
    expect(again.changed).toBe(0);
  });

  test("keeps the ledger's own number once it is observed", async ({ pool }) => {
    const { party, id } = await withInvoice(pool, "draft");
    const sync = async (changes: Parameters<typeof observedInvoice>[1]) => {
      await open(pool, party).syncInvoices([observedInvoice(id, changes)], await clockOf(party));
      const where = { organisationId: party.organisationId };
      return (await tables(pool).invoice.findFirstOrThrow({ where })).ledgerNumber;
    };
    expect(await sync({ ledgerNumber: null })).toBeNull();
    expect(await sync({ ledgerNumber: "I2026-1" })).toBe("I2026-1");
    expect(await sync({ amountDue: "60", updatedAt: ledgerTime(1) })).toBe("I2026-1");
  });

  test("that a person approved gets held credit planned", async ({ pool }) => {
    const party = await addConnectedParty(pool);
    await addNote(party, "30");
    await addInvoice(party, "100", { status: "draft" });
    const id = await ledgerIdOf(party, "INV-0001");
    const { credited } = await open(pool, party).syncInvoices(
      [observedInvoice(id)],
      await clockOf(party),
    );
    expect(credited).toEqual([party.subscriptionId]);
    expect(await planned(party)).toEqual(["ready 30.00 CN-0001 INV-0001"]);
  });

  test("is not replaced by an older answer, or by a read older than its last write", async ({
    pool,
  }) => {
    const { party, id } = await withInvoice(pool);
    const sync = open(pool, party);
    const early = await clockOf(party);
    await sync.syncInvoices(
      [observedInvoice(id, { amountDue: "60", updatedAt: ledgerTime(5) })],
      await clockOf(party),
    );
    const older = observedInvoice(id, { amountDue: "80", updatedAt: ledgerTime(4) });
    expect(await sync.syncInvoices([older], await clockOf(party))).toMatchObject({
      changed: 0,
      credited: [],
      again: [],
    });
    const overtaken = observedInvoice(id, { amountDue: "50", updatedAt: ledgerTime(6) });
    expect(await sync.syncInvoices([overtaken], early)).toMatchObject({
      changed: 0,
      credited: [],
      again: [id],
    });
    expect(await describeDocument(party, "INV-0001")).toBe("approved 60.00 of 100.00");
    expect(await sync.syncInvoices([overtaken], await clockOf(party))).toMatchObject({
      changed: 1,
      again: [],
    });
  });

  test("and a note are not written while one of our jobs sends them", async ({ pool }) => {
    const party = await addConnectedParty(pool);
    await addNote(party, "30");
    await addInvoice(party, "100");
    const [id, noteId] = [await ledgerIdOf(party, "INV-0001"), await noteIdOf(party, "CN-0001")];
    const taken = await take(party);
    const sync = open(pool, party);
    const observed = observedInvoice(id, { amountDue: "70" });
    expect(await sync.syncInvoices([observed], await clockOf(party))).toMatchObject({
      changed: 0,
      again: [id],
    });
    const note = observedNote(noteId, {
      total: "30",
      remainingCredit: "0",
      allocations: [entry(taken)],
    });
    expect(await sync.syncCreditNotes([note], await clockOf(party))).toMatchObject({
      changed: 0,
      again: [noteId],
    });
    const left = { changed: 0, credited: [], again: [id] };
    expect(await sync.loseDocuments("invoices", [id, anId()], await clockOf(party))).toMatchObject(
      left,
    );
    await recordDone(party, taken, observedCredit("30", "paid", ...note.allocations));
    // Only our own job changed them, so nothing is read again.
    expect(await notificationsOf(party)).toEqual([]);
    expect(await sync.syncInvoices([observed], await clockOf(party))).toMatchObject({
      changed: 0,
      again: [],
    });
    expect(await describeDocument(party, "INV-0001")).toBe("approved 70.00 of 100.00");
  });

  test("that the ledger lost becomes not_in_external until it is observed again", async ({
    pool,
  }) => {
    const { party, id } = await withInvoice(pool);
    const sync = open(pool, party);
    const early = await clockOf(party);
    await sync.syncInvoices([observedInvoice(id, { sent: true })], await clockOf(party));
    expect(await sync.loseDocuments("invoices", [id], early)).toMatchObject({
      changed: 0,
      again: [id],
    });
    expect(await sync.findNumbers("invoices", [id, anId()])).toEqual(new Map([[id, "INV-0001"]]));
    expect(await sync.loseDocuments("invoices", [id], await clockOf(party))).toMatchObject({
      changed: 1,
      again: [],
    });
    expect(await describeDocument(party, "INV-0001")).toBe(
      "not_in_external 100.00 of 100.00 The ledger does not have it any more.",
    );
    await sync.syncInvoices([observedInvoice(id)], await clockOf(party));
    expect(await describeDocument(party, "INV-0001")).toBe("approved 100.00 of 100.00");
  });

  test.for([
    "voided",
    "deleted",
  ])("that was %s stays so if the ledger no longer shows it", async (status, { pool }) => {
    const { party, id } = await withInvoice(pool, status);
    expect(
      await open(pool, party).loseDocuments("invoices", [id], await clockOf(party)),
    ).toMatchObject({ changed: 0, again: [], unfit: [] });
    expect(await describeDocument(party, "INV-0001")).toBe(`${status} 100.00 of 100.00`);
  });

  test("that the database refuses to lose is unfit and blocks no other", async ({ pool }) => {
    const { party, id } = await withInvoice(pool);
    await addInvoice(party, "50");
    const other = await ledgerIdOf(party, "INV-0002");
    await pool.query(
      `ALTER TABLE invoices ADD CONSTRAINT never_lost
        CHECK (ledger_invoice_id <> '${id}' OR status <> 'not_in_external') NOT VALID`,
    );
    expect(
      await open(pool, party).loseDocuments("invoices", [id, other], await clockOf(party)),
    ).toMatchObject({ changed: 1, unfit: [id] });
    expect(await describeDocument(party, "INV-0001")).toBe("approved 100.00 of 100.00");
    expect(await describeDocument(party, "INV-0002")).toMatch(/^not_in_external /);
  });

  test("whose amounts do not fit keeps its state, has the error and blocks no other", async ({
    pool,
  }) => {
    const { party, id } = await withInvoice(pool);
    const early = await clockOf(party);
    await addInvoice(party, "50");
    const other = await ledgerIdOf(party, "INV-0002");
    const observed = [
      observedInvoice(id, { total: "-5", amountDue: "-5" }),
      observedInvoice(other, { status: "paid", total: "50", amountDue: "0" }),
    ];
    expect(await open(pool, party).syncInvoices(observed, await clockOf(party))).toMatchObject({
      changed: 1,
    });
    expect(await describeDocument(party, "INV-0001")).toBe(
      "approved 100.00 of 100.00 The ledger's values fit no record here.",
    );
    expect(await describeDocument(party, "INV-0002")).toBe("paid 0.00 of 50.00");
    const sync = open(pool, party);
    await sync.syncInvoices([observedInvoice(id)], await clockOf(party));
    expect(await describeDocument(party, "INV-0001")).toBe("approved 100.00 of 100.00");
    // An earlier answer is ignored, even if it does not fit.
    await sync.syncInvoices(
      [observedInvoice(id, { updatedAt: ledgerTime(5) })],
      await clockOf(party),
    );
    const unfit = observedInvoice(id, { total: "-5", amountDue: "-5", updatedAt: ledgerTime(6) });
    expect(await sync.syncInvoices([unfit], early)).toMatchObject({
      changed: 0,
      credited: [],
      again: [id],
    });
    // The error does not replace the ledger's refusal.
    const setError = (syncError: string | null) =>
      tables(pool).invoice.updateMany({ where: { ledgerInvoiceId: id }, data: { syncError } });
    await setError("refused");
    await sync.syncInvoices([unfit], await clockOf(party));
    expect(await describeDocument(party, "INV-0001")).toBe("approved 100.00 of 100.00 refused");
    await setError(null);
    const older = { ...unfit, updatedAt: ledgerTime(4) };
    expect(await sync.syncInvoices([older], await clockOf(party))).toMatchObject({ again: [] });
    expect(await describeDocument(party, "INV-0001")).toBe("approved 100.00 of 100.00");
  });
});

describe.concurrent("a credit note", () => {
  /** A note over 100 with two earlier invoices. */
  async function withNote(pool: pg.Pool) {
    const party = await addConnectedParty(pool);
    await addInvoice(party, "100");
    await addInvoice(party, "100");
    await addNote(party, "100");
    const ids = await Promise.all(
      ["INV-0001", "INV-0002"].map((number) => ledgerIdOf(party, number)),
    );
    const noteId = await noteIdOf(party, "CN-0001");
    return { party, noteId, first: ids[0] ?? "", second: ids[1] ?? "" };
  }

  test("shows credit that a person moved, and its invoices are read again", async ({ pool }) => {
    const { party, noteId, first, second } = await withNote(pool);
    const sync = open(pool, party);
    const byHand = { id: anId(), invoiceId: first, amount: "30", date: "2026-04-12" };
    const used = observedNote(noteId, {
      remainingCredit: "70",
      allocations: [byHand],
      updatedAt: ledgerTime(1),
    });
    expect(
      await sync.syncCreditNotes([used, observedNote(anId())], await clockOf(party)),
    ).toMatchObject({ changed: 1 });
    expect(await describeDocument(party, "CN-0001")).toBe("approved 70.00 of 100.00");
    expect(await ourCredit(pool, party)).toMatchObject([
      { allocations: [{ invoice: "INV-0001", amount: "30.00" }] },
    ]);
    expect(await notificationsOf(party)).toEqual([`invoices ${first}`]);
    // The invoice's amount due comes from the invoice, or it would be counted twice.
    expect(await describeDocument(party, "INV-0001")).toBe("approved 100.00 of 100.00");

    const moved = { ...byHand, id: anId(), invoiceId: second };
    const later = observedNote(noteId, {
      remainingCredit: "70",
      allocations: [moved],
      updatedAt: ledgerTime(2),
    });
    expect(await sync.syncCreditNotes([later], await clockOf(party))).toMatchObject({
      changed: 1,
    });
    expect(await notificationsOf(party)).toEqual(
      [`invoices ${first}`, `invoices ${second}`].sort(),
    );
    const { rows } = await pool.query(
      `SELECT status, count(*)::int AS of FROM allocations WHERE organisation_id = $1
        GROUP BY status ORDER BY status`,
      [party.organisationId],
    );
    expect(rows).toEqual([
      { status: "active", of: 1 },
      { status: "removed", of: 1 },
    ]);
  });

  test("whose credit a person removed goes to later invoices, and back on a retry", async ({
    pool,
  }) => {
    const party = await addConnectedParty(pool);
    await addNote(party, "30");
    await addInvoice(party, "20");
    const [noteId, id] = [await noteIdOf(party, "CN-0001"), await ledgerIdOf(party, "INV-0001")];
    const first = await take(party);
    await recordDone(party, first, observedCredit("30", "approved", entry(first)));
    const sync = open(pool, party);
    const due = observedInvoice(id, { total: "20", amountDue: "20", updatedAt: ledgerTime(1) });
    expect(await sync.syncInvoices([due], await clockOf(party))).toMatchObject({
      changed: 1,
      credited: [],
    });
    const back = observedNote(noteId, {
      total: "30",
      remainingCredit: "30",
      updatedAt: ledgerTime(1),
    });
    expect(await sync.syncCreditNotes([back], await clockOf(party))).toMatchObject({
      changed: 1,
      credited: [],
    });
    expect(await addInvoice(party, "5")).toEqual([party.subscriptionId]);
    const next = await take(party);
    await recordDone(party, next, observedCredit("30", "approved", entry(next)));
    expect(await plan(party)).toEqual([]);
    const done = ["done 20.00 CN-0001 INV-0001", "done 5.00 CN-0001 INV-0002"];
    expect(await planned(party)).toEqual(done);
    const { rows } = await pool.query<{ creditNoteId: string; invoiceId: string }>(
      `SELECT n.id AS "creditNoteId", i.id AS "invoiceId" FROM credit_notes n, invoices i
        WHERE n.organisation_id = $1 AND i.organisation_id = $1 ORDER BY i.number DESC`,
      [party.organisationId],
    );
    // A retry of another invoice is no retry of this one.
    expect(await plan(party, rows[0])).toEqual([]);
    expect(await plan(party, rows[1])).toEqual([party.subscriptionId]);
    expect(await planned(party)).toEqual([...done, "ready 20.00 CN-0001 INV-0001"]);
  });

  test("that a person voided has no credit left, and an older read changes nothing", async ({
    pool,
  }) => {
    const { party, noteId } = await withNote(pool);
    const sync = open(pool, party);
    const gone = observedNote(noteId, {
      status: "voided",
      remainingCredit: "0",
      updatedAt: ledgerTime(9),
    });
    await sync.syncCreditNotes([gone], await clockOf(party));
    expect(await describeDocument(party, "CN-0001")).toBe("voided 0.00 of 100.00");
    const older = observedNote(noteId, { updatedAt: ledgerTime(8) });
    expect(await sync.syncCreditNotes([older], await clockOf(party))).toMatchObject({
      changed: 0,
      credited: [],
      again: [],
    });
    // A later read without a difference is no change.
    const same = { ...gone, updatedAt: ledgerTime(10) };
    expect(await sync.syncCreditNotes([same], await clockOf(party))).toMatchObject({ changed: 0 });
    const unfit = { ...gone, total: "-5", updatedAt: ledgerTime(11) };
    expect(await sync.syncCreditNotes([unfit], await clockOf(party))).toMatchObject({
      changed: 0,
      again: [],
      unfit: [noteId],
    });
    // What was removed stays so if the ledger no longer shows it.
    expect(await sync.loseDocuments("credit_notes", [noteId], await clockOf(party))).toMatchObject({
      changed: 0,
    });
    expect(await describeDocument(party, "CN-0001")).toBe("voided 0.00 of 100.00");
  });

  test("that the ledger lost becomes not_in_external", async ({ pool }) => {
    const { party, noteId } = await withNote(pool);
    expect(
      await open(pool, party).loseDocuments("credit_notes", [noteId], await clockOf(party)),
    ).toMatchObject({ changed: 1 });
    expect(await describeDocument(party, "CN-0001")).toMatch(/^not_in_external/);
  });
});
