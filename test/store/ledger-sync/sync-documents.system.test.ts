/**
 * What people did in the ledger, written here: what follows from it, and that what is older never takes the place of what is newer, in
 * whatever order looks, settlements and answers come.
 */
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inTransaction } from "../../../src/store/database/pool.ts";
import { saveObservedInvoice } from "../../../src/store/documents/credit-note-state.ts";
import { type FreshDatabase, freshDatabase } from "../../support/database.ts";
import { testPool } from "../../support/pool.ts";
import { anId, ourCredit } from "../../worker/activities/issue-credit.ts";
import {
  addInvoice,
  addNote,
  entry,
  ledgerIdOf,
  observedNote,
  type Party,
  plan,
  planned,
  recordDone,
  take,
} from "../ledger-jobs/credit-party.ts";
import {
  addConnectedParty,
  clockOf,
  hintsOf,
  invoiceLooked,
  ledgerTime,
  mirroringOf,
  noteIdOf,
  noteLooked,
  told,
} from "./sync-fixture.ts";

let database: FreshDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  database = await freshDatabase();
  pool = testPool(database.url, 8);
});

afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const open = (party: Party) => mirroringOf(pool).open(party.organisationId);

/** A connected organisation with an invoice of this status over 100, and its id in the ledger. */
async function withInvoice(
  status = "approved",
): Promise<{ readonly party: Party; readonly id: string }> {
  const party = await addConnectedParty(pool);
  await addInvoice(party, "100", { status });
  return { party, id: await ledgerIdOf(party, "INV-0001") };
}

describe.concurrent("an invoice", () => {
  test.each([
    ["paid", { status: "paid", amountDue: "0" }, "paid 0.00 of 100.00"],
    ["paid in part and sent", { amountDue: "40", sent: true }, "approved 40.00 of 100.00"],
    ["voided", { status: "voided", amountDue: "0" }, "voided 0.00 of 100.00"],
    ["changed in its lines", { total: "115", amountDue: "115" }, "approved 115.00 of 115.00"],
  ])("that was %s by hand is so here", async (_, changes, after) => {
    const { party, id } = await withInvoice();
    const followed = await open(party).syncInvoices(
      [invoiceLooked(id, changes), invoiceLooked(anId(), changes)],
      await clockOf(party),
    );
    expect(followed).toMatchObject({ changed: 1, credited: [], again: [] });
    expect(await told(party, "INV-0001")).toBe(after);
    // The same look once more changes nothing.
    const again = await open(party).syncInvoices(
      [invoiceLooked(id, changes)],
      await clockOf(party),
    );
    expect(again.changed).toBe(0);
  });

  test("that was approved by hand takes held credit: planned with it", async () => {
    const party = await addConnectedParty(pool);
    await addNote(party, "30");
    await addInvoice(party, "100", { status: "draft" });
    const id = await ledgerIdOf(party, "INV-0001");
    const { credited } = await open(party).syncInvoices([invoiceLooked(id)], await clockOf(party));
    expect(credited).toEqual([party.subscriptionId]);
    expect(await planned(party)).toEqual(["ready 30.00 CN-0001 INV-0001"]);
  });

  test("stays as it is by an answer that is older by the ledger's time, or by a look that began before it was written", async () => {
    const { party, id } = await withInvoice();
    const scope = open(party);
    const early = await clockOf(party);
    await scope.syncInvoices(
      [invoiceLooked(id, { amountDue: "60", updatedAt: ledgerTime(5) })],
      await clockOf(party),
    );
    const older = invoiceLooked(id, { amountDue: "80", updatedAt: ledgerTime(4) });
    expect(await scope.syncInvoices([older], await clockOf(party))).toMatchObject({
      changed: 0,
      credited: [],
      again: [],
    });
    const overtaken = invoiceLooked(id, { amountDue: "50", updatedAt: ledgerTime(6) });
    expect(await scope.syncInvoices([overtaken], early)).toMatchObject({
      changed: 0,
      credited: [],
      again: [id],
    });
    expect(await told(party, "INV-0001")).toBe("approved 60.00 of 100.00");
    expect(await scope.syncInvoices([overtaken], await clockOf(party))).toMatchObject({
      changed: 1,
      again: [],
    });
  });

  test("and a note that one of our own operations is on its way with are left to that", async () => {
    const party = await addConnectedParty(pool);
    await addNote(party, "30");
    await addInvoice(party, "100");
    const [id, noteId] = [await ledgerIdOf(party, "INV-0001"), await noteIdOf(party, "CN-0001")];
    const taken = await take(party);
    const scope = open(party);
    const look = invoiceLooked(id, { amountDue: "70" });
    expect(await scope.syncInvoices([look], await clockOf(party))).toMatchObject({
      changed: 0,
      again: [id],
    });
    const note = noteLooked(noteId, {
      total: "30",
      remainingCredit: "0",
      allocations: [entry(taken)],
    });
    expect(await scope.syncCreditNotes([note], await clockOf(party))).toMatchObject({
      changed: 0,
      again: [noteId],
    });
    const left = { changed: 0, credited: [], again: [id] };
    expect(await scope.loseDocuments("invoices", [id, anId()], await clockOf(party))).toMatchObject(
      left,
    );
    await recordDone(party, taken, observedNote("30", "paid", ...note.allocations));
    // That nobody else did anything is known: nothing is to be looked at.
    expect(await hintsOf(party)).toEqual([]);
    expect(await scope.syncInvoices([look], await clockOf(party))).toMatchObject({
      changed: 0,
      again: [],
    });
    expect(await told(party, "INV-0001")).toBe("approved 70.00 of 100.00");
  });

  test("that the ledger has no more is not in it, and is again what it is when it comes back", async () => {
    const { party, id } = await withInvoice();
    const scope = open(party);
    const early = await clockOf(party);
    await scope.syncInvoices([invoiceLooked(id, { sent: true })], await clockOf(party));
    expect(await scope.loseDocuments("invoices", [id], early)).toMatchObject({
      changed: 0,
      again: [id],
    });
    expect(await scope.findNumbers("invoices", [id, anId()])).toEqual(new Map([[id, "INV-0001"]]));
    expect(await scope.loseDocuments("invoices", [id], await clockOf(party))).toMatchObject({
      changed: 1,
      again: [],
    });
    expect(await told(party, "INV-0001")).toBe(
      "not_in_external 100.00 of 100.00 The ledger does not have it any more.",
    );
    await scope.syncInvoices([invoiceLooked(id)], await clockOf(party));
    expect(await told(party, "INV-0001")).toBe("approved 100.00 of 100.00");
  });

  test("whose amounts fit no record here keeps what it was, says so until they do, and holds up no other", async () => {
    const { party, id } = await withInvoice();
    const early = await clockOf(party);
    await addInvoice(party, "50");
    const other = await ledgerIdOf(party, "INV-0002");
    const looked = [
      invoiceLooked(id, { total: "-5", amountDue: "-5" }),
      invoiceLooked(other, { status: "paid", total: "50", amountDue: "0" }),
    ];
    expect(await open(party).syncInvoices(looked, await clockOf(party))).toMatchObject({
      changed: 1,
    });
    expect(await told(party, "INV-0001")).toBe(
      "approved 100.00 of 100.00 The ledger's values fit no record here.",
    );
    expect(await told(party, "INV-0002")).toBe("paid 0.00 of 50.00");
    const scope = open(party);
    await scope.syncInvoices([invoiceLooked(id)], await clockOf(party));
    expect(await told(party, "INV-0001")).toBe("approved 100.00 of 100.00");
    // An answer of before is not believed, whether it fits or not.
    await scope.syncInvoices(
      [invoiceLooked(id, { updatedAt: ledgerTime(5) })],
      await clockOf(party),
    );
    const unfit = invoiceLooked(id, { total: "-5", amountDue: "-5", updatedAt: ledgerTime(6) });
    expect(await scope.syncInvoices([unfit], early)).toMatchObject({
      changed: 0,
      credited: [],
      again: [id],
    });
    // Neither is anything said in place of what the ledger refused.
    const says = (sync_error: string | null) =>
      pool.query("UPDATE invoices SET sync_error = $2 WHERE ledger_invoice_id = $1", [
        id,
        sync_error,
      ]);
    await says("refused");
    await scope.syncInvoices([unfit], await clockOf(party));
    expect(await told(party, "INV-0001")).toBe("approved 100.00 of 100.00 refused");
    await says(null);
    const older = { ...unfit, updatedAt: ledgerTime(4) };
    expect(await scope.syncInvoices([older], await clockOf(party))).toMatchObject({ again: [] });
    expect(await told(party, "INV-0001")).toBe("approved 100.00 of 100.00");
  });
});

describe.concurrent("a credit note", () => {
  /** A note over 100 and two invoices that it came after. */
  async function withNote() {
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

  test("whose credit was put on an invoice by hand, and taken away again, tells so; the invoices are looked at for what is due", async () => {
    const { party, noteId, first, second } = await withNote();
    const scope = open(party);
    const byHand = { id: anId(), invoiceId: first, amount: "30", date: "2026-04-12" };
    const used = noteLooked(noteId, {
      remainingCredit: "70",
      allocations: [byHand],
      updatedAt: ledgerTime(1),
    });
    expect(
      await scope.syncCreditNotes([used, noteLooked(anId())], await clockOf(party)),
    ).toMatchObject({ changed: 1 });
    expect(await told(party, "CN-0001")).toBe("approved 70.00 of 100.00");
    expect(await ourCredit(pool, party)).toMatchObject([
      { allocations: [{ invoice: "INV-0001", amount: "30.00" }] },
    ]);
    expect(await hintsOf(party)).toEqual([`invoices ${first}`]);
    // What the note says of the invoice is not counted here: whoever saw it first would count it twice.
    expect(await told(party, "INV-0001")).toBe("approved 100.00 of 100.00");

    const moved = { ...byHand, id: anId(), invoiceId: second };
    const later = noteLooked(noteId, {
      remainingCredit: "70",
      allocations: [moved],
      updatedAt: ledgerTime(2),
    });
    expect(await scope.syncCreditNotes([later], await clockOf(party))).toMatchObject({
      changed: 1,
    });
    expect(await hintsOf(party)).toEqual([`invoices ${first}`, `invoices ${second}`].sort());
    const { rows } = await pool.query(
      "SELECT status, count(*)::int AS of FROM allocations WHERE organisation_id = $1 GROUP BY status ORDER BY status",
      [party.organisationId],
    );
    expect(rows).toEqual([
      { status: "active", of: 1 },
      { status: "removed", of: 1 },
    ]);
  });

  test("whose credit was taken off an invoice by hand stays off it, whichever is seen first: it goes onto later ones, and back where an operator asks for it", async () => {
    const party = await addConnectedParty(pool);
    await addNote(party, "30");
    await addInvoice(party, "20");
    const [noteId, id] = [await noteIdOf(party, "CN-0001"), await ledgerIdOf(party, "INV-0001")];
    const first = await take(party);
    await recordDone(party, first, observedNote("30", "approved", entry(first)));
    const scope = open(party);
    const due = invoiceLooked(id, { total: "20", amountDue: "20", updatedAt: ledgerTime(1) });
    expect(await scope.syncInvoices([due], await clockOf(party))).toMatchObject({
      changed: 1,
      credited: [],
    });
    const back = noteLooked(noteId, {
      total: "30",
      remainingCredit: "30",
      updatedAt: ledgerTime(1),
    });
    expect(await scope.syncCreditNotes([back], await clockOf(party))).toMatchObject({
      changed: 1,
      credited: [],
    });
    expect(await addInvoice(party, "5")).toEqual([party.subscriptionId]);
    const next = await take(party);
    await recordDone(party, next, observedNote("30", "approved", entry(next)));
    expect(await plan(party)).toEqual([]);
    const done = ["done 20.00 CN-0001 INV-0001", "done 5.00 CN-0001 INV-0002"];
    expect(await planned(party)).toEqual(done);
    const { rows } = await pool.query<{ creditNoteId: string; invoiceId: string }>(
      `SELECT n.id AS "creditNoteId", i.id AS "invoiceId" FROM credit_notes n, invoices i
        WHERE n.organisation_id = $1 AND i.organisation_id = $1 ORDER BY i.number DESC`,
      [party.organisationId],
    );
    // An operator who asks for another invoice has not asked for this one.
    expect(await plan(party, rows[0])).toEqual([]);
    expect(await plan(party, rows[1])).toEqual([party.subscriptionId]);
    expect(await planned(party)).toEqual([...done, "ready 20.00 CN-0001 INV-0001"]);
  });

  test("that was voided by hand has nothing left, and an older look at it changes nothing", async () => {
    const { party, noteId } = await withNote();
    const scope = open(party);
    const gone = noteLooked(noteId, {
      status: "voided",
      remainingCredit: "0",
      updatedAt: ledgerTime(9),
    });
    await scope.syncCreditNotes([gone], await clockOf(party));
    expect(await told(party, "CN-0001")).toBe("voided 0.00 of 100.00");
    const older = noteLooked(noteId, { updatedAt: ledgerTime(8) });
    expect(await scope.syncCreditNotes([older], await clockOf(party))).toMatchObject({
      changed: 0,
      credited: [],
      again: [],
    });
    // Neither is one that was only looked at later counted as changed.
    const same = { ...gone, updatedAt: ledgerTime(10) };
    expect(await scope.syncCreditNotes([same], await clockOf(party))).toMatchObject({ changed: 0 });
    const unfit = { ...gone, total: "-5", updatedAt: ledgerTime(11) };
    expect(await scope.syncCreditNotes([unfit], await clockOf(party))).toMatchObject({
      changed: 0,
      again: [],
      unfit: [noteId],
    });
    expect(await told(party, "CN-0001")).toBe("voided 0.00 of 100.00");
    expect(await scope.loseDocuments("credit_notes", [noteId], await clockOf(party))).toMatchObject(
      { changed: 1 },
    );
    expect(await told(party, "CN-0001")).toMatch(/^not_in_external/);
  });
});

test("looks at once with a settlement never write what is older over what is newer", async () => {
  const { party, id } = await withInvoice();
  const { organisationId } = party;
  await pool.query(
    `CREATE TABLE written (at bigserial, due numeric);
     CREATE FUNCTION note_written() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN IF NEW.amount_due <> OLD.amount_due THEN INSERT INTO written (due) VALUES (NEW.amount_due); END IF; RETURN NULL; END $$;
     CREATE TRIGGER note_written AFTER UPDATE ON invoices FOR EACH ROW WHEN (NEW.number = 'INV-0001') EXECUTE FUNCTION note_written()`,
  );
  // The ledger: less is due each time that somebody pays. Two payments may be of the same instant by its clock.
  let due = 100;
  const pay = () => {
    due -= 1;
  };
  const now = () =>
    invoiceLooked(id, {
      amountDue: String(due),
      updatedAt: ledgerTime(Math.floor((100 - due) / 2)),
    });
  const invoiceId = (
    await pool.query<{ id: string }>("SELECT id FROM invoices WHERE ledger_invoice_id = $1", [id])
  ).rows[0]?.id;
  const looks = async () => {
    for (let round = 0; round < 25; round += 1) {
      const askedAt = await clockOf(party);
      const seen = now();
      pay();
      // The answer takes a while, in which others look and write.
      if (round % 3 === 0) await pool.query("SELECT pg_sleep(0.005)");
      await open(party).syncInvoices([seen], askedAt);
    }
  };
  // A settlement is of an operation that is on its way: looks leave the invoice to it until its answer is saved.
  const settles = async () => {
    for (let round = 0; round < 15; round += 1) {
      await pool.query(
        `INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id, attempts, first_sent_at, lease_until)
          VALUES (gen_random_uuid(), $1, 'amend_invoice', 'sending', $2, $3, 1, now(), now() + interval '1 minute')`,
        [organisationId, party.subscriptionId, invoiceId],
      );
      pay();
      const seen = now();
      await pool.query("SELECT pg_sleep(0.003)");
      await inTransaction(pool, async (client) => {
        await saveObservedInvoice(client, organisationId, invoiceId ?? "", seen);
        await client.query(
          "DELETE FROM ledger_jobs WHERE organisation_id = $1 AND state = 'sending'",
          [organisationId],
        );
      });
    }
  };
  await Promise.all([looks(), looks(), looks(), settles()]);
  await open(party).syncInvoices([now()], await clockOf(party));
  expect(await told(party, "INV-0001")).toBe(`approved ${due}.00 of 100.00`);
  const { rows } = await pool.query<{ due: string }>("SELECT due FROM written ORDER BY at");
  const written = rows.map((row) => Number(row.due));
  expect(written.length).toBeGreaterThan(5);
  expect(written).toEqual(written.toSorted((one, other) => other - one));
});
