/**
 * Credit that a bookkeeper used in the ledger, on our invoices and on foreign ones: what is left,
 * what a refusal of the rest does, and which note is ours after a lost answer (POSTING-2).
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findStaleJobs } from "../../../src/store/ledger-jobs/stale-jobs.ts";
import { bookkeeper } from "../../support/bookkeeper.ts";
import { until } from "../../support/system.ts";
import { type CreditParty, type CreditWorld, startCreditWorld } from "./credit-fixture.ts";
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

let world: CreditWorld;

beforeAll(async () => {
  world = await startCreditWorld();
});

afterAll(() => world?.stop());

const notes = "PUT /api.xro/2.0/CreditNotes";
const allocations = "/Allocations";

/** Adds credit of 12.00 with tax, `used` by a bookkeeper on a foreign invoice. */
async function usedElsewhere(amount: string): Promise<CreditParty> {
  const party = await world.party();
  await world.raise(party, "50", "-10");
  await bookInvoice(world.pool, party, "HAND-1");
  await spendCredit(world.pool, party, amount, "HAND-1");
  return party;
}

/** Runs batches until the ledger has these documents, even on a slow machine. */
async function untilThere(party: CreditParty, ...numbers: readonly string[]): Promise<void> {
  await until(`the ledger has ${numbers.join(" and ")}`, async () => {
    const text = `SELECT number FROM demo_ledger.invoices WHERE tenant_id = $1
      UNION ALL SELECT number FROM demo_ledger.credit_notes WHERE tenant_id = $1`;
    const { rows } = await world.pool.query<{ number: string }>(text, [party.tenantId]);
    if (numbers.every((number) => rows.some((row) => row.number === number))) return true;
    await world.postBatch(party);
    return false;
  });
}

describe.concurrent("credit used on a foreign invoice", () => {
  test("is gone, and the rest goes to our next invoice", async () => {
    const party = await usedElsewhere("4");
    await world.raise(party, "20");
    await world.allocate(party);
    expect(await ourCredit(world.pool, party)).toEqual([
      {
        number: "CN-0001",
        status: "PAID",
        total: "12.00",
        remaining: "0.00",
        allocations: [{ invoice: "INV-0002", amount: "8.00" }],
      },
    ]);
    expect((await ourDue(world.pool, party))[1]).toMatchObject({ due: "16.00" });
    expect(await bookedCredit(world.pool, party)).toMatchObject([
      { status: "PAID", remaining: "0.00" },
    ]);
  });

  test("is gone even if it was all of it", async () => {
    const party = await usedElsewhere("12");
    await world.raise(party, "20");
    expect(await world.allocate(party)).toMatchObject({ state: "done", outcome: "refused" });
    expect(await ourCredit(world.pool, party)).toMatchObject([
      { status: "PAID", remaining: "0.00", allocations: [] },
    ]);
    await world.raise(party, "5");
    expect(await plannedCredit(world.pool, party)).toMatchObject([
      { state: "refused", reason: "amount_exceeds" },
    ]);
  });

  test("leaves one refusal if the ledger refuses the rest, however often it is tried", async () => {
    const party = await usedElsewhere("4");
    await world.fault(party, {
      kind: "refuse",
      match: allocations,
      messages: ["The lock date has passed."],
      times: 2,
    });
    await world.raise(party, "20");
    expect(await world.allocate(party)).toMatchObject({ state: "done", outcome: "refused" });
    for (let time = 0; time < 3; time += 1)
      expect(await world.round(party)).toMatchObject({ state: "done" });
    const message = "The lock date has passed.";
    expect(await plannedCredit(world.pool, party)).toMatchObject([
      { state: "refused", amount: "8.00", message },
    ]);
    expect(await ourCredit(world.pool, party)).toMatchObject([
      { status: "AUTHORISED", remaining: "8.00" },
    ]);
  });
});

describe.concurrent("a look-up after a lost answer takes over our note", () => {
  test.each([
    ["a part of its credit is used on an invoice of ours", "INV-0001", "4", "8.00"],
    ["a part of it is used on an invoice that we do not have", "HAND-1", "4", "8.00"],
    ["all of it is used on an invoice of ours", "INV-0001", "12", "0.00"],
  ])("where %s", async (_, invoice, amount, remaining) => {
    const party = await world.party();
    const isOurs = invoice !== "HAND-1";
    await world.raise(party, "50");
    if (!isOurs) await bookInvoice(world.pool, party, invoice);
    await world.fault(party, { kind: "drop_after", match: notes });
    await issueCredit(world.pool, party.organisationId, party.subscriptionId, "10");
    await untilThere(party, "CN-0001");
    await spendCredit(world.pool, party, amount, invoice);
    await world.settle(party);
    const own = isOurs ? [{ invoice, amount: `${amount}.00` }] : [];
    expect(await ourCredit(world.pool, party)).toMatchObject([
      { number: "CN-0001", remaining, allocations: own },
    ]);
    if (isOurs) await expectSameCredit(world.pool, party);
    await world.raise(party, "50");
    await world.allocate(party);
    expect(await bookedCredit(world.pool, party)).toMatchObject([
      { status: "PAID", remaining: "0.00" },
    ]);
    expect(await ourCredit(world.pool, party)).toMatchObject([
      { status: "PAID", remaining: "0.00" },
    ]);
  });
});

test("a look-up after a lost answer adopts documents of a merged contact", async () => {
  const party = await world.party();
  const hand = bookkeeper(world.pool, world.demoUrl, party.tenantId);
  await hand.addContact("NEW", "New Holdings");
  for (const match of ["PUT /api.xro/2.0/Invoices", notes])
    await world.fault(party, { kind: "drop_after", match });
  await issueInvoice(world.pool, party.organisationId, party.subscriptionId, "50");
  await issueCredit(world.pool, party.organisationId, party.subscriptionId, "10");
  await untilThere(party, "INV-0001", "CN-0001");
  await hand.mergeContact("ACME", "NEW");
  await world.settle(party);
  expect(await expectSameCredit(world.pool, party)).toMatchObject({
    notes: [{ number: "CN-0001", status: "AUTHORISED", remaining: "12.00" }],
    invoices: [{ number: "INV-0001", status: "AUTHORISED", due: "60.00" }],
  });
});

test("an uncertain allocation waits as long as the connection is paused", async () => {
  const party = await world.party();
  await world.raise(party, "-10", "20");
  await world.fault(party, { kind: "drop_after", match: allocations });
  await until("its answer is lost", async () => {
    expect(await world.round(party)).toMatchObject({ state: "waiting" });
    return (await plannedCredit(world.pool, party))[0]?.state === "uncertain";
  });
  await world.pool.query(
    `WITH paused AS (
        UPDATE ledger_connections
          SET paused_until = now() + interval '1 hour', paused_reason = 'day limit'
          WHERE organisation_id = $1
      ) UPDATE ledger_jobs SET lease_until = now()
        WHERE organisation_id = $1 AND state = 'uncertain'`,
    [party.organisationId],
  );
  const { nextInMs } = await world.round(party);
  expect(nextInMs).toBeGreaterThan(50 * 60_000);
  const neglected = (await findStaleJobs(world.pool, 0)).filter(
    (work) => work.organisationId === party.organisationId,
  );
  expect(neglected).toEqual([]);
  expect(await plannedCredit(world.pool, party)).toMatchObject([
    { state: "uncertain", reason: "day limit" },
  ]);
});

test("every ordered fault has happened", async () => {
  expect(await world.faultsLeft()).toBe(0);
});
