/**
 * Plans, claims and records allocations on a real database: which pair is next, that no pair is
 * planned twice or missed, and that only the holder of the lease records (DOCUMENT-4).
 */
import type pg from "pg";
import { describe, expect } from "vitest";
import { newId } from "../../../src/store/database/ids.ts";
import type { ObservedInvoiceState } from "../../../src/store/documents/credit-note-state.ts";
import {
  claimAllocation,
  readAllocationWait,
  recordAllocation,
} from "../../../src/store/ledger-jobs/allocations.ts";
import { rescheduleAllocation } from "../../../src/store/ledger-jobs/job-lease.ts";
import { recordOutcomes } from "../../../src/store/ledger-jobs/record-outcomes.ts";
import { databaseTest as test } from "../../support/fixtures.ts";
import { jobsOf, tables } from "../../support/rows.ts";
import {
  addSubscription,
  issueCredit,
  issueInvoice,
  ourCredit,
} from "../../worker/activities/issue-credit.ts";
import {
  addInvoice,
  addNote,
  addParty,
  entry,
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

/** Refuses the planned allocation, with this amount due on its invoice. */
async function refuseOver(party: Party, amountDue: string): Promise<void> {
  const invoice: ObservedInvoiceState = {
    status: "approved",
    total: "100",
    amountDue,
    sent: false,
  };
  await recordRefused(party, await take(party), { note: null, invoice });
}

describe.concurrent("a planned allocation", () => {
  test("is of the oldest note and its oldest later invoice, over the lesser amount", async ({
    pool,
  }) => {
    const party = await addParty(pool);
    await addInvoice(party, "99");
    expect(await addNote(party, "10")).toEqual([]);
    await addNote(party, "20");
    expect(await addInvoice(party, "7")).toEqual([party.subscriptionId]);
    await addInvoice(party, "30");
    expect(await planned(party)).toEqual(["ready 7.00 CN-0001 INV-0002"]);
  });

  test.for([
    ["a draft", { status: "draft" }],
    ["one awaiting approval", { status: "awaiting_approval" }],
    ["a paid one", { status: "paid", due: "0" }],
    ["one with nothing due", { status: "approved", due: "0" }],
    ["a voided one", { status: "voided" }],
  ] as const)("is never for %s", async ([_, outcome], { pool }) => {
    const party = await addParty(pool);
    await addNote(party, "10");
    expect(await addInvoice(party, "7", outcome)).toEqual([]);
    expect(await plan(party)).toEqual([]);
  });

  test("is at most what is due of a partly paid invoice", async ({ pool }) => {
    const party = await addParty(pool);
    await addNote(party, "10");
    await addInvoice(party, "9", { status: "approved", due: "2.5" });
    expect(await planned(party)).toEqual(["ready 2.50 CN-0001 INV-0001"]);
  });

  test("is one at a time, and its outcome plans the next one", async ({ pool }) => {
    const party = await addParty(pool);
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

  test("is never for the invoice of another subscription or organisation", async ({ pool }) => {
    const [party, other] = await Promise.all([addParty(pool), addParty(pool)]);
    await addNote(party, "10");
    await addInvoice(other, "4");
    const second = { ...party, subscriptionId: await addSubscription(pool, party.organisationId) };
    await addInvoice(second, "4");
    const mixed = { ...party, subscriptionId: other.subscriptionId };
    for (const one of [party, other, second, mixed]) expect(await plan(one)).toEqual([]);
  });

  test("skips an invoice while it is amended", async ({ pool }) => {
    const party = await addParty(pool);
    await addNote(party, "10");
    const { organisationId, subscriptionId } = party;
    const { id } = await issueInvoice(pool, organisationId, subscriptionId, "4");
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
    await tables(pool).ledgerJob.updateMany({
      where: { kind: "amend_invoice" },
      data: { state: "done", finishedAt: new Date() },
    });
    const first = await take(party);
    await recordDone(party, first, observedCredit("10", "approved", entry(first)));
    expect((await planned(party)).at(-1)).toBe("ready 4.00 CN-0001 INV-0001");
  });

  test("is not missed if note and invoice are recorded at the same moment", async ({ pool }) => {
    const parties = await Promise.all(Array.from({ length: 8 }, () => addParty(pool)));
    for (const party of parties) {
      await issueCredit(pool, party.organisationId, party.subscriptionId, "10");
      await issueInvoice(pool, party.organisationId, party.subscriptionId, "4");
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

  test("is one, even if several transactions plan at once", async ({ pool }) => {
    const party = await addParty(pool);
    await addNote(party, "10");
    await addInvoice(party, "4");
    await tables(pool).ledgerJob.deleteMany({
      where: { organisationId: party.organisationId, kind: "allocate_credit" },
    });
    const all = await Promise.all(Array.from({ length: 8 }, () => plan(party)));
    expect(all.flat()).toEqual([party.subscriptionId]);
  });
});

describe.concurrent("a refused pair of note and invoice", () => {
  test("is not planned again over the same amount", async ({ pool }) => {
    const party = await addParty(pool);
    await addNote(party, "100");
    await addInvoice(party, "50", { status: "approved", total: "100", due: "50" });
    await refuseOver(party, "50");
    expect(await plan(party)).toEqual([]);
    await tables(pool).invoice.updateMany({
      where: { organisationId: party.organisationId },
      data: { amountDue: 49 },
    });
    expect(await plan(party)).toEqual([party.subscriptionId]);
  });

  test("is not planned after five refusals, until an operator retries it", async ({ pool }) => {
    const party = await addParty(pool);
    await addNote(party, "100");
    await addInvoice(party, "50", { status: "approved", total: "100", due: "50" });
    for (const due of ["49", "48", "47", "46", "45"]) await refuseOver(party, due);
    expect(await planned(party)).toEqual(
      ["50", "49", "48", "47", "46"].map((one) => `refused ${one}.00 CN-0001 INV-0001`),
    );
    expect(await plan(party)).toEqual([]);
    // The note's credit goes to the next invoice.
    expect(await addInvoice(party, "3")).toEqual([party.subscriptionId]);
    const next = await take(party);
    await recordDone(party, next, observedCredit("100", "approved", entry(next)));
    expect(await plan(party)).toEqual([]);
    await tables(pool).ledgerJob.updateMany({
      where: { organisationId: party.organisationId, state: "refused" },
      data: { state: "abandoned" },
    });
    expect(await plan(party)).toEqual([party.subscriptionId]);
    expect((await planned(party)).at(-1)).toBe("ready 45.00 CN-0001 INV-0001");
  });
});

describe.concurrent("a rescheduled allocation", () => {
  const hour = 3_600_000;
  const reschedule = (pool: pg.Pool, { organisationId, subscriptionId }: Party) =>
    rescheduleAllocation(pool, organisationId, subscriptionId, hour, "day limit");
  const waitOf = (pool: pg.Pool, { organisationId, subscriptionId }: Party) =>
    readAllocationWait(pool, organisationId, subscriptionId);

  test("waits as long as the connection is paused, even if it is uncertain", async ({ pool }) => {
    const party = await addParty(pool);
    await addNote(party, "10");
    await addInvoice(party, "4");
    await reschedule(pool, party);
    expect(await waitOf(pool, party)).toBeGreaterThan(hour - 60_000);
    await tables(pool).ledgerJob.updateMany({
      where: { organisationId: party.organisationId },
      data: { notBefore: new Date() },
    });
    await take(party, 0);
    await reschedule(pool, party);
    expect(await planned(party)).toEqual(["uncertain 4.00 CN-0001 INV-0001"]);
    expect(await waitOf(pool, party)).toBeGreaterThan(hour - 60_000);
    const { organisationId } = party;
    expect(await jobsOf(pool, { organisationId, kind: "allocate_credit" })).toMatchObject([
      { reason: "day limit" },
    ]);
  });

  test("is not changed while it is leased", async ({ pool }) => {
    const party = await addParty(pool);
    await addNote(party, "10");
    await addInvoice(party, "4");
    await take(party);
    await reschedule(pool, party);
    expect(await planned(party)).toEqual(["sending 4.00 CN-0001 INV-0001"]);
    expect(await waitOf(pool, party)).toBeLessThanOrEqual(60_000);
  });
});

describe.concurrent("a taken allocation", () => {
  test("is leased until the lease expires, and then uncertain", async ({ pool }) => {
    const party = await addParty(pool);
    await addNote(party, "10");
    await addInvoice(party, "4");
    const { organisationId, subscriptionId } = party;
    expect(await take(party)).toMatchObject({
      attempts: 1,
      isUncertain: false,
      amount: "4.0000",
      applied: "0",
    });
    expect(await claimAllocation(pool, organisationId, subscriptionId, 60_000)).toBeNull();
    expect(await readAllocationWait(pool, organisationId, subscriptionId)).toBeGreaterThan(50_000);
    await tables(pool).ledgerJob.updateMany({
      where: { organisationId, state: "sending" },
      data: { leaseUntil: new Date() },
    });
    expect(await take(party)).toMatchObject({ attempts: 2, isUncertain: true });
  });

  test("is recorded only by the attempt that holds the lease", async ({ pool }) => {
    const party = await addParty(pool);
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

  test("keeps the amount to send next", async ({ pool }) => {
    const party = await addParty(pool);
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
