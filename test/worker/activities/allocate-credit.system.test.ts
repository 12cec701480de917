/**
 * Allocation of held credit, batch by batch, on a real database and the demo ledger: order, lost
 * answers, refusals and payments in between (DOCUMENT-4).
 */
import { describe, expect } from "vitest";
import { setOrganisation, tables } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import { type CreditFixture, type CreditParty, creditTest as test } from "./credit-fixture.ts";
import {
  bookedCredit,
  expectSameCredit,
  issueCredit,
  ourCredit,
  ourDue,
  plannedCredit,
  spendCredit,
} from "./issue-credit.ts";

const notes = "PUT /api.xro/2.0/CreditNotes";
const allocations = "/Allocations";

const issue = (fixture: CreditFixture, party: CreditParty, ...amounts: readonly string[]) =>
  fixture.issue(party, ...amounts);
const jobsOf = (fixture: CreditFixture, party: CreditParty) => plannedCredit(fixture.pool, party);

describe.concurrent("held credit", () => {
  test("goes to later invoices, oldest note and invoice first, until nothing is left", async ({
    fixture,
  }) => {
    const party = await fixture.party();
    await issue(fixture, party, "5", "-10", "-20", "8", "15", "30");
    expect(await fixture.allocate(party)).toMatchObject({ state: "done", outcome: "done" });
    const credit = await expectSameCredit(fixture.pool, party);
    // With 20 % tax: credit of 12 and 24, invoices of 6 (before both), 9.60, 18 and 36.
    expect(credit.notes).toEqual([
      {
        number: "CN-0001",
        status: "PAID",
        total: "12.00",
        remaining: "0.00",
        allocations: [
          { invoice: "INV-0002", amount: "9.60" },
          { invoice: "INV-0003", amount: "2.40" },
        ],
      },
      {
        number: "CN-0002",
        status: "PAID",
        total: "24.00",
        remaining: "0.00",
        allocations: [
          { invoice: "INV-0003", amount: "15.60" },
          { invoice: "INV-0004", amount: "8.40" },
        ],
      },
    ]);
    expect(credit.invoices).toEqual([
      { number: "INV-0001", status: "AUTHORISED", due: "6.00" },
      { number: "INV-0002", status: "PAID", due: "0.00" },
      { number: "INV-0003", status: "PAID", due: "0.00" },
      { number: "INV-0004", status: "AUTHORISED", due: "27.60" },
    ]);
    expect((await jobsOf(fixture, party)).map(({ note, invoice }) => `${note} ${invoice}`)).toEqual(
      ["CN-0001 INV-0002", "CN-0001 INV-0003", "CN-0002 INV-0003", "CN-0002 INV-0004"],
    );
  });

  test("is planned when the later document is approved, and its workflow starts", async ({
    fixture,
  }) => {
    const party = await fixture.party();
    await issue(fixture, party, "-10");
    expect(await jobsOf(fixture, party)).toEqual([]);
    await issue(fixture, party, "4");
    expect(await jobsOf(fixture, party)).toMatchObject([{ state: "ready", amount: "4.80" }]);
    const own = fixture.started.filter(
      ({ subscriptionId }) => subscriptionId === party.subscriptionId,
    );
    expect(own).toEqual([
      { organisationId: party.organisationId, subscriptionId: party.subscriptionId },
    ]);
  });

  test("is dated by the organisation's clock in the subscription's zone", async ({ fixture }) => {
    const party = await fixture.party();
    // Noon of 31 May in UTC is 1 June in Auckland.
    const testClock = new Date("2026-05-31T12:00Z");
    await setOrganisation(fixture.pool, party.organisationId, { livemode: false, testClock });
    await issue(fixture, party, "-10", "10");
    await fixture.allocate(party);
    const { rows } = await fixture.pool.query(
      `SELECT a.date, a.status, a.sync_status, b.allocated_on, b.amount = a.amount AS is_same
        FROM allocations a
        JOIN demo_ledger.credit_allocations b ON b.allocation_id::text = a.ledger_allocation_id
        WHERE a.organisation_id = $1`,
      [party.organisationId],
    );
    expect(rows).toEqual([
      {
        date: new Date("2026-06-01T00:00:00Z"),
        status: "active",
        sync_status: "synced",
        allocated_on: "2026-06-01",
        is_same: true,
      },
    ]);
  });

  test("stays held while no invoice accepts it", async ({ fixture }) => {
    const party = await fixture.party();
    await issue(fixture, party, "7", "-10");
    expect(await fixture.allocateOnce(party)).toMatchObject({ state: "done", outcome: "done" });
    expect(await jobsOf(fixture, party)).toEqual([]);
    const { notes: held } = await expectSameCredit(fixture.pool, party);
    expect(held).toMatchObject([{ status: "AUTHORISED", remaining: "12.00", allocations: [] }]);
  });
});

describe.concurrent("a credit note whose answer was lost is in the ledger once:", () => {
  test.for([
    ["the request never came", { kind: "drop_before" }],
    ["the answer was cut off", { kind: "drop_after" }],
    ["the answer came too late", { kind: "slow_after", delayMs: 2_000 }],
    ["a gateway answered 503 in HTML", { kind: "status", status: 503 }],
  ] as const)("%s", async ([_, fault], { fixture }) => {
    const party = await fixture.party();
    await fixture.fault(party, { ...fault, match: notes });
    await issue(fixture, party, "-10", "10");
    await fixture.allocate(party);
    const credit = await expectSameCredit(fixture.pool, party);
    expect(credit.notes).toMatchObject([{ status: "PAID", allocations: [{ amount: "12.00" }] }]);
  });
});

describe.concurrent("a look-up after a lost answer", () => {
  test("adopts our note even if a person voided it, and holds none of its credit", async ({
    fixture,
  }) => {
    const party = await fixture.party();
    await fixture.fault(party, { kind: "drop_after", match: notes });
    await issueCredit(fixture.pool, party.organisationId, party.subscriptionId, "10");
    // Batch by batch, so that none reads it before it is voided.
    await until("the note is voided", async () => {
      const text = "UPDATE demo_ledger.credit_notes SET status = 'VOIDED' WHERE tenant_id = $1";
      if ((await fixture.pool.query(text, [party.tenantId])).rowCount === 1) return true;
      await fixture.postBatch(party);
      return false;
    });
    await fixture.postAll(party);
    expect(await ourCredit(fixture.pool, party)).toMatchObject([
      { status: "VOIDED", total: "12.00" },
    ]);
    await issue(fixture, party, "9");
    expect(await jobsOf(fixture, party)).toEqual([]);
  });

  test("adopts no foreign note that has our number", async ({ fixture }) => {
    const party = await fixture.party();
    await issue(fixture, party, "-10");
    await fixture.pool.query(
      "UPDATE demo_ledger.credit_notes SET number = 'CN-0002' WHERE tenant_id = $1",
      [party.tenantId],
    );
    await fixture.fault(party, { kind: "drop_before", match: notes });
    await issue(fixture, party, "-11");
    expect((await ourCredit(fixture.pool, party))[1]).toMatchObject({
      number: "CN-0002",
      status: "NOT_IN_EXTERNAL",
    });
    expect(await bookedCredit(fixture.pool, party)).toHaveLength(1);
  });
});

describe.concurrent("credit whose answer was lost is on its invoice once:", () => {
  test.for([
    ["the request never came", { kind: "drop_before", match: allocations }],
    ["the answer was cut off", { kind: "drop_after", match: allocations }],
    ["the answer came too late", { kind: "slow_after", match: allocations, delayMs: 2_000 }],
    [
      "it was done after we had given up",
      { kind: "slow_before", match: allocations, delayMs: 2_000 },
    ],
    ["a gateway answered 503 in HTML", { kind: "status", match: allocations, status: 503 }],
    [
      "the credit was taken and the note could not be read",
      { kind: "drop_before", match: "GET /api.xro/2.0/CreditNotes/" },
    ],
    [
      "the look-up failed as well",
      { kind: "drop_after", match: "/api.xro/2.0/CreditNotes/", times: 3 },
    ],
    [
      "the limit of a minute was reached",
      { kind: "rate_limit", match: allocations, retryAfterSeconds: 1, times: 2 },
    ],
  ] as const)("%s", async ([_, fault], { fixture }) => {
    const party = await fixture.party();
    // The invoice accepts twice the credit, so only this service prevents a second allocation.
    await issue(fixture, party, "-10", "-30", "60");
    await fixture.fault(party, fault);
    expect(await fixture.allocate(party)).toMatchObject({ outcome: "done" });
    const credit = await expectSameCredit(fixture.pool, party);
    expect(credit.notes).toMatchObject([
      { status: "PAID", allocations: [{ amount: "12.00" }] },
      { status: "PAID", allocations: [{ amount: "36.00" }] },
    ]);
    expect(credit.invoices).toEqual([{ number: "INV-0001", status: "AUTHORISED", due: "24.00" }]);
    expect((await jobsOf(fixture, party)).map(({ state }) => state)).toEqual(["done", "done"]);
  });
});

describe.concurrent("a payment that arrives between plan and allocation", () => {
  test("leaves less to be credited, and the rest goes to the next invoice", async ({ fixture }) => {
    const party = await fixture.party();
    await issue(fixture, party, "-10", "10", "20");
    await fixture.pay(party, "INV-0001", "8.50");
    await fixture.allocate(party);
    const credit = await expectSameCredit(fixture.pool, party);
    expect(credit.notes).toMatchObject([
      {
        status: "PAID",
        allocations: [
          { invoice: "INV-0001", amount: "3.50" },
          { invoice: "INV-0002", amount: "8.50" },
        ],
      },
    ]);
    expect(await jobsOf(fixture, party)).toMatchObject([
      { state: "done", amount: "3.50" },
      { state: "done", amount: "8.50" },
    ]);
  });

  test("in full is reported as a refusal, and the next invoice gets the credit", async ({
    fixture,
  }) => {
    const party = await fixture.party();
    await issue(fixture, party, "-10", "10", "20");
    await fixture.pay(party, "INV-0001", "12");
    expect(await fixture.allocate(party)).toMatchObject({ state: "done", outcome: "refused" });
    const credit = await expectSameCredit(fixture.pool, party);
    expect(credit.notes).toMatchObject([
      { status: "PAID", allocations: [{ invoice: "INV-0002", amount: "12.00" }] },
    ]);
    expect(credit.invoices[0]).toEqual({ number: "INV-0001", status: "PAID", due: "0.00" });
    expect(await jobsOf(fixture, party)).toMatchObject([
      { state: "refused", invoice: "INV-0001", reason: "amount_exceeds" },
      { state: "done", invoice: "INV-0002" },
    ]);
  });

  test("after a lost answer causes no second allocation", async ({ fixture }) => {
    const party = await fixture.party();
    await issue(fixture, party, "-10", "20");
    await fixture.fault(party, { kind: "drop_after", match: allocations });
    expect(await fixture.allocateOnce(party)).toMatchObject({ state: "waiting" });
    await fixture.pay(party, "INV-0001", "12");
    await fixture.allocate(party);
    const credit = await expectSameCredit(fixture.pool, party);
    expect(credit.notes).toMatchObject([{ status: "PAID", allocations: [{ amount: "12.00" }] }]);
    expect(credit.invoices).toEqual([{ number: "INV-0001", status: "PAID", due: "0.00" }]);
  });
});

describe.concurrent("credit that a person used in the ledger", () => {
  test("stays as it is there, and only the rest is allocated", async ({ fixture }) => {
    const party = await fixture.party();
    await issue(fixture, party, "5", "-10", "20");
    // On the invoice before it.
    await spendCredit(fixture.pool, party, "4", "INV-0001");
    await fixture.allocate(party);
    const credit = await expectSameCredit(fixture.pool, party);
    expect(credit.notes).toMatchObject([
      {
        status: "PAID",
        allocations: [
          { invoice: "INV-0001", amount: "4.00" },
          { invoice: "INV-0002", amount: "8.00" },
        ],
      },
    ]);
  });

  test("is no longer held if the note was voided", async ({ fixture }) => {
    const party = await fixture.party();
    await issue(fixture, party, "-10", "20");
    await fixture.pool.query(
      "UPDATE demo_ledger.credit_notes SET status = 'VOIDED' WHERE tenant_id = $1",
      [party.tenantId],
    );
    expect(await fixture.allocate(party)).toMatchObject({ state: "done", outcome: "refused" });
    const rows = await tables(fixture.pool).creditNote.findMany({
      where: { organisationId: party.organisationId },
      select: { status: true },
    });
    expect(rows).toEqual([{ status: "voided" }]);
    expect((await ourDue(fixture.pool, party))[0]?.due).toBe("24.00");
    await issue(fixture, party, "9");
    expect(await jobsOf(fixture, party)).toMatchObject([{ state: "refused" }]);
  });
});

test("a refused allocation shows the message and is retried with another amount", async ({
  fixture,
}) => {
  const party = await fixture.party();
  await issue(fixture, party, "-10", "20");
  await fixture.fault(party, { kind: "refuse", match: allocations, messages: ["Not today."] });
  expect(await fixture.allocate(party)).toMatchObject({ state: "done", outcome: "refused" });
  // Nothing is planned again for the same pair.
  for (let time = 0; time < 3; time += 1)
    expect(await fixture.allocateOnce(party)).toMatchObject({ state: "done" });
  expect(await jobsOf(fixture, party)).toMatchObject([
    { state: "refused", amount: "12.00", message: "Not today." },
  ]);
  // A later invoice gets some of it, and less is left for the first.
  await issue(fixture, party, "5");
  await fixture.allocate(party);
  const credit = await expectSameCredit(fixture.pool, party);
  expect(credit.notes).toMatchObject([
    {
      status: "PAID",
      allocations: [
        { invoice: "INV-0001", amount: "6.00" },
        { invoice: "INV-0002", amount: "6.00" },
      ],
    },
  ]);
});

test("every ordered fault has happened", async ({ fixture }) => {
  expect(await fixture.faultsLeft()).toBe(0);
});

test("two concurrent batches allocate the credit once", async ({ fixture }) => {
  const party = await fixture.party();
  await issue(fixture, party, "-10", "-10", "-10", "60");
  const batches = await Promise.all(Array.from({ length: 4 }, () => fixture.allocateOnce(party)));
  // On a slow machine neither ends within the deadline of its calls.
  for (const { state } of batches) expect(state).toMatch(/^(done|waiting)$/);
  await fixture.allocate(party);
  const credit = await expectSameCredit(fixture.pool, party);
  expect(credit.notes.map(({ allocations: own }) => own)).toEqual(
    Array.from({ length: 3 }, () => [{ invoice: "INV-0001", amount: "12.00" }]),
  );
  expect(await jobsOf(fixture, party)).toHaveLength(3);
});
