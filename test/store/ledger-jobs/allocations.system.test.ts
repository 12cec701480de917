/**
 * Planning, taking and settling allocations on a real database: which pair is next, that nothing is planned twice or
 * missed, that only who holds an allocation settles it, and that a note's credit is never more or less than its total.
 * decisions §6.
 */
import type pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newId } from "../../../src/store/database/ids.ts";
import type {
  ObservedAllocation,
  ObservedInvoiceState,
} from "../../../src/store/documents/credit-note-state.ts";
import { recordAllocation } from "../../../src/store/ledger-jobs/allocation-outcomes.ts";
import {
  readAllocationWait,
  takeAllocation,
} from "../../../src/store/ledger-jobs/claim-allocations.ts";
import { rescheduleLeased } from "../../../src/store/ledger-jobs/job-lease.ts";
import { recordOutcomes } from "../../../src/store/ledger-jobs/record-outcomes.ts";
import { type FreshDatabase, freshDatabase } from "../../support/database.ts";
import { testPool } from "../../support/pool.ts";
import {
  addSubscription,
  anId,
  ourCredit,
  ourDue,
  raiseCredit,
  raiseInvoice,
} from "../../worker/activities/issue-credit.ts";
import {
  addInvoice,
  addNote,
  addParty,
  entry,
  ledgerIdOf,
  observedCredit,
  type Party,
  plan,
  planned,
  recordDone,
  recordRefused,
  take,
  takenInvoices,
  takenNotes,
} from "./credit-party.ts";

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

const newParty = (): Promise<Party> => addParty(pool);

/** So much credit on the invoice that the ledger has under this id. */
function onInvoice(invoiceId: string, amount: string): ObservedAllocation {
  return { id: anId(), invoiceId, amount, date: "2026-04-11" };
}

/** Refuses what is planned, over an invoice of which so much is due by now. */
async function refuseOver(party: Party, amountDue: string): Promise<void> {
  const invoice: ObservedInvoiceState = {
    status: "approved",
    total: "100",
    amountDue,
    sent: false,
  };
  await recordRefused(party, await take(party), { note: null, invoice });
}

describe.concurrent("what is planned", () => {
  test("is the oldest note with its oldest later invoice, over the least of both", async () => {
    const party = await newParty();
    await addInvoice(party, "99");
    expect(await addNote(party, "10")).toEqual([]);
    await addNote(party, "20");
    expect(await addInvoice(party, "7")).toEqual([party.subscriptionId]);
    await addInvoice(party, "30");
    expect(await planned(party)).toEqual(["ready 7.00 CN-0001 INV-0002"]);
  });

  test.each([
    ["a draft", { status: "draft" }],
    ["one that waits for approval", { status: "awaiting_approval" }],
    ["a paid one", { status: "paid", due: "0" }],
    ["one of which nothing is due", { status: "approved", due: "0" }],
    ["a voided one", { status: "voided" }],
  ])("is never for %s", async (_, outcome) => {
    const party = await newParty();
    await addNote(party, "10");
    expect(await addInvoice(party, "7", outcome)).toEqual([]);
    expect(await plan(party)).toEqual([]);
  });

  test("is no more than is due where something has been paid", async () => {
    const party = await newParty();
    await addNote(party, "10");
    await addInvoice(party, "9", { status: "approved", due: "2.5" });
    expect(await planned(party)).toEqual(["ready 2.50 CN-0001 INV-0001"]);
  });

  test("is one step at a time, and the next one with its settlement", async () => {
    const party = await newParty();
    await addNote(party, "10");
    await addInvoice(party, "4");
    await addInvoice(party, "4");
    expect(await plan(party)).toEqual([]);
    const first = await take(party);
    await recordDone(party, first, observedCredit("10", "approved", entry(first)));
    expect(await planned(party)).toEqual([
      "done 4.00 CN-0001 INV-0001",
      "ready 4.00 CN-0001 INV-0002",
    ]);
  });

  test("is nothing for other subscriptions, of this organisation or another", async () => {
    const [party, other] = await Promise.all([newParty(), newParty()]);
    await addNote(party, "10");
    await addInvoice(other, "4");
    const beside = { ...party, subscriptionId: await addSubscription(pool, party.organisationId) };
    await addInvoice(beside, "4");
    const mixed = { ...party, subscriptionId: other.subscriptionId };
    for (const one of [party, other, beside, mixed]) expect(await plan(one)).toEqual([]);
  });

  test("leaves an invoice alone while it is amended", async () => {
    const party = await newParty();
    await addNote(party, "10");
    const { organisationId, subscriptionId } = party;
    const { id } = await raiseInvoice(pool, organisationId, subscriptionId, "4");
    await pool.query(
      `INSERT INTO ledger_jobs (id, organisation_id, kind, state, subscription_id, invoice_id)
        VALUES ($1, $2, 'amend_invoice', 'ready', $3, $4)`,
      [newId(), organisationId, subscriptionId, id],
    );
    expect(
      await recordOutcomes(
        pool,
        organisationId,
        await takenInvoices(party, "4", { status: "approved" }),
      ),
    ).toEqual([]);
    await addInvoice(party, "5");
    expect(await planned(party)).toEqual(["ready 5.00 CN-0001 INV-0002"]);
    await pool.query(
      "UPDATE ledger_jobs SET state = 'done', finished_at = now() WHERE kind = 'amend_invoice'",
    );
    const first = await take(party);
    await recordDone(party, first, observedCredit("10", "approved", entry(first)));
    expect((await planned(party)).at(-1)).toBe("ready 4.00 CN-0001 INV-0001");
  });

  test("is not missed where note and invoice are settled at the same moment", async () => {
    const parties = await Promise.all(Array.from({ length: 8 }, newParty));
    for (const party of parties) {
      await raiseCredit(pool, party.organisationId, party.subscriptionId, "10");
      await raiseInvoice(pool, party.organisationId, party.subscriptionId, "4");
      const [notes, invoices] = [
        await takenNotes(party, "10"),
        await takenInvoices(party, "4", { status: "approved" }),
      ];
      const both = await Promise.all(
        [notes, invoices].map((one) => recordOutcomes(pool, party.organisationId, one)),
      );
      expect(both.flat()).toEqual([party.subscriptionId]);
      expect(await planned(party)).toEqual(["ready 4.00 CN-0001 INV-0001"]);
    }
  });

  test("is one step, however many plan at once", async () => {
    const party = await newParty();
    await addNote(party, "10");
    await addInvoice(party, "4");
    await pool.query(
      "DELETE FROM ledger_jobs WHERE organisation_id = $1 AND kind = 'allocate_credit'",
      [party.organisationId],
    );
    const all = await Promise.all(Array.from({ length: 8 }, () => plan(party)));
    expect(all.flat()).toEqual([party.subscriptionId]);
  });
});

describe.concurrent("a note and an invoice that the ledger refused together", () => {
  test("are not planned again over the same amount", async () => {
    const party = await newParty();
    await addNote(party, "100");
    await addInvoice(party, "50", { status: "approved", total: "100", due: "50" });
    await refuseOver(party, "50");
    expect(await plan(party)).toEqual([]);
    await pool.query("UPDATE invoices SET amount_due = 49 WHERE organisation_id = $1", [
      party.organisationId,
    ]);
    expect(await plan(party)).toEqual([party.subscriptionId]);
  });

  test("five times are not planned again, whatever the amounts, until an operator has asked for it", async () => {
    const party = await newParty();
    await addNote(party, "100");
    await addInvoice(party, "50", { status: "approved", total: "100", due: "50" });
    for (const due of ["49", "48", "47", "46", "45"]) await refuseOver(party, due);
    expect(await planned(party)).toEqual(
      ["50", "49", "48", "47", "46"].map((one) => `refused ${one}.00 CN-0001 INV-0001`),
    );
    expect(await plan(party)).toEqual([]);
    // The note's credit goes on with the next invoice.
    expect(await addInvoice(party, "3")).toEqual([party.subscriptionId]);
    const next = await take(party);
    await recordDone(party, next, observedCredit("100", "approved", entry(next)));
    expect(await plan(party)).toEqual([]);
    await pool.query(
      "UPDATE ledger_jobs SET state = 'abandoned' WHERE organisation_id = $1 AND state = 'refused'",
      [party.organisationId],
    );
    expect(await plan(party)).toEqual([party.subscriptionId]);
    expect((await planned(party)).at(-1)).toBe("ready 45.00 CN-0001 INV-0001");
  });
});

describe.concurrent("an allocation that is put off", () => {
  const hour = 3_600_000;
  const reschedule = ({ organisationId, subscriptionId }: Party) =>
    rescheduleLeased(
      pool,
      organisationId,
      { kind: "allocate_credit", subscriptionId },
      hour,
      "day limit",
    );
  const waitOf = ({ organisationId, subscriptionId }: Party) =>
    readAllocationWait(pool, organisationId, subscriptionId);

  test("waits as long as the connection is paused, also where it is uncertain", async () => {
    const party = await newParty();
    await addNote(party, "10");
    await addInvoice(party, "4");
    await reschedule(party);
    expect(await waitOf(party)).toBeGreaterThan(hour - 60_000);
    await pool.query("UPDATE ledger_jobs SET not_before = now() WHERE organisation_id = $1", [
      party.organisationId,
    ]);
    await take(party, 0);
    await reschedule(party);
    expect(await planned(party)).toEqual(["uncertain 4.00 CN-0001 INV-0001"]);
    expect(await waitOf(party)).toBeGreaterThan(hour - 60_000);
    const { rows } = await pool.query(
      "SELECT reason FROM ledger_jobs WHERE organisation_id = $1 AND kind = 'allocate_credit'",
      [party.organisationId],
    );
    expect(rows).toEqual([{ reason: "day limit" }]);
  });

  test("is left to who holds it", async () => {
    const party = await newParty();
    await addNote(party, "10");
    await addInvoice(party, "4");
    await take(party);
    await reschedule(party);
    expect(await planned(party)).toEqual(["sending 4.00 CN-0001 INV-0001"]);
    expect(await waitOf(party)).toBeLessThanOrEqual(60_000);
  });
});

describe.concurrent("a taken allocation", () => {
  test("is held until its lease is over, and then uncertain", async () => {
    const party = await newParty();
    await addNote(party, "10");
    await addInvoice(party, "4");
    const { organisationId, subscriptionId } = party;
    expect(await take(party)).toMatchObject({
      attempts: 1,
      isUncertain: false,
      amount: "4.0000",
      applied: "0",
    });
    expect(await takeAllocation(pool, organisationId, subscriptionId, 60_000)).toBeNull();
    expect(await readAllocationWait(pool, organisationId, subscriptionId)).toBeGreaterThan(50_000);
    await pool.query(
      "UPDATE ledger_jobs SET lease_until = now() WHERE organisation_id = $1 AND state = 'sending'",
      [organisationId],
    );
    expect(await take(party)).toMatchObject({ attempts: 2, isUncertain: true });
  });

  test("is settled only by who holds it", async () => {
    const party = await newParty();
    await addNote(party, "10");
    await addInvoice(party, "4");
    const late = await take(party, 0);
    const now = await take(party);
    await recordDone(party, late, observedCredit("10", "approved", entry(late)));
    expect(await planned(party)).toEqual(["uncertain 4.00 CN-0001 INV-0001"]);
    expect((await ourCredit(pool, party))[0]).toMatchObject({
      remaining: "10.00",
      allocations: [],
    });
    await recordDone(party, now, observedCredit("10", "approved", entry(now)));
    await recordDone(party, now, observedCredit("10", "paid"));
    expect((await ourCredit(pool, party))[0]).toMatchObject({
      status: "AUTHORISED",
      remaining: "6.00",
    });
  });

  test("keeps the amount that is to be sent next", async () => {
    const party = await newParty();
    await addNote(party, "10");
    await addInvoice(party, "4");
    const { id, attempts } = await take(party);
    const again = {
      kind: "again",
      jobId: id,
      attempt: attempts,
      delayMs: 0,
      countsAsAttempt: true,
      reason: "less",
    } as const;
    const result = { outcome: again, amount: "1.2500", observed: null };
    await recordAllocation(pool, party.organisationId, party.subscriptionId, result);
    expect(await take(party)).toMatchObject({ attempts: 2, isUncertain: false, amount: "1.2500" });
  });
});

describe.concurrent("what the ledger shows of a note", () => {
  test("is written with what it takes from its invoices, and back where it is taken back", async () => {
    const party = await newParty();
    await addInvoice(party, "50");
    await addNote(party, "10");
    await addInvoice(party, "4");
    const first = await take(party);
    // By hand: some of it on an older invoice of ours, and some on one that is none of ours.
    const byHand = onInvoice(await ledgerIdOf(party, "INV-0001"), "3.0000");
    const elsewhere = onInvoice(anId(), "2.0000");
    await recordDone(party, first, observedCredit("10", "approved", entry(first), byHand, elsewhere));
    expect(await ourDue(pool, party)).toEqual([
      { number: "INV-0001", status: "AUTHORISED", due: "47.00" },
      { number: "INV-0002", status: "PAID", due: "0.00" },
    ]);
    expect((await ourCredit(pool, party))[0]).toMatchObject({ remaining: "1.00" });
    // Only what the ledger has left can be put on an invoice.
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

  test("is nothing to plan where all of it was used on invoices that we do not have", async () => {
    const party = await newParty();
    await addNote(party, "10");
    await addInvoice(party, "4");
    const elsewhere = onInvoice(anId(), "10.0000");
    await recordRefused(party, await take(party), observedCredit("10", "paid", elsewhere));
    expect(await ourCredit(pool, party)).toMatchObject([
      { status: "PAID", remaining: "0.00", allocations: [] },
    ]);
    expect(await addInvoice(party, "3")).toEqual([]);
    expect(await planned(party)).toEqual(["refused 4.00 CN-0001 INV-0001"]);
  });

  test("is wanted whole: a note of which more is left and used than its total is refused, and written nowhere", async () => {
    const party = await newParty();
    await addNote(party, "10");
    await addInvoice(party, "4");
    const first = await take(party);
    const { note } = observedCredit("10", "approved", entry(first));
    if (note === null) throw new Error("it was seen");
    await recordDone(party, first, { note: { ...note, remainingCredit: "6.0100" }, invoice: null });
    expect(await planned(party)).toEqual(["refused 4.00 CN-0001 INV-0001"]);
    expect((await ourCredit(pool, party))[0]).toMatchObject({
      remaining: "10.00",
      allocations: [],
    });
  });

  test("and fits no record is refused, and nothing of it is written", async () => {
    const party = await newParty();
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

describe.concurrent("a settled document", () => {
  test("has the ledger's total with tax, and all of its credit left", async () => {
    const party = await newParty();
    await raiseCredit(pool, party.organisationId, party.subscriptionId, "10");
    await recordOutcomes(pool, party.organisationId, await takenNotes(party, "11.5"));
    expect(await ourCredit(pool, party)).toMatchObject([
      { status: "AUTHORISED", total: "11.50", remaining: "11.50" },
    ]);
  });

  test("is a note with the credit that somebody has used of it meanwhile, and only the rest is planned", async () => {
    const party = await newParty();
    await raiseCredit(pool, party.organisationId, party.subscriptionId, "10");
    await addInvoice(party, "50");
    const used = [
      onInvoice(await ledgerIdOf(party, "INV-0001"), "3.0000"),
      onInvoice(anId(), "2.0000"),
    ];
    const settlements = await takenNotes(party, "11.5", "approved", ...used);
    expect(await recordOutcomes(pool, party.organisationId, settlements)).toEqual([
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

  test("is a note that somebody has used up, also where it fits no record where", async () => {
    const party = await newParty();
    await addInvoice(party, "4");
    await raiseCredit(pool, party.organisationId, party.subscriptionId, "10");
    // More than we know the invoice to come to.
    const used = onInvoice(await ledgerIdOf(party, "INV-0001"), "10.0000");
    const settlements = await takenNotes(party, "10", "paid", used);
    expect(await recordOutcomes(pool, party.organisationId, settlements)).toEqual([]);
    expect(await ourCredit(pool, party)).toMatchObject([
      { status: "PAID", remaining: "0.00", allocations: [] },
    ]);
    expect((await ourDue(pool, party))[0]).toMatchObject({ due: "4.00" });
  });

  test("has the ledger's ids on its lines", async () => {
    const party = await newParty();
    await addInvoice(party, "4", { status: "draft" });
    const { rows } = await pool.query<{ is_named: boolean }>(
      "SELECT ledger_line_id = 'line of ' || id AS is_named FROM invoice_lines WHERE organisation_id = $1",
      [party.organisationId],
    );
    expect(rows).toEqual([{ is_named: true }]);
  });
});
