/**
 * Amendments of invoices that someone paid, credited, removed or lost in the ledger meanwhile: the
 * change stands, is billed once on separate documents, and the ledger has the same. UNITS-8,
 * STATE-4.
 */
import { describe, expect } from "vitest";
import type { CreatedOrganisation } from "../../packages/dev/src/demo/first-data.ts";
import { askWith } from "../admin/services/request.ts";
import { refusalOf, refused } from "../scenario/checked-ask.ts";
import { scenarioTest } from "../scenario/fixtures.ts";
import { addBands, type Json, type UnitsBuilder } from "../scenario/units-builder.ts";
import { perFile } from "../support/file-fixture.ts";
import { tables } from "../support/rows.ts";
import type { TestSystem } from "../support/system.ts";
import { synced } from "./ledger-documents.ts";

const test = scenarioTest.extend("admin", perFile, async ({ system }) =>
  askWith(system, await system.operator()),
);

const half = { prorate: true, effective_date: "2026-04-16" };
const amend = { document: "amend" };
const separate = { document: "separate" };

interface Prepared {
  readonly own: CreatedOrganisation;
  readonly id: string;
  /** The invoice that can be amended. */
  readonly invoice: Json;
}

/**
 * A new organisation on 16 April, with a subscription of ten units inside its invoice window, or a
 * pending one.
 */
async function prepared(
  system: TestSystem,
  builder: UnitsBuilder,
  body: object = {},
  changes: Record<string, unknown> = {},
): Promise<Prepared> {
  const own = await builder.sandbox({
    invoice_create_days: 20,
    first_invoice_status: "approved",
    ...changes,
  });
  await addBands(system, own);
  await builder.setClock(own, "2026-04-16");
  const { id } = await builder.subscribe(own, { start_date: "2026-04-01", ...body });
  const [invoice] = await builder.invoices(own, id);
  return { own, id, invoice };
}

/** Changes an invoice in the ledger, as a person would. */
async function alterLedgerInvoice(
  system: TestSystem,
  { tenantId }: CreatedOrganisation,
  { number }: Json,
  set: string,
): Promise<void> {
  const text = `UPDATE demo_ledger.invoices SET ${set} WHERE tenant_id = $1 AND number = $2`;
  expect((await system.pool.query(text, [tenantId, number])).rowCount).toBe(1);
}

const paid = "status = 'PAID', amount_paid = total";

const amounts = ({ lines }: Json) => lines.map(({ kind, amount }: Json) => [kind, amount]);

describe.concurrent("an increase by amend of a renewal invoice that was meanwhile", () => {
  test.for([
    ["paid", paid, "paid"],
    ["paid in part", "amount_paid = 10", "approved"],
    ["voided", "status = 'VOIDED'", "voided"],
    ["turned to amounts with tax", "line_amount_types = 'Inclusive'", "approved"],
  ] as const)("%s is billed whole and once on a separate invoice", async ([_, set, status], {
    system,
    builder,
  }) => {
    const { own, id, invoice: renewal } = await prepared(system, builder);
    await alterLedgerInvoice(system, own, renewal, set);
    const { change, ...after } = await builder.changed(own, id, { units: 13, ...half, ...amend });
    expect(after).toMatchObject({ units: 13, renewal_value: "130.0000" });
    expect(change).toMatchObject({
      renewal_invoice: null,
      credit_note: null,
      deferred_to_renewal: false,
    });
    expect(change.invoice).toMatchObject({
      ...synced,
      type: "change",
      status: "approved",
      subtotal: "45.0000",
    });
    expect(amounts(change.invoice)).toEqual([
      ["proration", "15.0000"],
      ["proration", "30.0000"],
    ]);
    await builder.expectEqualDocuments(own);
    const [newest, shown] = await builder.invoices(own, id);
    expect(newest).toEqual(change.invoice);
    expect(shown).toMatchObject({
      id: renewal.id,
      status,
      subtotal: "100.0000",
      lines: renewal.lines,
    });
    expect(shown.ledger).toEqual(renewal.ledger);
  });

  test("removed from the ledger is billed separately, and the removal is shown", async ({
    system,
    builder,
  }) => {
    const { own, id, invoice: renewal } = await prepared(system, builder);
    const text = "DELETE FROM demo_ledger.invoices WHERE tenant_id = $1 AND number = $2";
    await system.pool.query(text, [own.tenantId, renewal.number]);
    const { change } = await builder.changed(own, id, { units: 13, ...half, ...amend });
    expect(change.invoice).toMatchObject({ ...synced, status: "approved", subtotal: "45.0000" });
    const [, shown] = await builder.invoices(own, id);
    expect(shown).toMatchObject({
      id: renewal.id,
      status: "not_in_external",
      subtotal: "100.0000",
    });
  });

  test("paid is the measure of the next changes, which amend nothing more", async ({
    system,
    builder,
  }) => {
    const { own, id, invoice: renewal } = await prepared(system, builder);
    await alterLedgerInvoice(system, own, renewal, paid);
    await builder.changed(own, id, { units: 13, ...half, ...amend });
    const again = await builder.change(own, id, { units: 9, ...amend });
    expect(refusalOf(again)).toEqual(refused(422, "renewal_invoice_not_amendable", "document"));
    expect(again.json.error.message).toContain("an earlier change was billed separately");
    const { change } = await builder.changed(own, id, { units: 14, ...half, ...separate });
    expect(amounts(change.invoice)).toEqual([
      ["proration", "5.0000"],
      ["proration", "10.0000"],
    ]);
    await builder.expectEqualDocuments(own);
  });

  test("paid on a plan with a cheaper band leaves the credit of both periods", async ({
    system,
    builder,
  }) => {
    const { own, id, invoice: renewal } = await prepared(system, builder, { plan_code: "bands" });
    await alterLedgerInvoice(system, own, renewal, paid);
    const { change } = await builder.changed(own, id, { units: 11, ...half, ...amend });
    expect(change).toMatchObject({ invoice: null, renewal_invoice: null });
    await builder.posted(own);
    const notes = await builder.creditNotes(own, id);
    expect(notes.map(({ subtotal }) => subtotal)).toEqual(["12.0000", "6.0000"]);
    expect(change.credit_note).toBe(notes[1]?.id);
  });
});

describe.concurrent("a decrease by amend of a renewal invoice that was meanwhile", () => {
  test("paid is credited, and an increase is charged from the lower units", async ({
    system,
    builder,
  }) => {
    const { own, id, invoice: renewal } = await prepared(system, builder);
    await alterLedgerInvoice(system, own, renewal, paid);
    const { change, ...after } = await builder.changed(own, id, { units: 6, ...amend });
    expect(after).toMatchObject({ units: 6, renewal_value: "60.0000" });
    expect(change).toMatchObject({ invoice: null, renewal_invoice: null });
    await builder.posted(own);
    const [note] = await builder.creditNotes(own, id);
    expect(note).toMatchObject({ id: change.credit_note, subtotal: "40.0000" });
    const [shown] = await builder.invoices(own, id);
    expect(shown).toMatchObject({ id: renewal.id, status: "paid", lines: renewal.lines });
    expect(shown.ledger).toEqual(renewal.ledger);
    const { change: again } = await builder.changed(own, id, { units: 10, ...half, ...separate });
    expect(amounts(again.invoice)).toEqual([["proration", "40.0000"]]);
    await builder.expectEqualDocuments(own);
  });

  test("voided is refused and credits nothing", async ({ system, builder, admin }) => {
    const { own, id, invoice: renewal } = await prepared(system, builder);
    await alterLedgerInvoice(system, own, renewal, "status = 'VOIDED'");
    const { change } = await builder.changed(own, id, { units: 6, ...amend });
    expect(change).toMatchObject({ invoice: null, renewal_invoice: null, credit_note: null });
    const { data } = await admin.done("DocumentService/ListDocuments", {
      organisation: own.organisationId,
      state: "DOCUMENT_STATE_FAILED",
    });
    expect(data).toMatchObject([
      { id: renewal.id, job: "DOCUMENT_JOB_AMENDMENT", reason: "wrong_status" },
    ]);
  });
});

describe.concurrent("a change while pending, after the first invoice was paid,", () => {
  const pending = { start_date: "2026-05-10", charges: [{ charge_code: "onboarding" }] };

  test("bills an increase on a separate invoice dated the first day", async ({
    system,
    builder,
  }) => {
    const { own, id, invoice: first } = await prepared(system, builder, pending);
    await alterLedgerInvoice(system, own, first, paid);
    const { change } = await builder.changed(own, id, { units: 13 });
    expect(change.invoice).toMatchObject({
      ...synced,
      type: "change",
      status: "approved",
      subtotal: "30.0000",
    });
    expect(change.invoice).toMatchObject({ issue_date: "2026-05-10", period: first.period });
    await builder.expectEqualDocuments(own);
    const again = await builder.change(own, id, { units: 14 });
    expect(refusalOf(again)).toEqual(refused(422, "first_invoice_not_amendable"));
  });

  test("credits a decrease, and the first period bills the lower units", async ({
    system,
    builder,
  }) => {
    const { own, id, invoice: first } = await prepared(system, builder, pending);
    await alterLedgerInvoice(system, own, first, paid);
    const { change: lower } = await builder.changed(own, id, { units: 6 });
    await builder.posted(own);
    const [note] = await builder.creditNotes(own, id);
    expect(note).toMatchObject({ id: lower.credit_note, subtotal: "40.0000" });
    await builder.setClock(own, "2026-05-10");
    const { change } = await builder.changed(own, id, {
      units: 10,
      prorate: true,
      effective_date: "2026-05-10",
    });
    expect(amounts(change.invoice)).toEqual([["proration", "40.0000"]]);
    await builder.expectEqualDocuments(own);
  });
});

describe.concurrent("an invoice whose plan line in the ledger is unknown", () => {
  const clearLine = (system: TestSystem, invoice: Json) =>
    tables(system.pool).invoiceLine.updateMany({
      where: { invoiceId: invoice.id },
      data: { ledgerLineId: null },
    });

  test("is not amended, and the change succeeds if billed separately", async ({
    system,
    builder,
  }) => {
    const { own, id, invoice } = await prepared(system, builder);
    await clearLine(system, invoice);
    const answer = await builder.change(own, id, { units: 13, ...amend });
    expect(refusalOf(answer)).toEqual(refused(422, "renewal_invoice_not_amendable", "document"));
    const why = `it is not known which line of invoice ${invoice.number} is the plan's`;
    expect(answer.json.error.message).toContain(why);
    await builder.changed(own, id, { units: 13, ...separate });
    await builder.expectEqualDocuments(own);

    const pending = await prepared(system, builder, { start_date: "2026-05-10" });
    await clearLine(system, pending.invoice);
    const first = await builder.change(pending.own, pending.id, { units: 13 });
    expect(refusalOf(first)).toEqual(refused(422, "first_invoice_not_amendable"));
    expect(first.json.error.message).toContain("is the plan's");
  });

  test("still takes the line of a charge that joins it", async ({ system, builder }) => {
    const { own, id, invoice } = await prepared(
      system,
      builder,
      {},
      { invoice_create_days: 0, first_invoice_status: "draft" },
    );
    await clearLine(system, invoice);
    const { change } = await builder.changed(own, id, { units: 13, ...half });
    expect(change.invoice).toMatchObject({ ...synced, id: invoice.id, subtotal: "115.0000" });
    await builder.expectEqualDocuments(own);
  });
});
