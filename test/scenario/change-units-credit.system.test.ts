/**
 * Change units on a volume plan: a change that costs less issues a credit note, which is held and
 * applied to later invoices. UNITS-5, DOCUMENT-4.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { verify } from "../../packages/verify/src/verify.ts";
import { perFile } from "../support/file-fixture.ts";
import { newestJob, setOrganisation, tables } from "../support/rows.ts";
import { type TestSystem, until } from "../support/system.ts";
import { type Ask, refusalOf, refused } from "./checked-ask.ts";
import { scenarioTest } from "./fixtures.ts";
import { addBands, type Json, type UnitsBuilder } from "./units-builder.ts";

/**
 * `own` is on 16 April, its invoices approved. `bands`: ten and fewer cost 10 each, from eleven on
 * all of them 8.
 */
const test = scenarioTest.extend("own", perFile, async ({ system, builder }) =>
  sandbox(system, builder),
);

async function sandbox(
  system: TestSystem,
  builder: UnitsBuilder,
  changes: Record<string, unknown> = {},
): Promise<CreatedOrganisation> {
  const result = await builder.sandbox({ first_invoice_status: "approved", ...changes });
  await addBands(system, result);
  await builder.setClock(result, "2026-04-16");
  return result;
}

const april = { start_date: "2026-04-01", plan_code: "bands" };
const half = { prorate: true, effective_date: "2026-04-16" };
const whole = { prorate: true, effective_date: "2026-04-01" };
const nothing = {
  invoice: null,
  renewal_invoice: null,
  deferred_to_renewal: false,
  credit_note: null,
};

/** A credit note as the API shows it. */
async function note(ask: Ask, { apiKey }: CreatedOrganisation, id: string): Promise<Json> {
  const answer = await ask("GET", `/v1/credit_notes/${id}`, { key: apiKey });
  expect(answer.status, answer.text).toBe(200);
  return answer.json;
}

/** The credit notes in the ledger, with the applied part of each. */
async function bookedNotes(
  system: TestSystem,
  { tenantId }: CreatedOrganisation,
): Promise<readonly object[]> {
  const { rows } = await system.pool.query(
    `SELECT number, status, sub_total::text AS subtotal, total::text AS total,
      amount_allocated::text AS applied
      FROM demo_ledger.credit_notes WHERE tenant_id = $1 ORDER BY number`,
    [tenantId],
  );
  return rows;
}

test("an increase into a cheaper band issues a prorated credit note in the ledger", async ({
  system,
  ask,
  builder,
}) => {
  const result = await sandbox(system, builder);
  const { invoice: first, ...before } = await builder.subscribe(result, {
    ...april,
    invoice_reference: "PO-7",
  });
  const { change, ...after } = await builder.changed(result, before.id, { units: 11, ...half });
  expect(after).toEqual({ ...before, units: 11, renewal_value: "88.0000" });
  expect(change).toEqual({
    ...nothing,
    units: 11,
    credit_note: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(await builder.invoices(result, before.id)).toEqual([first]);
  const credited = await note(ask, result, change.credit_note);
  expect(credited).toEqual({
    id: change.credit_note,
    object: "credit_note",
    customer: before.customer,
    subscription: before.id,
    number: "CN-0001",
    reference: "PO-7",
    status: "approved",
    currency: "NZD",
    credit_note_date: "2026-04-16T00:00:00.000Z",
    subtotal: "6.0000",
    total: "7.2000",
    remaining_credit: "7.2000",
    allocation_status: "unapplied",
    sent: false,
    ledger: { sync_status: "synced", credit_note_id: expect.any(String), sync_error: null },
    lines: [
      {
        id: expect.any(String),
        name: "Bands",
        description: "10 to 11 seats, 15 of 30 days: (100 − 88) × 15 ÷ 30",
        amount: "6.0000",
        effective_date: "2026-04-16T00:00:00.000Z",
      },
    ],
    allocations: [],
    created: "2026-04-16T12:00:00.000Z",
  });
  expect(await bookedNotes(system, result)).toEqual([
    { number: "CN-0001", status: "AUTHORISED", subtotal: "6.00", total: "7.20", applied: "0.00" },
  ]);
});

test("issues a note and an invoice for a credit and a charge, without allocation", async ({
  system,
  ask,
  builder,
}) => {
  const result = await sandbox(system, builder, { invoice_create_days: 20 });
  const { id } = await builder.subscribe(result, april);
  await builder.changed(result, id, { units: 5, document: "amend" });
  const { change } = await builder.changed(result, id, {
    units: 11,
    ...half,
    document: "separate",
  });
  // 88 − 50 for May, and half of 100 − 88 of April.
  expect(change.invoice).toMatchObject({ type: "change", subtotal: "38.0000", total: "45.6000" });
  expect((await note(ask, result, change.credit_note)).subtotal).toBe("6.0000");
  await builder.expectEqualDocuments(result);
  expect(await note(ask, result, change.credit_note)).toMatchObject({
    remaining_credit: "7.2000",
    allocations: [],
  });
});

describe("held credit", () => {
  test("is applied to later invoices, oldest first, until it is used up", async ({
    system,
    ask,
    builder,
  }) => {
    const result = await sandbox(system, builder);
    const { id, invoice: first } = await builder.subscribe(result, april);
    const { change } = await builder.changed(result, id, { units: 11, ...whole });
    // 11 to 12 is a charge of 4.00 on a separate invoice: it comes later than the note.
    const { change: second } = await builder.changed(result, id, { units: 12, ...half });
    expect(second.invoice.subtotal).toBe("4.0000");
    await builder.posted(result);
    await until(
      "the credit is on the invoice",
      async () => (await note(ask, result, change.credit_note)).allocations.length === 1,
    );
    expect(await note(ask, result, change.credit_note)).toMatchObject({
      total: "14.4000",
      remaining_credit: "9.6000",
      allocation_status: "partially_applied",
      allocations: [
        {
          invoice: second.invoice.id,
          amount: "4.8000",
          status: "active",
          ledger_sync_status: "synced",
        },
      ],
    });
    await builder.setClock(result, "2026-05-01");
    await builder.change(result, id, { units: 12 });
    await until(
      "all of it is used",
      async () => (await note(ask, result, change.credit_note)).remaining_credit === "0.0000",
    );
    const [renewal, charged, unchanged] = await builder.invoices(result, id);
    expect(await note(ask, result, change.credit_note)).toMatchObject({
      allocation_status: "applied",
      allocations: [
        { invoice: charged.id, amount: "4.8000" },
        { invoice: renewal.id, amount: "9.6000", date: expect.stringMatching(/^2026-05-01T/) },
      ],
    });
    // An amount that the service did not decide is the ledger's.
    await tables(system.pool).ledgerJob.updateMany({
      where: { creditNoteId: change.credit_note, invoiceId: renewal.id },
      data: { amount: 9 },
    });
    const path = `/v1/credit_notes/${change.credit_note}/explanation`;
    const { json: explanation } = await ask("GET", path, { key: result.apiKey });
    expect(explanation.allocations).toEqual([
      { invoice: charged.id, amount: "4.8000", by: "service" },
      { invoice: renewal.id, amount: "9.6000", by: "ledger" },
    ]);
    expect(await verify(JSON.stringify(explanation))).toEqual({ verified: true, lines: 1 });
    // 12 × 8 and 20 % tax, less 9.60.
    expect(renewal).toMatchObject({
      subtotal: "96.0000",
      total: "115.2000",
      amount_due: "105.6000",
    });
    expect([charged.amount_due, charged.status]).toEqual(["0.0000", "paid"]);
    expect(unchanged).toEqual(first);
    expect(await bookedNotes(system, result)).toEqual([
      expect.objectContaining({ status: "PAID", applied: "14.40" }),
    ]);
    await builder.expectEqualDocuments(result);
  });

  test("belongs to its subscription and is applied to no draft", async ({
    system,
    ask,
    builder,
  }) => {
    const result = await sandbox(system, builder);
    const { id } = await builder.subscribe(result, april);
    const { change } = await builder.changed(result, id, { units: 11, ...half });
    await builder.subscribe(result, { start_date: "2026-04-16" });
    await setOrganisation(system.pool, result.organisationId, { firstInvoiceStatus: "draft" });
    const { change: later } = await builder.changed(result, id, { units: 20, ...half });
    expect(later.invoice).toMatchObject({ status: "draft", amount_due: later.invoice.total });
    await builder.posted(result);
    expect((await note(ask, result, change.credit_note)).allocations).toEqual([]);
    await builder.expectEqualDocuments(result);
  });

  test("on its way to a renewal invoice prevents an amendment of it", async ({
    system,
    builder,
  }) => {
    const result = await sandbox(system, builder);
    const { id } = await builder.subscribe(result, april);
    await builder.changed(result, id, { units: 11, ...half });
    // The ledger does it at once and answers late.
    const late = {
      match: "/Allocations",
      kind: "slow_after",
      delayMs: 1_500,
      tenantId: result.tenantId,
    };
    await system.fault(late);
    await setOrganisation(system.pool, result.organisationId, { invoiceCreateDays: 20 });
    expect(refusalOf(await builder.change(result, id, { units: 9 })).code).toBe(
      "document_required",
    );
    await until("the ledger is asked to put the credit on the renewal invoice", async () => {
      // On a slow machine it may be done already.
      const sent = { subscriptionId: id, kind: "allocate_credit", state: { not: "ready" } };
      return newestJob(system.pool, sent);
    });
    for (const wait of [async () => undefined, () => builder.posted(result)]) {
      await wait();
      const answer = await builder.change(result, id, { units: 9, document: "amend" });
      expect(refusalOf(answer)).toEqual(refused(422, "renewal_invoice_not_amendable", "document"));
      expect(answer.json.error.message).toMatch(/invoice INV-\d+ has a payment or credit on it/);
    }
  });
});
