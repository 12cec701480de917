/**
 * Documents with a lost answer or a taken number, in a ledger as strict as a large organisation's.
 * Each is found, adopted or refused in the end, and nothing is done twice (POSTING-2).
 */
import { describe, expect } from "vitest";
import { bearerOf } from "../../support/bookkeeper.ts";
import { perFile, started } from "../../support/file-fixture.ts";
import { setOrganisation, tables } from "../../support/rows.ts";
import { until } from "../../support/system.ts";
import {
  type CreditFixture,
  type CreditParty,
  creditTest,
  startCreditFixture,
} from "./credit-fixture.ts";
import { bookedCredit, issueCredit, issueInvoice, plannedCredit } from "./issue-credit.ts";

const test = creditTest.extend(
  "fixture",
  perFile,
  started(
    () => startCreditFixture({ highVolume: 0 }, "https://billing.example.com"),
    (fixture) => fixture.stop(),
  ),
);

const putInvoices = "PUT /api.xro/2.0/Invoices";

interface OperationRow {
  readonly state: string;
  readonly reason: string | null;
  readonly number_taken: number;
  readonly key_variant: number;
}

async function operations(
  fixture: CreditFixture,
  { organisationId }: CreditParty,
): Promise<readonly OperationRow[]> {
  const { rows } = await fixture.pool.query<OperationRow>(
    `SELECT state, reason, number_taken, key_variant FROM ledger_jobs WHERE organisation_id = $1
      AND kind <> 'allocate_credit' ORDER BY seq`,
    [organisationId],
  );
  return rows;
}

/** Ends all leases and pauses, so that waiting jobs are due now. */
async function bringForward(
  fixture: CreditFixture,
  { organisationId }: CreditParty,
): Promise<void> {
  await fixture.pool.query(
    `UPDATE ledger_jobs SET not_before = now(), lease_until = CASE WHEN state = 'uncertain'
      THEN now() END
      WHERE organisation_id = $1 AND state IN ('ready', 'uncertain')`,
    [organisationId],
  );
}

/** Runs batches until no document waits. Returns how many. */
async function batchesOf(
  fixture: CreditFixture,
  party: CreditParty,
  most: number,
): Promise<number> {
  for (let batch = 1; batch <= most; batch += 1) {
    await fixture.postBatch(party);
    const rows = await operations(fixture, party);
    if (rows.every(({ state }) => state === "done" || state === "refused")) return batch;
    await bringForward(fixture, party);
  }
  throw new Error(
    `not posted in ${most} batches: ${JSON.stringify(await operations(fixture, party))}`,
  );
}

/** Makes the ledger trim numbers and compare them without case. */
async function foldNumbers(
  fixture: CreditFixture,
  { organisationId, tenantId }: CreditParty,
  prefix: string,
): Promise<void> {
  await fixture.pool.query(
    "UPDATE demo_ledger.tenants SET folds_numbers = true WHERE tenant_id = $1",
    [tenantId],
  );
  await setOrganisation(fixture.pool, organisationId, { numberPrefix: prefix });
  // The ledger caches its organisations until another one is created.
  await fixture.party();
}

async function ledgerNumbers(
  fixture: CreditFixture,
  { tenantId }: CreditParty,
): Promise<readonly string[]> {
  const text = "SELECT number FROM demo_ledger.invoices WHERE tenant_id = $1 ORDER BY number";
  return (await fixture.pool.query<{ number: string }>(text, [tenantId])).rows.map(
    ({ number }) => number,
  );
}

describe("an invoice whose number the ledger keeps in another form", () => {
  test("is ours by the answer to its creation", async ({ fixture }) => {
    const party = await fixture.party();
    await foldNumbers(fixture, party, " INV-");
    await issueInvoice(fixture.pool, party.organisationId, party.subscriptionId, "10");
    await batchesOf(fixture, party, 1);
    expect(await ledgerNumbers(fixture, party)).toEqual(["INV-0001"]);
    expect((await operations(fixture, party)).map(({ state }) => state)).toEqual(["done"]);
  });

  test("is adopted by its link after a lost answer and a taken number", async ({ fixture }) => {
    const party = await fixture.party();
    await foldNumbers(fixture, party, " INV-");
    await issueInvoice(fixture.pool, party.organisationId, party.subscriptionId, "10");
    await fixture.fault(party, { match: putInvoices, kind: "drop_after" });
    await fixture.postBatch(party);
    // The ledger no longer has the key of the first request.
    await fixture.pool.query("DELETE FROM demo_ledger.idempotency");
    await bringForward(fixture, party);
    await batchesOf(fixture, party, 4);
    expect(await ledgerNumbers(fixture, party)).toEqual(["INV-0001"]);
    expect((await operations(fixture, party)).map(({ state }) => state)).toEqual(["done"]);
  });

  test("is adopted by its link even if a person changed its number", async ({ fixture }) => {
    const party = await fixture.party();
    await issueInvoice(fixture.pool, party.organisationId, party.subscriptionId, "10");
    await fixture.fault(party, { match: putInvoices, kind: "drop_after" });
    await fixture.postBatch(party);
    const renamed = "UPDATE demo_ledger.invoices SET number = number || '-B' WHERE tenant_id = $1";
    await fixture.pool.query(renamed, [party.tenantId]);
    await fixture.pool.query("DELETE FROM demo_ledger.idempotency");
    const messages = ["Invoice # must be unique."];
    await fixture.fault(party, { match: putInvoices, kind: "refuse", messages });
    await bringForward(fixture, party);
    await batchesOf(fixture, party, 4);
    expect(await ledgerNumbers(fixture, party)).toEqual(["INV-0001-B"]);
    expect((await operations(fixture, party)).map(({ state }) => state)).toEqual(["done"]);
  });
});

test.for([
  ["invoice", putInvoices, "Invoice # must be unique.", issueInvoice],
  ["credit note", "PUT /api.xro/2.0/CreditNotes", "Credit Note # must be unique.", issueCredit],
] as const)("an %s whose taken number is not found is refused", async ([_, match, words, issue], {
  fixture,
}) => {
  const party = await fixture.party();
  await issue(fixture.pool, party.organisationId, party.subscriptionId, "10");
  await fixture.fault(party, { match, kind: "refuse", messages: [words], times: 99 });
  const before = await fixture.faultsLeft();
  await fixture.postBatch(party);
  expect(await operations(fixture, party)).toMatchObject([{ state: "uncertain", number_taken: 1 }]);
  await bringForward(fixture, party);
  await batchesOf(fixture, party, 4);
  expect(await operations(fixture, party)).toMatchObject([
    { state: "refused", reason: "duplicate_number", number_taken: 2 },
  ]);
  expect(before - (await fixture.faultsLeft())).toBe(2);
  const { rows } = await fixture.pool.query<{ sync_error: string }>(
    `SELECT sync_error FROM invoices WHERE organisation_id = $1
      UNION ALL SELECT sync_error FROM credit_notes WHERE organisation_id = $1`,
    [party.organisationId],
  );
  expect(rows[0]?.sync_error).toContain(words);
});

describe("in a large organisation", () => {
  test("lost answers of more documents than one call looks up are all resolved", async ({
    fixture,
  }) => {
    const party = await fixture.party();
    for (let note = 0; note < 12; note += 1) {
      await issueCredit(fixture.pool, party.organisationId, party.subscriptionId, "10");
      await issueInvoice(fixture.pool, party.organisationId, party.subscriptionId, "10");
    }
    await fixture.fault(party, { match: "PUT /api.xro/2.0/", kind: "drop_after", times: 2 });
    await fixture.postBatch(party);
    await bringForward(fixture, party);
    await batchesOf(fixture, party, 6);
    const states = (await operations(fixture, party)).map(({ state }) => state);
    expect(states.filter((state) => state === "done")).toHaveLength(24);
    expect(await ledgerNumbers(fixture, party)).toHaveLength(12);
  });

  test("a failed look-up leaves a document uncertain, with the ledger's message", async ({
    fixture,
  }) => {
    const party = await fixture.party();
    await issueInvoice(fixture.pool, party.organisationId, party.subscriptionId, "10");
    await fixture.fault(party, { match: putInvoices, kind: "drop_after" });
    await fixture.postBatch(party);
    await bringForward(fixture, party);
    const body = JSON.stringify({
      ErrorNumber: 51,
      Type: "HighVolumeException",
      Message: "A high number of invoices",
    });
    await fixture.fault(party, {
      match: "GET /api.xro/2.0/Invoices",
      kind: "status",
      status: 400,
      body,
    });
    await fixture.postBatch(party);
    const reason = "look-up failed: A high number of invoices";
    expect(await operations(fixture, party)).toMatchObject([{ state: "uncertain", reason }]);
    await bringForward(fixture, party);
    await batchesOf(fixture, party, 2);
  });
});

describe("the idempotency key of a call", () => {
  test("stays the same after a lost answer, so credit is not allocated twice", async ({
    fixture,
  }) => {
    const party = await fixture.party();
    const before = await fixture.faultsLeft();
    await fixture.issue(party, "-40", "40");
    // Less than the invoice accepts, so that twice as much would fit.
    await tables(fixture.pool).ledgerJob.updateMany({
      where: { organisationId: party.organisationId, kind: "allocate_credit" },
      data: { amount: 10 },
    });
    const [{ note, invoice } = { note: "", invoice: "" }] = (
      await fixture.pool.query<{ note: string; invoice: string }>(
        `SELECT n.ledger_credit_note_id AS note, i.ledger_invoice_id AS invoice FROM credit_notes n
          JOIN invoices i ON i.organisation_id = n.organisation_id WHERE n.organisation_id = $1`,
        [party.organisationId],
      )
    ).rows;
    const stale = await Promise.all([
      readElement(fixture, party, `CreditNotes/${note}`),
      readElement(fixture, party, `Invoices/${invoice}`),
    ]);
    await fixture.fault(party, { match: `CreditNotes/${note}/Allocations`, kind: "drop_after" });
    expect(await fixture.allocateOnce(party)).toMatchObject({ state: "waiting" });
    for (const [path, body] of [
      [`GET /api.xro/2.0/CreditNotes/${note}`, stale[0]],
      [`GET /api.xro/2.0/Invoices/${invoice}`, stale[1]],
    ]) {
      await fixture.fault(party, { match: path, kind: "status", status: 200, body });
    }
    await until("the credit was looked up and sent again", async () => {
      await bringForward(fixture, party);
      await fixture.allocateOnce(party);
      return (await fixture.faultsLeft()) === before;
    });
    await fixture.allocate(party);
    const planned = await plannedCredit(fixture.pool, party);
    expect(planned.map(({ state, amount }) => `${state} ${amount}`)).toEqual([
      "done 10.00",
      "done 38.00",
    ]);
    const [booked] = await bookedCredit(fixture.pool, party);
    expect(booked?.allocations.map(({ amount }) => amount).sort()).toEqual(["10.00", "38.00"]);
  });

  test("changes after an internal error, which the ledger would repeat", async ({ fixture }) => {
    const party = await fixture.party();
    await issueInvoice(fixture.pool, party.organisationId, party.subscriptionId, "10");
    await fixture.fault(party, { match: putInvoices, kind: "status", status: 500 });
    await fixture.postBatch(party);
    expect(await operations(fixture, party)).toMatchObject([
      { state: "uncertain", key_variant: 1 },
    ]);
    await bringForward(fixture, party);
    await batchesOf(fixture, party, 3);
    expect((await operations(fixture, party)).map(({ state }) => state)).toEqual(["done"]);
  });
});

/** An object as the ledger answers it now. */
async function readElement(
  fixture: CreditFixture,
  { tenantId }: CreditParty,
  path: string,
): Promise<string> {
  const answer = await fetch(`${fixture.demoUrl}/api.xro/2.0/${path}`, {
    headers: { authorization: await bearerOf(fixture.pool, tenantId), "xero-tenant-id": tenantId },
  });
  return answer.text();
}
