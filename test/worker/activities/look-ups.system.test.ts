/**
 * Documents with a lost answer or a taken number, in a ledger as strict as a large organisation's.
 * Each is found, adopted or refused in the end, and nothing is done twice (POSTING-2).
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bearerOf } from "../../support/bookkeeper.ts";
import { until } from "../../support/system.ts";
import { type CreditFixture, type CreditParty, startCreditFixture } from "./credit-fixture.ts";
import { bookedCredit, issueCredit, issueInvoice, plannedCredit } from "./issue-credit.ts";

let fixture: CreditFixture;

beforeAll(async () => {
  fixture = await startCreditFixture({ highVolume: 0 }, "https://billing.example.com");
});
afterAll(() => fixture?.stop());

const putInvoices = "PUT /api.xro/2.0/Invoices";

interface OperationRow {
  readonly state: string;
  readonly reason: string | null;
  readonly number_taken: number;
  readonly key_variant: number;
}

async function operations({ organisationId }: CreditParty): Promise<readonly OperationRow[]> {
  const { rows } = await fixture.pool.query<OperationRow>(
    `SELECT state, reason, number_taken, key_variant FROM ledger_jobs WHERE organisation_id = $1
      AND kind <> 'allocate_credit' ORDER BY seq`,
    [organisationId],
  );
  return rows;
}

/** Ends all leases and pauses, so that waiting jobs are due now. */
async function bringForward({ organisationId }: CreditParty): Promise<void> {
  await fixture.pool.query(
    `UPDATE ledger_jobs SET not_before = now(), lease_until = CASE WHEN state = 'uncertain'
      THEN now() END
      WHERE organisation_id = $1 AND state IN ('ready', 'uncertain')`,
    [organisationId],
  );
}

/** Runs batches until no document waits. Returns how many. */
async function batchesOf(party: CreditParty, most: number): Promise<number> {
  for (let batch = 1; batch <= most; batch += 1) {
    await fixture.postBatch(party);
    const rows = await operations(party);
    if (rows.every(({ state }) => state === "done" || state === "refused")) return batch;
    await bringForward(party);
  }
  throw new Error(`not posted in ${most} batches: ${JSON.stringify(await operations(party))}`);
}

/** Makes the ledger trim numbers and compare them without case. */
async function foldNumbers(
  { organisationId, tenantId }: CreditParty,
  prefix: string,
): Promise<void> {
  await fixture.pool.query(
    "UPDATE demo_ledger.tenants SET folds_numbers = true WHERE tenant_id = $1",
    [tenantId],
  );
  const text = "UPDATE organisations SET number_prefix = $2 WHERE id = $1";
  await fixture.pool.query(text, [organisationId, prefix]);
  // The ledger caches its organisations until another one is created.
  await fixture.party();
}

async function ledgerNumbers({ tenantId }: CreditParty): Promise<readonly string[]> {
  const text = "SELECT number FROM demo_ledger.invoices WHERE tenant_id = $1 ORDER BY number";
  return (await fixture.pool.query<{ number: string }>(text, [tenantId])).rows.map(
    ({ number }) => number,
  );
}

describe("an invoice whose number the ledger keeps in another form", () => {
  test("is ours by the answer to its creation", async () => {
    const party = await fixture.party();
    await foldNumbers(party, " INV-");
    await issueInvoice(fixture.pool, party.organisationId, party.subscriptionId, "10");
    await batchesOf(party, 1);
    expect(await ledgerNumbers(party)).toEqual(["INV-0001"]);
    expect((await operations(party)).map(({ state }) => state)).toEqual(["done"]);
  });

  test("is adopted by its link after a lost answer and a taken number", async () => {
    const party = await fixture.party();
    await foldNumbers(party, " INV-");
    await issueInvoice(fixture.pool, party.organisationId, party.subscriptionId, "10");
    await fixture.fault(party, { match: putInvoices, kind: "drop_after" });
    await fixture.postBatch(party);
    // The ledger no longer has the key of the first request.
    await fixture.pool.query("DELETE FROM demo_ledger.idempotency");
    await bringForward(party);
    await batchesOf(party, 4);
    expect(await ledgerNumbers(party)).toEqual(["INV-0001"]);
    expect((await operations(party)).map(({ state }) => state)).toEqual(["done"]);
  });

  test("is adopted by its link even if a person changed its number", async () => {
    const party = await fixture.party();
    await issueInvoice(fixture.pool, party.organisationId, party.subscriptionId, "10");
    await fixture.fault(party, { match: putInvoices, kind: "drop_after" });
    await fixture.postBatch(party);
    const renamed = "UPDATE demo_ledger.invoices SET number = number || '-B' WHERE tenant_id = $1";
    await fixture.pool.query(renamed, [party.tenantId]);
    await fixture.pool.query("DELETE FROM demo_ledger.idempotency");
    const messages = ["Invoice # must be unique."];
    await fixture.fault(party, { match: putInvoices, kind: "refuse", messages });
    await bringForward(party);
    await batchesOf(party, 4);
    expect(await ledgerNumbers(party)).toEqual(["INV-0001-B"]);
    expect((await operations(party)).map(({ state }) => state)).toEqual(["done"]);
  });
});

test.each([
  ["invoice", putInvoices, "Invoice # must be unique.", issueInvoice],
  ["credit note", "PUT /api.xro/2.0/CreditNotes", "Credit Note # must be unique.", issueCredit],
] as const)("an %s whose taken number is not found is refused", async (_, match, words, issue) => {
  const party = await fixture.party();
  await issue(fixture.pool, party.organisationId, party.subscriptionId, "10");
  await fixture.fault(party, { match, kind: "refuse", messages: [words], times: 99 });
  const before = await fixture.faultsLeft();
  await fixture.postBatch(party);
  expect(await operations(party)).toMatchObject([{ state: "uncertain", number_taken: 1 }]);
  await bringForward(party);
  await batchesOf(party, 4);
  expect(await operations(party)).toMatchObject([
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
  test("lost answers of more documents than one call looks up are all resolved", async () => {
    const party = await fixture.party();
    for (let note = 0; note < 12; note += 1) {
      await issueCredit(fixture.pool, party.organisationId, party.subscriptionId, "10");
      await issueInvoice(fixture.pool, party.organisationId, party.subscriptionId, "10");
    }
    await fixture.fault(party, { match: "PUT /api.xro/2.0/", kind: "drop_after", times: 2 });
    await fixture.postBatch(party);
    await bringForward(party);
    await batchesOf(party, 6);
    const states = (await operations(party)).map(({ state }) => state);
    expect(states.filter((state) => state === "done")).toHaveLength(24);
    expect(await ledgerNumbers(party)).toHaveLength(12);
  });

  test("a failed look-up leaves a document uncertain, with the ledger's message", async () => {
    const party = await fixture.party();
    await issueInvoice(fixture.pool, party.organisationId, party.subscriptionId, "10");
    await fixture.fault(party, { match: putInvoices, kind: "drop_after" });
    await fixture.postBatch(party);
    await bringForward(party);
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
    expect(await operations(party)).toMatchObject([{ state: "uncertain", reason }]);
    await bringForward(party);
    await batchesOf(party, 2);
  });
});

describe("the idempotency key of a call", () => {
  test("stays the same after a lost answer, so credit is not allocated twice", async () => {
    const party = await fixture.party();
    const before = await fixture.faultsLeft();
    await fixture.issue(party, "-40", "40");
    // Less than the invoice accepts, so that twice as much would fit.
    const text =
      "UPDATE ledger_jobs SET amount = 10 WHERE organisation_id = $1 AND kind = 'allocate_credit'";
    await fixture.pool.query(text, [party.organisationId]);
    const [{ note, invoice } = { note: "", invoice: "" }] = (
      await fixture.pool.query<{ note: string; invoice: string }>(
        `SELECT n.ledger_credit_note_id AS note, i.ledger_invoice_id AS invoice FROM credit_notes n
          JOIN invoices i ON i.organisation_id = n.organisation_id WHERE n.organisation_id = $1`,
        [party.organisationId],
      )
    ).rows;
    const stale = await Promise.all([
      readElement(party, `CreditNotes/${note}`),
      readElement(party, `Invoices/${invoice}`),
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
      await bringForward(party);
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

  test("changes after an internal error, which the ledger would repeat", async () => {
    const party = await fixture.party();
    await issueInvoice(fixture.pool, party.organisationId, party.subscriptionId, "10");
    await fixture.fault(party, { match: putInvoices, kind: "status", status: 500 });
    await fixture.postBatch(party);
    expect(await operations(party)).toMatchObject([{ state: "uncertain", key_variant: 1 }]);
    await bringForward(party);
    await batchesOf(party, 3);
    expect((await operations(party)).map(({ state }) => state)).toEqual(["done"]);
  });
});

/** An object as the ledger answers it now. */
async function readElement({ tenantId }: CreditParty, path: string): Promise<string> {
  const answer = await fetch(`${fixture.demoUrl}/api.xro/2.0/${path}`, {
    headers: { authorization: await bearerOf(fixture.pool, tenantId), "xero-tenant-id": tenantId },
  });
  return answer.text();
}
