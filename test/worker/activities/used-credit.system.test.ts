/**
 * Credit that a bookkeeper used in the ledger, on our invoices and on foreign ones: what is left,
 * what a refusal of the rest does, and which note is ours after a lost answer (POSTING-2).
 */
import { describe, expect } from "vitest";
import { findStaleJobs } from "../../../src/store/ledger-jobs/stale-jobs.ts";
import { bookkeeper } from "../../support/bookkeeper.ts";
import { jobsOf } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import { type CreditFixture, type CreditParty, creditTest as test } from "./credit-fixture.ts";
import {
  bookedCredit,
  bookInvoice,
  expectSameCredit,
  issueCredit,
  issueInvoice,
  ourCredit,
  ourDue,
  plannedCredit,
  spendCredit,
} from "./issue-credit.ts";

const notes = "PUT /api.xro/2.0/CreditNotes";
const allocations = "/Allocations";

/** Adds credit of 12.00 with tax, `used` by a bookkeeper on a foreign invoice. */
async function usedElsewhere(fixture: CreditFixture, amount: string): Promise<CreditParty> {
  const party = await fixture.party();
  await fixture.issue(party, "50", "-10");
  await bookInvoice(fixture.pool, party, "HAND-1");
  await spendCredit(fixture.pool, party, amount, "HAND-1");
  return party;
}

/** Runs batches until the ledger has these documents, even on a slow machine. */
async function untilThere(
  fixture: CreditFixture,
  party: CreditParty,
  ...numbers: readonly string[]
): Promise<void> {
  await until(`the ledger has ${numbers.join(" and ")}`, async () => {
    const text = `SELECT number FROM demo_ledger.invoices WHERE tenant_id = $1
      UNION ALL SELECT number FROM demo_ledger.credit_notes WHERE tenant_id = $1`;
    const { rows } = await fixture.pool.query<{ number: string }>(text, [party.tenantId]);
    if (numbers.every((number) => rows.some((row) => row.number === number))) return true;
    await fixture.postBatch(party);
    return false;
  });
}

describe.concurrent("credit used on a foreign invoice", () => {
  test("is gone, and the rest goes to our next invoice", async ({ fixture }) => {
    const party = await usedElsewhere(fixture, "4");
    await fixture.issue(party, "20");
    await fixture.allocate(party);
    expect(await ourCredit(fixture.pool, party)).toEqual([
      {
        number: "CN-0001",
        status: "PAID",
        total: "12.00",
        remaining: "0.00",
        allocations: [{ invoice: "INV-0002", amount: "8.00" }],
      },
    ]);
    expect((await ourDue(fixture.pool, party))[1]).toMatchObject({ due: "16.00" });
    expect(await bookedCredit(fixture.pool, party)).toMatchObject([
      { status: "PAID", remaining: "0.00" },
    ]);
  });

  test("is gone even if it was all of it", async ({ fixture }) => {
    const party = await usedElsewhere(fixture, "12");
    await fixture.issue(party, "20");
    expect(await fixture.allocate(party)).toMatchObject({ state: "done", outcome: "refused" });
    expect(await ourCredit(fixture.pool, party)).toMatchObject([
      { status: "PAID", remaining: "0.00", allocations: [] },
    ]);
    await fixture.issue(party, "5");
    expect(await plannedCredit(fixture.pool, party)).toMatchObject([
      { state: "refused", reason: "amount_exceeds" },
    ]);
  });

  test("leaves one refusal if the ledger refuses the rest, however often it is tried", async ({
    fixture,
  }) => {
    const party = await usedElsewhere(fixture, "4");
    await fixture.fault(party, {
      kind: "refuse",
      match: allocations,
      messages: ["The lock date has passed."],
      times: 2,
    });
    await fixture.issue(party, "20");
    expect(await fixture.allocate(party)).toMatchObject({ state: "done", outcome: "refused" });
    for (let time = 0; time < 3; time += 1)
      expect(await fixture.allocateOnce(party)).toMatchObject({ state: "done" });
    const message = "The lock date has passed.";
    expect(await plannedCredit(fixture.pool, party)).toMatchObject([
      { state: "refused", amount: "8.00", message },
    ]);
    expect(await ourCredit(fixture.pool, party)).toMatchObject([
      { status: "AUTHORISED", remaining: "8.00" },
    ]);
  });
});

describe.concurrent("a look-up after a lost answer takes over our note", () => {
  test.for([
    ["a part of its credit is used on an invoice of ours", "INV-0001", "4", "8.00"],
    ["a part of it is used on an invoice that we do not have", "HAND-1", "4", "8.00"],
    ["all of it is used on an invoice of ours", "INV-0001", "12", "0.00"],
  ] as const)("where %s", async ([_, invoice, amount, remaining], { fixture }) => {
    const party = await fixture.party();
    const isOurs = invoice !== "HAND-1";
    await fixture.issue(party, "50");
    if (!isOurs) await bookInvoice(fixture.pool, party, invoice);
    await fixture.fault(party, { kind: "drop_after", match: notes });
    await issueCredit(fixture.pool, party.organisationId, party.subscriptionId, "10");
    await untilThere(fixture, party, "CN-0001");
    await spendCredit(fixture.pool, party, amount, invoice);
    await fixture.postAll(party);
    const own = isOurs ? [{ invoice, amount: `${amount}.00` }] : [];
    expect(await ourCredit(fixture.pool, party)).toMatchObject([
      { number: "CN-0001", remaining, allocations: own },
    ]);
    if (isOurs) await expectSameCredit(fixture.pool, party);
    await fixture.issue(party, "50");
    await fixture.allocate(party);
    expect(await bookedCredit(fixture.pool, party)).toMatchObject([
      { status: "PAID", remaining: "0.00" },
    ]);
    expect(await ourCredit(fixture.pool, party)).toMatchObject([
      { status: "PAID", remaining: "0.00" },
    ]);
  });
});

test("a look-up after a lost answer adopts documents of a merged contact", async ({ fixture }) => {
  const party = await fixture.party();
  const hand = bookkeeper(fixture.pool, fixture.demoUrl, party.tenantId);
  await hand.addContact("NEW", "New Holdings");
  for (const match of ["PUT /api.xro/2.0/Invoices", notes])
    await fixture.fault(party, { kind: "drop_after", match });
  await issueInvoice(fixture.pool, party.organisationId, party.subscriptionId, "50");
  await issueCredit(fixture.pool, party.organisationId, party.subscriptionId, "10");
  await untilThere(fixture, party, "INV-0001", "CN-0001");
  await hand.mergeContact("ACME", "NEW");
  await fixture.postAll(party);
  expect(await expectSameCredit(fixture.pool, party)).toMatchObject({
    notes: [{ number: "CN-0001", status: "AUTHORISED", remaining: "12.00" }],
    invoices: [{ number: "INV-0001", status: "AUTHORISED", due: "60.00" }],
  });
});

test("a look-up after a lost answer adopts no equal document of another contact", async ({
  fixture,
}) => {
  const party = await fixture.party();
  const hand = bookkeeper(fixture.pool, fixture.demoUrl, party.tenantId);
  const other = await hand.addContact("NEW", "New Holdings");
  for (const match of ["PUT /api.xro/2.0/Invoices", notes])
    await fixture.fault(party, { kind: "drop_after", match });
  await issueInvoice(fixture.pool, party.organisationId, party.subscriptionId, "50");
  await issueCredit(fixture.pool, party.organisationId, party.subscriptionId, "10");
  await untilThere(fixture, party, "INV-0001", "CN-0001");
  // As after a restore: the numbers belong to another customer's documents with equal content.
  for (const table of ["invoices", "credit_notes"]) {
    const text = `UPDATE demo_ledger.${table} SET contact_id = $2 WHERE tenant_id = $1`;
    await fixture.pool.query(text, [party.tenantId, other]);
  }
  await fixture.postAll(party);
  const { organisationId } = party;
  const created = { organisationId, kind: { in: ["create_invoice", "create_credit_note"] } };
  const refused = { state: "refused", reason: "duplicate_number" };
  expect(await jobsOf(fixture.pool, created)).toMatchObject([refused, refused]);
});

test("an uncertain allocation waits as long as the connection is paused", async ({ fixture }) => {
  const party = await fixture.party();
  await fixture.issue(party, "-10", "20");
  await fixture.fault(party, { kind: "drop_after", match: allocations });
  await until("its answer is lost", async () => {
    expect(await fixture.allocateOnce(party)).toMatchObject({ state: "waiting" });
    return (await plannedCredit(fixture.pool, party))[0]?.state === "uncertain";
  });
  await fixture.pool.query(
    `WITH paused AS (
        UPDATE ledger_connections
          SET paused_until = now() + interval '1 hour', paused_reason = 'day limit'
          WHERE organisation_id = $1
      ) UPDATE ledger_jobs SET lease_until = now()
        WHERE organisation_id = $1 AND state = 'uncertain'`,
    [party.organisationId],
  );
  const { nextInMs } = await fixture.allocateOnce(party);
  expect(nextInMs).toBeGreaterThan(50 * 60_000);
  const stale = (await findStaleJobs(fixture.pool, 0)).filter(
    (work) => work.organisationId === party.organisationId,
  );
  expect(stale).toEqual([]);
  expect(await plannedCredit(fixture.pool, party)).toMatchObject([
    { state: "uncertain", reason: "day limit" },
  ]);
});

test("every ordered fault has happened", async ({ fixture }) => {
  expect(await fixture.faultsLeft()).toBe(0);
});
